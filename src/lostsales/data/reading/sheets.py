"""Tables as spreadsheets save them: workbooks, old encodings, titles above and notes or totals below the table."""

import csv
import gzip
import io
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lostsales.errors import LostSalesError

EXCEL = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods")
DELIMITERS = ",;\t|"
LARGEST_SHEET = 50_000_000  # bytes of text; larger files do not come from a spreadsheet
HEAD_ROWS = 100  # rows in which the header is looked for
FULL = 0.8  # share of the usual number of filled cells that a header has at least
TOTALS = (
    "total", "totals", "grand total", "subtotal", "sum", "sums", "summe", "gesamt", "gesamtsumme", "insgesamt",
    "total général", "total general", "somme", "suma", "totale", "somma", "soma", "totaal",
)  # fmt: skip
UTF_16 = (b"\xff\xfe", b"\xfe\xff")  # its first bytes
BINARY = re.compile(rb"[\x00-\x08\x0e-\x19\x1b-\x1f]")  # bytes that no text has
MOST_HEAD = 2**20  # bytes in which the first lines are looked at
LABELLED = 3  # columns in which the word of a total is looked for

Row = Sequence[str | None]


@dataclass(frozen=True)
class Sheet:
    """The cells of a table below its header, all as text."""

    names: tuple[str, ...]
    rows: list[Row]
    outside: tuple[str, ...]  # what was left out, in words


def is_excel(path: Path) -> bool:
    """True if the file name ends as workbooks do."""
    return path.suffix.lower() in EXCEL


def read_sheet(path: Path) -> Sheet:
    """The table in a workbook, or in a CSV that no strict reader takes."""
    cells, outside = _workbook(path) if is_excel(path) else _text_file(path)
    return _table(path, cells, outside)


def needs_care(head: bytes) -> bool:
    """True if the first bytes of a CSV are not UTF-8, or its first line has fewer cells than the lines below it."""
    if not is_utf8(head):
        return head[:2] in UTF_16 or not BINARY.search(head)
    lines = [line for line in head[:MOST_HEAD].decode("utf-8-sig", "replace").splitlines()[:HEAD_ROWS] if line.strip()]
    try:
        filled = [_filled(row) for row in _split("\n".join(lines))]
    except LostSalesError:
        return False
    return len(filled) > 2 and filled[0] < FULL * sorted(filled)[len(filled) // 2]


def is_utf8(head: bytes) -> bool:
    """True if bytes are UTF-8, whose last character may be cut off."""
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start >= len(head) - 3 and error.reason == "unexpected end of data"
    return True


def is_total(row: Row) -> bool:
    """True if a row sums up others: its label says so, and some cells are empty.

    >>> is_total(["Total", None, "812"]), is_total(["Total", "cereal", "8"]), is_total(["Tomato", None, "8"])
    (True, False, False)
    """
    labels = [(cell or "").strip().rstrip(":").lower() for cell in row[:LABELLED]]
    named = any(label in TOTALS or label.startswith(("total ", "summe ", "gesamt ")) for label in labels)
    return named and _filled(row) < len(row)


def _workbook(path: Path) -> tuple[list[Row], list[str]]:
    try:
        import fastexcel
    except ImportError:
        raise LostSalesError(
            f"{path} is a workbook, which needs the package fastexcel: pip install 'lostsales[excel]', or save the "
            "sheet as CSV"
        ) from None
    try:
        book = fastexcel.read_excel(path)
        sheets = {name: _grid(book.load_sheet(name, header_row=None, dtypes="string")) for name in book.sheet_names}
    except fastexcel.FastExcelError as error:
        raise LostSalesError(f"{path} cannot be read: {str(error).splitlines()[0]}") from None
    sheets = {name: rows for name, rows in sheets.items() if rows}
    if not sheets:
        raise LostSalesError(f"{path} must have a sheet with a table, but all are empty")
    largest = max(sheets, key=lambda name: len(sheets[name]))
    others = [name for name in sheets if name != largest]
    return sheets[largest], [f"the sheets {', '.join(map(repr, others))}"] if others else []


def _grid(sheet: Any) -> list[Row]:
    import pyarrow as pa

    batch = pa.record_batch(sheet)
    return list(zip(*(column.to_pylist() for column in batch.columns), strict=True)) if batch.num_columns else []


def _text_file(path: Path) -> tuple[list[Row], list[str]]:
    try:
        with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as file:
            raw = file.read(LARGEST_SHEET + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise LostSalesError(f"{path} cannot be read: {error}") from None
    if len(raw) > LARGEST_SHEET:
        raise LostSalesError(
            f"{path} is too large to be read as a spreadsheet saves it: save it as UTF-8 CSV or Parquet"
        )
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = _decoded(path, raw)
    return [[cell if cell.strip() else None for cell in row] for row in _split(text)], []


def _decoded(path: Path, raw: bytes) -> str:
    """Text of a file that Windows wrote."""
    try:
        if raw[:2] in UTF_16:
            return raw.decode("utf-16")
        if not BINARY.search(raw):
            return raw.decode("cp1252")
        raise UnicodeDecodeError("cp1252", raw, 0, 1, "binary data")
    except UnicodeDecodeError:
        raise LostSalesError(
            f"{path} is neither UTF-8 nor Windows-1252 text: save it as CSV UTF-8 in your spreadsheet"
        ) from None


def _split(text: str) -> list[list[str]]:
    """The cells of a text, whose delimiter is the one that most of its first lines have most often."""
    head = text.split("\n", HEAD_ROWS)[:HEAD_ROWS]
    delimiter = max(DELIMITERS, key=lambda each: sorted(line.count(each) for line in head)[len(head) // 2])
    try:
        return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise LostSalesError(f"the text cannot be split into cells: {error}") from None


def _table(path: Path, cells: list[Row], outside: list[str]) -> Sheet:
    """The rows below the first line that has about as many cells as the others."""
    usual = sorted(filter(None, map(_filled, cells[:HEAD_ROWS])))
    least = max(FULL * usual[len(usual) // 2], 2) if usual else 0
    top = next((at for at, row in enumerate(cells) if usual and _filled(row) >= least), None)
    if top is None:
        raise LostSalesError(f"{path} must have a line of column names and rows below it, but no such table was found")
    width = max(at for at, name in enumerate(cells[top]) if name and name.strip()) + 1
    names = tuple((name or "").strip() or f"column{at}" for at, name in enumerate(cells[top][:width]))
    if all(re.fullmatch(r"[-+]?[\d.,]+", name) for name in names):
        raise LostSalesError(f"{path} must have a line of column names, but it begins with {names[0]!r}")
    below = [row for row in cells[top + 1 :] if _filled(row)]
    end = len(below)
    while end and (_filled(below[end - 1]) == 1 or is_total(below[end - 1])):
        end -= 1
    rows = [row[:width] for row in below[:end] if not is_total(row)]
    if any(len(row) < width for row in rows) or any(_filled(row[width:]) for row in below[:end]):
        raise LostSalesError(f"{path} has rows with another number of cells than the {width} column names")
    if titles := sum(map(bool, map(_filled, cells[:top]))):
        outside = [
            *outside,
            f"{titles:,} lines above the column names" if titles > 1 else "the line above the column names",
        ]
    if (notes := len(below) - len(rows)) > 0:
        outside = [*outside, f"{notes:,} lines of totals or notes" if notes > 1 else "1 line of totals or notes"]
    return Sheet(names, rows, tuple(outside))


def _filled(row: Row) -> int:
    return sum(cell is not None and bool(cell.strip()) for cell in row)
