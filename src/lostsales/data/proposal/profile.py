"""A sample of a table in DuckDB, and the contents of its columns: numbers, flags, dates or text, and their format."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import duckdb
import numpy as np

from lostsales.data.format import Format
from lostsales.data.labels import is_missing, spelled
from lostsales.data.reading.cells import connect
from lostsales.data.reading.files import NUMBERS, open_files
from lostsales.data.reading.formats import NumberFormat, date_formats, is_iso, number_format
from lostsales.data.reading.table import Table, files_of, open_table
from lostsales.data.reading.text import FLAGS, as_flag, as_moment, as_number
from lostsales.data.sql_names import identifier, quoted
from lostsales.errors import LostSalesError
from lostsales.types import Array

SAMPLE_ROWS = 100_000  # of a sample: bounds time
HEAD_ROWS = 20_000  # from which the columns that name a series are guessed


@dataclass(frozen=True)
class Sample:
    """All or some rows of a table as the table `log` of a connection, loaded or not."""

    connection: duckdb.DuckDBPyConnection
    kinds: dict[str, tuple[str, str]]  # column: its expression in SQL and its type
    rows: int
    table_rows: int

    @property
    def is_whole(self) -> bool:
        """True if the sample has all rows of the table."""
        return self.rows == self.table_rows

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """All rows of an answer."""
        return list(self.connection.execute(sql).fetchall())

    def write(self, folder: Path) -> Path:
        """A file of these rows under the names of the table."""
        named = ", ".join(f"{sql} AS {identifier(name)}" for name, (sql, _) in self.kinds.items())
        is_text = all(kind == "text" for _, kind in self.kinds.values())
        path = folder / ("sample.csv" if is_text else "sample.parquet")
        self.connection.execute(f"COPY (SELECT {named} FROM log) TO {quoted(str(path))}")
        return path

    def head(self) -> "Sample":
        """The first rows, or all rows where they are few."""
        return self._sample("", SAMPLE_ROWS if self.rows <= SAMPLE_ROWS else HEAD_ROWS)

    def whole_series(self, keys: tuple[str, ...]) -> "Sample":
        """Rows of some values of the `keys`, all of each, about as many as a sample may have."""
        share = -(-self.rows // SAMPLE_ROWS)
        hashed = ", ".join(f"CAST({self.kinds[key][0]} AS VARCHAR)" for key in keys)
        found = self._sample(f"WHERE hash({hashed}) % {share} = 0", 2 * SAMPLE_ROWS) if keys else self.head()
        return found if found.rows >= HEAD_ROWS else self._sample("", SAMPLE_ROWS)  # a few very long series

    def _sample(self, where: str, most: int) -> "Sample":
        # In a schema of its own, so that it is `log` to those who ask through its cursor.
        cursor = self.connection.cursor()
        cursor.execute("CREATE SCHEMA IF NOT EXISTS sample")
        try:
            cursor.execute(f"CREATE OR REPLACE TABLE sample.log AS SELECT * FROM main.log {where} LIMIT {most}")
        except duckdb.Error as error:
            raise LostSalesError(f"the table cannot be read: {str(error).splitlines()[0]}") from None
        cursor.execute("SET schema = 'sample'")
        ((rows,),) = cursor.execute("SELECT count(*) FROM log").fetchall()
        return Sample(cursor, self.kinds, int(rows), self.rows)


def open_source(source: Any) -> Sample:
    """CSV or Parquet files, or a pandas, polars or Arrow table."""
    if isinstance(source, str | Path | list | tuple):
        file = open_files(files_of(source), keep=False)
        return Sample(file.connection, file.kinds, file.rows, file.rows)
    table = open_table(source)
    if not table.columns:
        raise LostSalesError("a problem is proposed from columns, but the table has none")
    columns = {f"c{index}": _values(table, name) for index, name in enumerate(table.columns)}
    connection = connect()
    connection.register("columns", columns)
    connection.execute("CREATE TABLE log AS SELECT * FROM columns")
    kinds = connection.execute("DESCRIBE log").fetchall()
    named = zip(table.columns, kinds, strict=True)
    return Sample(connection, {name: (column, kind) for name, (column, kind, *_) in named}, table.rows, table.rows)


def _values(table: Table, column: str) -> Array:
    """Numbers, truth values and moments as they are, all else as text, which DuckDB can hold whatever it is."""
    cells = table.cells(column)
    if cells.texts is None and cells.others is None:
        values = next((each for each in (cells.numbers, cells.moments) if each is not None), None)
        if values is not None:
            return values
    if cells.truths is not None and cells.texts is None and not np.isnan(cells.truths).any():
        return cells.truths.astype(bool)
    shown = table.shown(column, np.arange(table.rows))
    texts = [None if is_missing(value) else _spelled(value) for value in shown]
    return np.array(texts, dtype=object)


def _spelled(value: object) -> str:
    """A text that UTF-8 can write: reading refuses others, but a proposal can still be made."""
    try:
        return spelled(value).encode("utf-8", "replace").decode()
    except Exception:  # noqa: BLE001, objects raise what they like
        return f"a {type(value).__name__} without a text"


MOST_VALUES = 2_000  # different texts of a column that are looked at
# Texts that stand for no value.
MISSING = frozenset(("na", "n/a", "#n/a", "nan", "null", "none", "-", "--", "?", ".", "nil"))
COMPACT_DATES = {"%Y%m%d": (1900_01_01, 2100_12_31), "%Y%m": (1900_01, 2100_12)}

Kind = Literal["number", "flag", "date", "text", "list", "empty"]


@dataclass(frozen=True)
class Column:
    """A column of a sample."""

    name: str
    kind: Kind
    sql: str  # its values as DOUBLE, BOOLEAN, TIMESTAMP or VARCHAR
    present: int  # rows with a value
    unread: int  # of these, rows whose value is not of the kind
    distinct: int
    lowest: float | None  # of numbers
    highest: float | None
    is_whole: bool  # all numbers are whole
    examples: tuple[str, ...]
    dates: tuple[str, ...] = ()  # formats that its dates can have, the likeliest first; none where they are ISO
    compact_dates: str | None = None  # the format that whole numbers such as 20260301 have as dates

    @property
    def is_flag(self) -> bool:
        """True if the column has the two values of a flag, as words or as 0 and 1."""
        two = self.kind == "number" and self.is_whole and self.lowest == 0 and self.highest == 1
        return (self.kind == "flag" or two) and self.unread == 0

    @property
    def may_be_flag(self) -> bool:
        """True if the column can be a flag: it is one, or has only one of the two values."""
        return self.is_flag or (self.kind == "number" and self.lowest == self.highest and self.lowest in (0, 1))

    @property
    def is_amount(self) -> bool:
        """True if the column holds numbers that are not all negative."""
        return self.kind == "number" and self.highest is not None and self.highest >= 0

    @property
    def shown(self) -> str:
        """A few values."""
        return ", ".join(map(repr, self.examples[:3]))

    @property
    def range(self) -> str:
        """Number of different values, with the lowest and the highest."""
        if self.lowest is None or self.highest is None or self.distinct == 1:
            return f"always {self.shown}"
        return f"{self.distinct:,} different values, {self.lowest:g} to {self.highest:g}"


@dataclass(frozen=True)
class Profile:
    """The columns of a sample by name, and the format of its numbers."""

    columns: dict[str, Column]
    numbers: NumberFormat


def profile(sample: Sample) -> Profile:
    """Look at every column."""
    texts = {
        name: _texts(sample, sql)
        for name, (sql, kind) in sample.kinds.items()
        if kind in ("text", "VARCHAR") or kind.startswith("ENUM")
    }
    dated = {name: _date_formats(found) for name, found in texts.items()}
    european = any(form.startswith("%d.%m") for forms in dated.values() for form in forms or ())
    numbers = number_format((found for name, found in texts.items() if found and dated[name] is None), european)
    columns = {}
    for name, (sql, kind) in sample.kinds.items():
        if name in texts:
            columns[name] = _text_column(sample, name, sql, texts[name], dated[name], numbers)
        else:
            columns[name] = _typed_column(sample, name, sql, kind)
    return Profile(columns, numbers)


def _texts(sample: Sample, sql: str) -> list[str]:
    text = f"trim(CAST({sql} AS VARCHAR))"
    distinct = f"SELECT DISTINCT {text} AS value FROM log WHERE {sql} IS NOT NULL AND {text} <> '' LIMIT {MOST_VALUES}"
    return [value for (value,) in sample.query(distinct) if value.lower() not in MISSING]


def _date_formats(texts: list[str]) -> tuple[str, ...] | None:
    """None where the texts are no dates, none at all where they are ISO dates."""
    if is_iso(texts):
        return ()
    return tuple(date_formats(texts)) or None


def _text_column(
    sample: Sample, name: str, sql: str, texts: list[str], dates: tuple[str, ...] | None, numbers: NumberFormat
) -> Column:
    bare = f"nullif(trim(CAST({sql} AS VARCHAR)), '')"
    if not texts:
        return Column(name, "empty", bare, 0, 0, 0, None, None, is_whole=False, examples=())
    if dates is not None:
        return _counted(sample, name, "date", bare, as_moment(bare, Format(dates=dates[:1])), dates)
    words = {text.lower() for text in texts}
    if any(words == {*pair} or (len(words) == 1 < len(min(words)) and words < {*pair}) for pair in FLAGS):
        return _counted(sample, name, "flag", bare, f"CAST({as_flag(bare)} AS BOOLEAN)")
    if numbers.reads(texts):
        return _counted(sample, name, "number", bare, as_number(bare, numbers.written))
    return _counted(sample, name, "text", bare, bare)


def _typed_column(sample: Sample, name: str, sql: str, kind: str) -> Column:
    if kind in NUMBERS or kind.startswith("DECIMAL("):
        return _counted(sample, name, "number", sql, f"CAST({sql} AS DOUBLE)")
    if kind == "BOOLEAN":
        return _counted(sample, name, "flag", sql, sql)
    if kind == "DATE" or kind.startswith("TIMESTAMP"):
        return _counted(sample, name, "date", sql, f"CAST({sql} AS TIMESTAMP)")
    text = f"CAST({sql} AS VARCHAR)"
    return _counted(sample, name, "list" if kind.endswith("]") or "(" in kind else "text", text, text)


def _counted(sample: Sample, name: str, kind: Kind, raw: str, sql: str, dates: tuple[str, ...] = ()) -> Column:
    limits = f"min({sql}), max({sql}), bool_and({sql} = floor({sql}))" if kind == "number" else "NULL, NULL, false"
    ((present, read, distinct, lowest, highest, whole),) = sample.query(
        f"SELECT count({raw}), count({sql}), count(DISTINCT {sql}), {limits} FROM log"
    )
    head = f"SELECT CAST({raw} AS VARCHAR) AS value FROM log LIMIT 1000"
    shown = sample.query(f"SELECT DISTINCT value FROM ({head}) WHERE value IS NOT NULL ORDER BY value LIMIT 5")
    compact = None
    if kind == "number" and whole and distinct > 1:
        compact = next((form for form in COMPACT_DATES if _is_compact(sample, sql, form, lowest, highest, read)), None)
    return Column(
        name, kind, sql, present, present - read, distinct, lowest, highest, bool(whole),
        tuple(value[:40] for (value,) in shown), dates, compact,
    )  # fmt: skip


def _is_compact(sample: Sample, sql: str, form: str, lowest: float, highest: float, read: int) -> bool:
    """True if whole numbers are dates without separators."""
    first, last = COMPACT_DATES[form]
    if lowest < first or highest > last:
        return False
    text = f"CAST(TRY_CAST({sql} AS BIGINT) AS VARCHAR)"
    return bool(sample.query(f"SELECT count(try_strptime({text}, '{form}')) FROM log")[0][0] == read)


def is_wide(names: list[str]) -> bool:
    """True if most columns are periods, such as d_1, d_2, ... or 2024-01-01, 2024-01-08, ...

    >>> is_wide(["id", *(f"d_{day}" for day in range(30))]), is_wide(["id", "date", "sales"])
    (True, False)
    """
    periods = [name for name in names if re.fullmatch(r"[A-Za-z]{0,6}[_ -]?\d{1,4}|\d{4}[-/.]\d{2}([-/.]\d{2})?", name)]
    return len(periods) >= 10 and len(periods) > len(names) / 2
