"""Data that come in: rows of the log, today's rows, stock counts and deliveries, as tables of any usual format."""

import io
import json
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, get_args
from uuid import uuid4

import numpy as np

from lostsales.apps.service.decisions import StoredDecision, Upload
from lostsales.apps.service.problems import Refused
from lostsales.data.labels import SERIES_SEPARATOR, spelled, texts_of
from lostsales.data.problem import Problem
from lostsales.data.reading.columns import ColumnReader
from lostsales.data.reading.findings import Findings, listed
from lostsales.data.reading.frames import ColumnTable
from lostsales.data.reading.gate import check_columns
from lostsales.data.reading.table import SomeRows, Table, open_table
from lostsales.data.reading.updates import TableUpdate, with_updates
from lostsales.errors import LogError, LostSalesError
from lostsales.types import Array, Bools, Ints

Kind = Literal["log", "today", "stock", "deliveries"]
KINDS: tuple[Kind, ...] = get_args(Kind)
PARQUET, ARROW, ARROW_FILE, WORKBOOK = b"PAR1", b"\xff\xff\xff\xff", b"ARROW1", b"PK\x03\x04"  # first bytes
# Largest table in memory: FREE_UNPACKED bytes plus MOST_UNPACKED times the size of the body.
MOST_UNPACKED = 20
FREE_UNPACKED = 64_000_000
FILE = "the uploaded table"
Latest = Callable[[str], dict[str, StoredDecision]]  # last decision on each product in a period


@dataclass(frozen=True)
class Incoming:
    """Upload with its table."""

    upload: Upload

    @cached_property
    def table(self) -> Table:
        """Rows as they were stored."""
        import pyarrow.parquet as pq

        frame: Any = open_table(pq.read_table(io.BytesIO(self.upload.content)))
        return replace(frame, name=f"the upload of {self.upload.time[:16].replace('T', ' ')}")  # type: ignore[no-any-return]

    def names(self, problem: Problem) -> list[str]:
        """Products that it has rows of."""
        reader = ColumnReader(self.table, Findings(self.table.name), problem.format)
        found: list[str] = reader.series(problem.columns.series_parts)[1].tolist()
        return found

    def update(self, problem: Problem) -> TableUpdate:
        """Update of the log or of today's rows that it makes."""
        column = corrected_column(self.upload.kind, problem)
        return TableUpdate(self.table, () if column is None else (column,))


def used(uploads: Sequence[Incoming]) -> list[Incoming]:
    """Uploads that were not withdrawn."""
    return [each for each in uploads if not each.upload.withdrawn]


def corrected_column(kind: str, problem: Problem) -> str | None:
    """Column whose values an upload gives, None if it has whole rows."""
    return {"stock": problem.columns.stock, "deliveries": problem.columns.received}.get(kind)


def read_body(body: bytes, most_rows: int) -> Table:
    """Read an untrusted table, whose format its first bytes say; no name that a client gives reaches the disk."""
    if body.startswith(PARQUET):
        table = open_table(parquet_table(body, most_rows))
    elif body.startswith((ARROW, ARROW_FILE)):
        table = open_table(arrow_table(body, most_rows))
    else:
        table = _file_table(body, "upload.xlsx" if body.startswith(WORKBOOK) else "upload.csv")
    check_rows(table.rows, most_rows)
    if not table.rows:
        raise Refused(422, findings=("the table has no rows",))
    return table


def check_rows(rows: int, most_rows: int) -> None:
    """Refuse tables with too many rows."""
    if rows > most_rows:
        raise Refused(413, f"a request may have at most {most_rows:,} rows, but this has {rows:,}")


def parquet_table(body: bytes, most_rows: int) -> Any:
    """Arrow table of a Parquet file; its size is checked before its values, and its values before they are used."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(io.BytesIO(body))
        check_rows(file.metadata.num_rows, most_rows)
        _check_size(
            sum(file.metadata.row_group(at).total_byte_size for at in range(file.metadata.num_row_groups)), body
        )
        table = file.read()
    except (pa.ArrowException, OSError, ValueError, MemoryError, OverflowError, KeyError, IndexError, TypeError):
        raise Refused(422, findings=("the body is no Parquet file",)) from None
    _check_size(table.nbytes, body)
    return table


def arrow_table(body: bytes, most_rows: int) -> Any:
    """Arrow table of a stream or a file, whose values are checked before they are used."""
    import pyarrow as pa

    try:
        opened = pa.ipc.open_file if body.startswith(ARROW_FILE) else pa.ipc.open_stream
        batches, rows = [], 0
        with opened(io.BytesIO(body)) as reader:
            for batch in _batches(reader):
                batch.validate(full=True)
                rows += batch.num_rows
                check_rows(rows, most_rows)
                batches.append(batch)
            table = pa.Table.from_batches(batches, reader.schema)
    except (pa.ArrowException, OSError, ValueError, MemoryError, OverflowError, KeyError, IndexError, TypeError):
        raise Refused(422, findings=("the body is no Arrow stream",)) from None
    _check_size(table.nbytes, body)
    return table


def _batches(reader: Any) -> Any:
    if hasattr(reader, "get_batch"):
        return (reader.get_batch(at) for at in range(reader.num_record_batches))
    return iter(reader)


def _check_size(unpacked: int, body: bytes) -> None:
    if unpacked > FREE_UNPACKED + MOST_UNPACKED * len(body):
        raise Refused(413, "the table is too large when it is unpacked")


def _file_table(body: bytes, name: str) -> Table:
    """Table of a CSV file or a workbook, read into memory."""
    if name.endswith(".xlsx"):
        try:
            with zipfile.ZipFile(io.BytesIO(body)) as archive:
                _check_size(sum(each.file_size for each in archive.infolist()), body)
        except zipfile.BadZipFile:
            raise Refused(422, findings=("the body is no workbook",)) from None
    with TemporaryDirectory(prefix="lostsales-") as folder:
        path = Path(folder) / name
        path.write_bytes(body)
        try:
            found = open_table(path)
        except LostSalesError as error:
            raise Refused(422, findings=(str(error).replace(str(path), FILE),)) from None
    return replace(found, name=FILE)  # type: ignore[type-var]


def incoming_rows(
    kind: Kind, table: Table, problem: Problem, columns: Sequence[str], latest: Latest, who: str, identity: str
) -> Incoming:
    """Rows of the log or of today; prices and orders of the log that they lack are those that were decided."""
    names, filled = problem.columns, 0
    findings = Findings(table.name, table.place)
    reader = ColumnReader(table, findings, problem.format)
    findings.series_of = reader.series(names.series_parts)
    if missing := [each for each in (*names.series_parts, names.period) if each not in table.columns]:
        findings.add(f"missing column {', '.join(map(repr, missing))}; the table has {listed(table.columns)}")
    findings.raise_if_any()
    kept = (
        [each for each in (columns or table.columns) if each in table.columns]
        if kind == "log"
        else [each for each in table.columns if each in problem.reads]
    )
    if kind == "log":
        lacking = [
            (each, table.cells(each).missing() if each in table.columns else np.ones(table.rows, dtype=bool))
            for each in (names.price, names.order)
            if each in (columns or table.columns)
        ]
        if any(missing.any() for _, missing in lacking):
            decided = _decided(table, problem, np.logical_or.reduce([missing for _, missing in lacking]), latest)
            kept = list(dict.fromkeys([*kept, *(each for each, _ in lacking)]))
            table = with_updates((decided, TableUpdate(table)), kept, problem)
            filled = sum(int((missing & ~table.cells(each).missing()).sum()) for each, missing in lacking)
        check_columns(table, problem)
    return _stored(kind, table, {each: column_of(table, each) for each in kept}, problem, filled, who, identity)


def _decided(table: Table, problem: Problem, rows: Bools, latest: Latest) -> TableUpdate:
    """Prices and orders decided in the periods of some rows."""
    names, lacking = problem.columns, SomeRows(table, np.flatnonzero(rows))
    period = ColumnReader(lacking, Findings(lacking.name), problem.format).period(names.period)
    _, firsts = np.unique(period, return_index=True)
    texts = {spelled(each) for each in period[firsts]} | {spelled(each) for each in lacking.shown(names.period, firsts)}
    found = [each for text in sorted(texts) for each in latest(text).values() if each.is_order]
    columns: dict[str, Array] = dict(_part_columns(np.array([each.series for each in found], dtype=object), problem))
    columns[names.period] = np.array([each.period for each in found], dtype=object)
    columns[names.price] = np.array([each.price for each in found], dtype=np.float64)
    columns[names.order] = np.array([each.order for each in found], dtype=np.float64)
    return TableUpdate(ColumnTable(columns, "the decisions"), (names.price, names.order))


def incoming_correction(
    kind: Kind, table: Table, problem: Problem, periods: dict[str, Any], who: str, identity: str
) -> Incoming:
    """Stock counts or deliveries; without a period they are of the product's period in `periods`, today's.

    A row that cannot be used is rejected, unless none can.
    """
    names, column = problem.columns, str(corrected_column(kind, problem))
    if missing := [each for each in (*names.series_parts, column) if each not in table.columns]:
        found = f"missing column {', '.join(map(repr, missing))}; the table has {listed(table.columns)}"
        raise LogError(table.name, (found,))
    findings = Findings(table.name, table.place)
    reader = ColumnReader(table, findings, problem.format)
    labels = findings.series_of = reader.series(names.series_parts)
    texts = texts_of(labels)
    if names.period in table.columns:
        period = findings.period_of = reader.period(names.period)
    else:
        is_known = np.array([text in periods for text in texts.tolist()], dtype=bool)
        findings.check(~is_known, "series must be a product of today's list, or the row must have a period", texts)
        usual = next(iter(periods.values()), 0)
        period = np.array([periods.get(text, usual) for text in texts.tolist()])
    value = reader.number(column)
    twice = np.bincount(np.unique(_pairs(labels[0], period), return_inverse=True)[1])
    again = twice[np.unique(_pairs(labels[0], period), return_inverse=True)[1]] > 1
    findings.check(again, f"{column} must come once for a series and period", value)
    bad = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *(rows for _, rows in findings.bad_rows)]))
    rows = np.setdiff1d(np.arange(table.rows), bad)
    reasons: dict[str, str] = {}
    if len(bad):
        try:
            findings.raise_if_any(table.rows)
        except LogError as error:
            reasons = error.bad_series
            if not len(rows) or not reasons:
                raise
    columns = _part_columns(texts[rows], problem) | {names.period: period[rows], column: value[rows]}
    new = _stored(kind, ColumnTable(columns, table.name), columns, problem, 0, who, identity)
    return Incoming(replace(new.upload, rejected=json.dumps(reasons)))


def _pairs(codes: Ints, period: Array) -> Array:
    return codes * (len(period) + 1) + np.unique(period, return_inverse=True)[1]


def _part_columns(series: Array, problem: Problem) -> dict[str, Array]:
    """Columns that name series together."""
    parts = problem.columns.series_parts
    split = [str(each).split(SERIES_SEPARATOR, len(parts) - 1) for each in series]
    return {name: np.array([each[at] for each in split], dtype=object) for at, name in enumerate(parts)}


def _stored(
    kind: Kind, table: Table, columns: dict[str, Array], problem: Problem, filled: int, who: str, identity: str
) -> Incoming:
    import pyarrow as pa
    import pyarrow.parquet as pq

    names, sink = problem.columns, io.BytesIO()
    pq.write_table(pa.table({name: pa.array(each, from_pandas=True) for name, each in columns.items()}), sink)
    reader = ColumnReader(table, Findings(table.name), problem.format)
    period = reader.period(names.period)
    known = period[~(np.isnat(period) if period.dtype.kind == "M" else np.isnan(period))]
    upload = Upload(
        id=identity or uuid4().hex,
        time=datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        who=who,
        kind=kind,
        rows=table.rows,
        products=len(reader.series(names.series_parts)[1]),
        first=spelled(known.min()) if len(known) else "",
        last=spelled(known.max()) if len(known) else "",
        filled=filled,
        rejected="{}",
        content=sink.getvalue(),
    )
    return Incoming(upload)


def column_of(table: Table, column: str) -> Array:
    """Values of a column that mean the same when they are stored and read again: numbers, moments, or else text."""
    cells = table.cells(column)
    kinds = [
        each for each in (cells.numbers, cells.truths, cells.moments, cells.texts, cells.others) if each is not None
    ]
    if len(kinds) == 1 and cells.numbers is not None:
        return cells.numbers
    if len(kinds) == 1 and cells.moments is not None:
        return np.asarray(cells.moments.astype("datetime64[D]")) if cells.days else cells.moments
    shown = table.shown(column, np.arange(table.rows))
    return np.array([None if each is None or each != each else spelled(each) for each in shown], dtype=object)
