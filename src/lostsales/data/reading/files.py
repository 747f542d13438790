"""Tables in files: CSV, Parquet and workbooks, opened as one table and read by DuckDB one column at a time."""

import csv
import gzip
import re
import zlib
from collections import Counter
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from lostsales.data.labels import by_appearance, coded
from lostsales.data.memory import FEWER, check_memory, memory_limit, size
from lostsales.data.reading.cells import Cells, Texts, connect, fetched
from lostsales.data.reading.sheets import DELIMITERS, LABELLED, TOTALS, is_excel, needs_care, read_sheet
from lostsales.data.sql_names import identifier, quoted
from lostsales.errors import LostSalesError
from lostsales.types import Array, Ints

WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")
NUMBERS = (*WHOLE, "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT", "FLOAT", "DOUBLE")


@dataclass(frozen=True)
class FileTable:
    """Files as the view or table `log` of a connection."""

    connection: duckdb.DuckDBPyConnection
    name: str
    columns: tuple[str, ...]  # all there are
    kinds: dict[str, tuple[str, str]]  # of those that can be read: the expression in SQL and its type
    files: tuple[tuple[Path, int], ...]  # each file and its rows
    outside: tuple[str, ...] = ()  # what of the files is no part of the table, in words

    @cached_property
    def rows(self) -> int:
        """Number of rows."""
        return sum(rows for _, rows in self.files)

    def place(self, row: int) -> str:
        """The name of a row in messages: of several files, also its file."""
        if len(self.files) == 1:
            return f"row {row}"
        ends = np.cumsum([rows for _, rows in self.files])
        at = int(np.searchsorted(ends, row, side="right"))
        return f"row {row - int(ends[at]) + self.files[at][1]} of {self.files[at][0].name}"

    def cells(self, column: str) -> Cells:
        """The column as it came."""
        expression, kind = self.kinds[column]
        if kind in NUMBERS or is_decimal(kind):
            return Cells(self.rows, numbers=self._fetch(f"CAST({expression} AS DOUBLE)"))
        if kind == "BOOLEAN":
            return Cells(self.rows, truths=self._fetch(f"CAST({expression} AS DOUBLE)"))
        if kind == "DATE" or kind.startswith("TIMESTAMP"):
            return self._moments(expression, kind)
        return Cells(self.rows, texts=Texts(self.connection, "log", f"CAST({expression} AS VARCHAR)"))

    def labels(self, column: str) -> tuple[Ints, Array]:
        """Whole numbers are coded by numpy, text by DuckDB, so that no row becomes a Python object."""
        expression, kind = self.kinds[column]
        if kind in WHOLE:
            numbers = self._fetch(f"CAST({expression} AS BIGINT)")
            if numbers.dtype == np.int64:
                return coded(numbers)
        elif kind in ("FLOAT", "DOUBLE"):
            return coded(np.asarray(self.cells(column).numbers))
        elif kind == "DATE" or kind.startswith("TIMESTAMP"):
            return coded(np.asarray(self.cells(column).moments))
        text = f"CAST({expression} AS VARCHAR)"
        self._query(f"CREATE OR REPLACE TYPE label AS ENUM (SELECT DISTINCT {text} FROM log WHERE {text} IS NOT NULL)")
        codes, found = by_appearance(
            self._fetch(f"coalesce(CAST(enum_code(CAST({text} AS label)) AS BIGINT), -1)"), missing=-1
        )
        texts = self._query("SELECT unnest(enum_range(NULL::label))").fetchall()
        return codes, np.array([texts[each][0] for each in found], dtype=object)

    def shown(self, column: str, rows: Ints) -> Array:
        """The values of some rows as text, numbers as numbers."""
        expression, kind = self.kinds[column]
        value = expression if kind in NUMBERS else f"CAST({expression} AS VARCHAR)"
        self.connection.register("chosen", {"r": rows, "n": np.arange(len(rows))})
        numbered = f"SELECT {value} AS c, row_number() OVER () - 1 AS r FROM log"
        found = self._query(f"SELECT c FROM chosen JOIN ({numbered}) USING (r) ORDER BY n").fetchall()
        shown = np.empty(len(found), dtype=object)
        shown[:] = [each for (each,) in found]
        return shown

    def _moments(self, expression: str, kind: str) -> Cells:
        """Moments in UTC; those that are infinite or beyond what microseconds reach are no moments."""
        moment = f"CASE WHEN isfinite({expression}) THEN TRY_CAST({expression} AS TIMESTAMP) END"
        if kind == "TIMESTAMP WITH TIME ZONE" or kind.startswith("TIMESTAMPTZ"):
            zoned = f"CAST({expression} AS TIMESTAMPTZ)"
            moment = f"CASE WHEN isfinite({zoned}) THEN make_timestamp(epoch_us({zoned})) END"
        moments = self._fetch(moment)
        absent = np.isnat(moments)
        others = absent & self._fetch(f"{expression} IS NOT NULL") if absent.any() else None
        return Cells(self.rows, moments=moments, days=kind == "DATE", others=others)

    def _query(self, sql: str) -> Any:
        return execute(self.connection, self.name, sql)

    def _fetch(self, expression: str) -> Array:
        return np.asarray(guarded(self.name, lambda: fetched(self.connection, f"SELECT {expression} AS c FROM log")))


def execute(connection: duckdb.DuckDBPyConnection, name: str, sql: str) -> Any:
    """Run SQL on a file."""
    return guarded(name, lambda: connection.execute(sql))


def guarded(name: str, work: Callable[[], Any]) -> Any:
    """Work on a file; errors become one sentence with the reason and place that DuckDB gives."""
    try:
        return work()
    except (duckdb.OutOfMemoryException, MemoryError):
        room = f"{size(memory_limit())}, half of the machine's"
        raise LostSalesError(f"{name} needs more memory than may be used ({room}): {FEWER}") from None
    except (duckdb.Error, UnicodeError) as error:
        message = re.split(r"\n(?:Possible|LINE)", str(error))[0].splitlines()
        lines = [line for line in message if line.strip()] or [type(error).__name__]
        raise LostSalesError(f"{name} cannot be read: {'; '.join(dict.fromkeys([lines[0], lines[-1]]))}") from None


def is_decimal(kind: str) -> bool:
    """A type of decimal numbers."""
    return kind.startswith("DECIMAL(") and kind.endswith(")")


PARQUET = (".parquet", ".pq")
MOST_COLUMNS = 10_000  # of a table: bounds time and memory
MOST_COMPRESSION = 1_032  # times, of the method that gzip uses
CHUNK = 2**21  # bytes, DuckDB's longest line
HEAD = 2**16  # bytes of a chunk in which a line usually ends
LINE_END = re.compile(rb"[\r\n]")
QUOTE_OR_END = re.compile(rb'"|\r\n|\r|\n')
LINE_ENDS = {b"\r\n": "CR LF", b"\n": "LF", b"\r": "CR"}
FREE_TEXT, FREE_RATIO = 10**9, 200  # bytes that any compressed file may unpack to, and times its size
BYTES_A_TEXT = 40  # of a value: as text in DuckDB, and after reading
USUAL_COLUMNS = 10  # of a table whose header is not known yet
MOST_DECODED = 2**26  # bytes of a text that are looked at for its encoding, more than a spreadsheet saves
MOST_HEADER = 2_000_000  # bytes; DuckDB's longest line

Header = tuple[tuple[str, ...], str]  # names, delimiter


def is_parquet(path: Path) -> bool:
    """True if the file name ends as Parquet files do."""
    return path.suffix.lower() in PARQUET


def open_files(paths: tuple[Path, ...], reads: Collection[str] | None = None, *, keep: bool = True) -> FileTable:
    """One table of all rows, file after file; of CSV files only the columns in `reads` are kept, if any are given.

    A CSV is read once and kept, or else again for every question.
    """
    connection = connect()
    name = str(paths[0]) if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"
    if is_parquet(paths[0]):
        return _open_parquet(connection, name, paths)
    try:
        if not any(is_excel(path) or needs_care(_head(path)) for path in paths):
            return _open_csv(connection, name, paths, reads, keep)
    except LostSalesError as error:
        try:
            found = _open_sheets(connect(), name, paths, reads)
        except LostSalesError:
            raise error from None
        if not found.outside:  # it is damaged in another way than spreadsheets leave files
            raise
        return found
    return _open_sheets(connection, name, paths, reads)


def _open_sheets(
    connection: duckdb.DuckDBPyConnection, name: str, paths: tuple[Path, ...], reads: Collection[str] | None
) -> FileTable:
    """Files as spreadsheets save them; rows are held as text."""
    for path in paths:
        if not is_excel(path):
            _check_lines(path, USUAL_COLUMNS)
    sheets = {path: read_sheet(path) for path in paths}
    names = sheets[paths[0]].names
    for path, sheet in sheets.items():
        _check_columns(path, sheet.names)
        _check_same(paths[0], names, path, sheet.names)
    kept = [column for column in names if reads is None or column in reads] or list(names[:1])
    place = {column: f"c{index}" for index, column in enumerate(kept)}
    texts = {}
    for column in kept:
        cells = [row[at] for sheet in sheets.values() for at in (sheet.names.index(column),) for row in sheet.rows]
        texts[place[column]] = np.array(cells, dtype=object)
    connection.register("cells", texts)
    chosen = ", ".join(f"CAST({each} AS VARCHAR) AS {each}" for each in texts)
    execute(connection, name, f"CREATE TABLE log AS SELECT {chosen} FROM cells")
    files = tuple((path, len(sheet.rows)) for path, sheet in sheets.items())
    outside = tuple(dict.fromkeys(each for sheet in sheets.values() for each in sheet.outside))
    return FileTable(connection, name, names, {column: (place[column], "text") for column in kept}, files, outside)


def _open_parquet(connection: duckdb.DuckDBPyConnection, name: str, paths: tuple[Path, ...]) -> FileTable:
    files: list[tuple[Path, int]] = []
    first: tuple[str, ...] = ()
    for path in paths:
        columns = tuple(parquet_kinds(connection, path))
        first = first or columns
        _check_same(paths[0], first, path, columns)
        source = f"SELECT count(*) FROM {parquet_rows((path,))}"
        files.append((path, int(execute(connection, str(path), source).fetchall()[0][0])))
    execute(connection, name, f"CREATE VIEW log AS SELECT * FROM {parquet_rows(paths)}")
    described = execute(connection, name, "DESCRIBE log").fetchall()
    kinds = {column: (identifier(column), kind) for column, kind, *_ in described}
    return FileTable(connection, name, tuple(kinds), kinds, tuple(files))


def open_query(connection: duckdb.DuckDBPyConnection, name: str, query: str) -> FileTable:
    """The rows of a query as a table, held in memory; other tables of the connection stay as they are."""
    cursor = connection.cursor()
    execute(cursor, name, f"CREATE TEMP TABLE log AS {query}")
    kinds = {column: (identifier(column), kind) for column, kind, *_ in cursor.execute("DESCRIBE log").fetchall()}
    rows = cursor.execute("SELECT count(*) FROM log").fetchall()[0][0]
    return FileTable(cursor, name, tuple(kinds), kinds, ((Path(name), int(rows)),))


def parquet_kinds(connection: duckdb.DuckDBPyConnection, path: Path) -> dict[str, str]:
    """The type of each column of a Parquet file."""
    # The schema is quick to look at, where describing very many columns takes minutes.
    schema = execute(connection, str(path), f"SELECT count(*) FROM parquet_schema({_literal(path)})").fetchall()
    _check_width(path, schema[0][0] - 1)
    described = execute(connection, str(path), f"DESCRIBE FROM {parquet_rows((path,))}").fetchall()
    _check_columns(path, tuple(column for column, *_ in described))
    return {column: kind for column, kind, *_ in described}


def parquet_rows(paths: tuple[Path, ...]) -> str:
    """The rows of Parquet files as SQL."""
    options = "hive_partitioning = false" + (", union_by_name = true" if len(paths) > 1 else "")
    return f"read_parquet([{', '.join(map(_literal, paths))}], {options})"


def _open_csv(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    paths: tuple[Path, ...],
    reads: Collection[str] | None,
    keep: bool,
) -> FileTable:
    """All columns are read as text: sniffing dialect and types from a sample can drop rows or zeros silently."""
    headers = {path: _header(path) for path in paths}
    names = headers[paths[0]][0]
    for path, (columns, _) in headers.items():
        _check_same(paths[0], names, path, columns)
    kept = [column for column in names if reads is None or column in reads] or list(names[:1])
    place = {column: f"c{index}" for index, column in enumerate(names)}
    chosen = ", ".join(place[column] for column in kept)
    parts = {path: f"SELECT {chosen} FROM {_csv(path, headers[path], place)}" for path in paths}
    is_total = _is_total([place[column] for column in kept])
    if not keep:
        parts = {path: f"{part} WHERE NOT {is_total}" for path, part in parts.items()}
    if keep:
        execute(connection, name, f"CREATE TABLE log ({', '.join(f'{place[column]} VARCHAR' for column in kept)})")
    files = []
    for path, part in parts.items():
        _check_lines(path, len(kept) if keep else 1)
        sql = f"INSERT INTO log {part}" if keep else f"SELECT count(*) FROM ({part})"
        try:
            files.append((path, int(execute(connection, str(path), sql).fetchall()[0][0])))
        except LostSalesError:
            with suppress(OSError, EOFError, zlib.error):  # a damaged file, as was found before
                _check_line_ends(path)
            raise
    outside: tuple[str, ...] = ()
    if not keep:
        execute(connection, name, f"CREATE VIEW log AS {' UNION ALL '.join(parts.values())}")
    elif totals := execute(connection, name, f"SELECT rowid FROM log WHERE {is_total}").fetchall():
        execute(connection, name, f"CREATE OR REPLACE TABLE log AS SELECT * FROM log WHERE NOT {is_total}")
        outside = (f"{len(totals):,} lines of totals" if len(totals) > 1 else "1 line of totals",)
        ends = np.cumsum([rows for _, rows in files])
        lost = np.bincount(np.searchsorted(ends, [row for (row,) in totals], side="right"), minlength=len(files))
        files = [(path, rows - int(less)) for (path, rows), less in zip(files, lost, strict=True)]
    kinds = {column: (place[column], "text") for column in kept}
    return FileTable(connection, name, names, kinds, tuple(files), outside)


def _is_total(columns: list[str]) -> str:
    """Rows that sum up others as SQL, see `sheets.is_total`."""
    labels = [f"rtrim(lower(trim(coalesce({each}, ''))), ':')" for each in columns[:LABELLED]]
    words = ", ".join(map(quoted, TOTALS))
    named = " OR ".join(f"{each} IN ({words}) OR starts_with({each}, 'total ')" for each in labels)
    return f"(({named}) AND ({' OR '.join(f'{each} IS NULL' for each in columns)}))"


def _csv(path: Path, header: Header, place: dict[str, str]) -> str:
    """The rows of a CSV file as SQL, its columns named by their place in the first file."""
    columns, delimiter = header
    types = ", ".join(f"{place[column]}: 'VARCHAR'" for column in columns)
    options = f"auto_detect=false, header=true, delim='{delimiter}', quote='\"', escape='\"'"
    return f"read_csv({_literal(path)}, {options}, columns={{{types}}})"


def _check_lines(path: Path, columns: int) -> None:
    """Refuse a file with rows that would not fit into memory, much in little, or a line that DuckDB would pass over.

    DuckDB refuses a line over 2 MB, but drops one at the end that is longer than its buffer without a word. Rows are
    counted only where they could be too many.
    """
    packed = path.suffix.lower() == ".gz"
    size = path.stat().st_size
    most_text, most_rows = size * (MOST_COMPRESSION if packed else 1), int(memory_limit() // (columns * BYTES_A_TEXT))
    if most_text < CHUNK:
        return
    if not packed and size // 2 <= most_rows:  # a row has a character and its end
        _check_chunk_ends(path, size)
        return
    rows = text = 0
    try:
        with gzip.open(path) if packed else path.open("rb") as file:
            while rows <= most_rows and (chunk := file.read(CHUNK)):
                ends = chunk.count(b"\n") or chunk.count(b"\r")
                rows, text = rows + ends, text + len(chunk)
                if not ends and len(chunk) == CHUNK:
                    raise _long_line(path)
                if packed and text > FREE_TEXT + FREE_RATIO * size:
                    unpacked = f"unpacks to more than {FREE_RATIO} times its size and {FREE_TEXT / 1e9:.0f} GB"
                    raise LostSalesError(f"{path} is refused: it {unpacked}, as no table does; unpack it first")
    except (OSError, EOFError, zlib.error) as error:
        raise LostSalesError(f"{path} cannot be read: {error}") from None
    more = "more than " if rows > most_rows else ""
    check_memory(f"{path} with {more}{rows:,} rows", rows * columns * BYTES_A_TEXT, memory_limit(), FEWER)


def _check_chunk_ends(path: Path, size: int) -> None:
    """Check that every chunk has a line end: a line of two chunks would contain a whole chunk."""
    with path.open("rb") as file:
        for start in range(0, size - CHUNK + 1, CHUNK):
            file.seek(start)
            if not LINE_END.search(file.read(HEAD)) and not LINE_END.search(file.read(CHUNK - HEAD)):
                raise _long_line(path)


def _check_line_ends(path: Path) -> None:
    """Raise where lines end in different ways, which DuckDB refuses in words of its own."""
    line, first, is_quoted, rest = 1, b"", False, b""
    with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as file:
        while chunk := file.read(CHUNK):
            text = rest + chunk
            rest = text[-1:] if text.endswith(b"\r") else b""  # a line feed may follow
            for mark in QUOTE_OR_END.findall(text[: len(text) - len(rest)]):
                if mark == b'"':
                    is_quoted = not is_quoted
                    continue
                if not is_quoted and mark != (first := first or mark):
                    ends = f"line 1 with {LINE_ENDS[first]}, line {line:,} with {LINE_ENDS[mark]}"
                    advice = "write it with one kind of line end, as a text editor or dos2unix does"
                    raise LostSalesError(f"{path} cannot be read: its lines end in different ways, {ends}; {advice}")
                line += 1


def _long_line(path: Path) -> LostSalesError:
    return LostSalesError(f"{path} cannot be read: it has a line of over {CHUNK:,} bytes; a row is one line")


def _header(path: Path) -> Header:
    """The names in the first line of a CSV, and what separates them."""
    try:
        line = _first_line(path).decode("utf-8-sig")
        delimiter = max(DELIMITERS, key=line.count)
        found = _fields(line, delimiter)
    except (OSError, EOFError, UnicodeDecodeError, csv.Error, zlib.error) as error:
        raise LostSalesError(f"{path} cannot be read: {error}") from None
    names = tuple(name or f"column{index}" for index, name in enumerate(found))
    if not names:
        raise LostSalesError(f"{path} must start with a line of column names, but it is empty")
    _check_columns(path, names)
    return names, delimiter


def _fields(line: str, delimiter: str) -> list[str]:
    """The fields of a line, of any length."""
    before = csv.field_size_limit(MOST_HEADER)
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    finally:
        csv.field_size_limit(before)


def _head(path: Path) -> bytes:
    """The first bytes of a text file."""
    try:
        with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as file:
            return file.read(MOST_DECODED)
    except (OSError, EOFError, zlib.error) as error:
        raise LostSalesError(f"{path} cannot be read: {error}") from None


def _first_line(path: Path) -> bytes:
    """The bytes before the first end of a line, be it LF, CR LF or CR."""
    line = b""
    with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as file:
        while chunk := file.read(65_536):
            line += chunk
            if end := LINE_END.search(line):
                return line[: end.start()]
            if len(line) > MOST_HEADER:
                raise LostSalesError(
                    f"{path} must start with a line of column names, but it is over {MOST_HEADER:,} bytes"
                )
    return line


def _check_width(path: Path, columns: int) -> None:
    if columns > MOST_COLUMNS:
        raise LostSalesError(f"{path} must have at most {MOST_COLUMNS:,} columns, but it has {columns:,}")


def _check_columns(path: Path, names: tuple[str, ...]) -> None:
    _check_width(path, len(names))
    if twice := sorted(name for name, count in Counter(names).items() if count > 1):
        raise LostSalesError(f"the columns of {path} must have different names, but {', '.join(twice)} comes again")


def _check_same(first: Path, wanted: tuple[str, ...], path: Path, names: tuple[str, ...]) -> None:
    """The files of a log have the same columns, in any order."""
    if set(names) != set(wanted):
        lacks = [f"lacks {name!r}" for name in wanted if name not in names]
        more = [f"also has {name!r}" for name in names if name not in wanted]
        differs = ", ".join([*lacks, *more][:5])
        raise LostSalesError(f"the files of a log must have the same columns, but {path} {differs}, unlike {first}")


def _literal(path: Path) -> str:
    """The path as SQL text, in which DuckDB's wildcards stand for themselves, and `~` for no home."""
    text = str(path.absolute()).replace("[", "[[]").replace("*", "[*]").replace("?", "[?]")
    return quoted(text)
