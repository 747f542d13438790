"""Tables from anywhere (CSV, Parquet, pandas, polars, Arrow), one column at a time, as numpy arrays."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from lostsales.arrays import Array, Ints
from lostsales.errors import LostSalesError

SERIES_SEPARATOR = " / "


class Table(Protocol):
    """What the gate asks of a source."""

    @property
    def name(self) -> str:
        """How messages call it."""
        ...

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        ...

    @property
    def rows(self) -> int:
        """How many rows there are."""
        ...

    def values(self, column: str) -> Array:
        """A column as float64, bool, datetime64 or else objects; what is missing is NaN, NaT or None."""
        ...

    def labels(self, columns: tuple[str, ...]) -> tuple[Ints, Array]:
        """Codes in order of first appearance (-1 where missing) and the text behind each code."""
        ...


def open_table(source: Any, text_columns: tuple[str, ...] = ()) -> Table:
    """`source` is a path of a CSV or Parquet file, or a pandas, polars or Arrow table.

    The `text_columns` of a CSV stay text, so that an article 007 keeps its zeros.
    """
    if isinstance(source, str | Path):
        return FileTable(Path(source), text_columns)
    import narwhals as nw

    try:
        frame = nw.from_native(source, eager_only=True)
    except TypeError:
        wanted = "a path (CSV, Parquet) or a pandas, polars or Arrow table"
        raise LostSalesError(f"a log is read from {wanted}, but a {type(source).__name__} came") from None
    return FrameTable(frame)


@dataclass(frozen=True)
class FrameTable:
    """A table in memory, behind narwhals."""

    frame: Any
    name: str = "the table"

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.frame.columns)

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.frame)

    def values(self, column: str) -> Array:
        """The column as it is, numbers as float64."""
        series = self.frame[column]
        if series.dtype.is_numeric():
            import narwhals as nw

            return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
        array = np.asarray(series.to_numpy())
        return array if array.dtype.kind in "bM" else array.astype(object)

    def labels(self, columns: tuple[str, ...]) -> tuple[Ints, Array]:
        """First appearance decides the code; only the starts of runs are looked at one by one."""
        coded = [_coded(np.asarray(self.frame[column].to_numpy())) for column in columns]
        codes, texts = coded[0]
        for more_codes, more_texts in coded[1:]:
            missing = (codes < 0) | (more_codes < 0)
            joint, texts_index = _appearance(np.where(missing, -1, codes * len(more_texts) + more_codes))
            first, second = np.divmod(texts_index, max(len(more_texts), 1))
            texts = np.array(
                [f"{texts[i]}{SERIES_SEPARATOR}{more_texts[j]}" for i, j in zip(first, second, strict=True)],
                dtype=object,
            )
            codes = joint
        return codes, texts


@dataclass(frozen=True)
class FileTable:
    """A CSV or Parquet file, read by DuckDB."""

    path: Path
    text_columns: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """How messages call it."""
        return str(self.path)

    @cached_property
    def _connection(self) -> Any:
        import duckdb

        if not self.path.is_file():
            raise LostSalesError(f"there is no file {self.path}")
        connection = duckdb.connect(config={"preserve_insertion_order": True})
        quoted = str(self.path).replace("'", "''")
        try:
            if self.path.suffix.lower() in (".parquet", ".pq"):
                connection.execute(f"CREATE VIEW log AS SELECT * FROM read_parquet('{quoted}')")
            elif self.path.suffix.lower() in (".csv", ".tsv", ".txt", ".gz"):
                read = f"read_csv('{quoted}', sample_size=-1"
                found = [row[0] for row in connection.execute(f"DESCRIBE FROM {read})").fetchall()]
                text = ", ".join(f"{_quoted(column)}: 'VARCHAR'" for column in self.text_columns if column in found)
                connection.execute(f"CREATE TABLE log AS FROM {read}{', types={' + text + '}' if text else ''})")
            else:
                raise LostSalesError(f"{self.path} must end in .csv or .parquet")
        except duckdb.Error as error:
            reason = str(error).splitlines()[0]
            raise LostSalesError(f"{self.path} cannot be read: {reason}") from None
        return connection

    @cached_property
    def _types(self) -> dict[str, str]:
        return {row[0]: row[1] for row in self._connection.execute("DESCRIBE log").fetchall()}

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self._types)

    @cached_property
    def rows(self) -> int:
        """How many rows there are."""
        return int(self._connection.execute("SELECT count(*) FROM log").fetchone()[0])

    def values(self, column: str) -> Array:
        """The column as it is, numbers as float64."""
        kind = self._types[column]
        expression = _quoted(column)
        if kind.startswith(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "U", "FLOAT", "DECIMAL")):
            expression = f"CAST({expression} AS DOUBLE)"
        elif kind not in ("DOUBLE", "BOOLEAN", "DATE") and not kind.startswith("TIMESTAMP"):
            expression = f"CAST({expression} AS VARCHAR)"
        elif kind.startswith("TIMESTAMP"):
            expression = f"CAST({expression} AS TIMESTAMP)"
        return self._fetch(expression)

    def labels(self, columns: tuple[str, ...]) -> tuple[Ints, Array]:
        """Whole numbers are coded by numpy, text by DuckDB, so that no row becomes a Python object."""
        if len(columns) == 1 and self._types[columns[0]] in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT"):
            values = self._fetch(f"CAST({_quoted(columns[0])} AS BIGINT)")
            if values.dtype == np.int64:
                codes, index = _appearance(values, missing=None)
                return codes, index.astype(str).astype(object)
        parts = f" || '{SERIES_SEPARATOR}' || ".join(f"CAST({_quoted(column)} AS VARCHAR)" for column in columns)
        self._connection.execute(
            f"CREATE OR REPLACE TYPE label AS ENUM (SELECT DISTINCT {parts} AS t FROM log WHERE t IS NOT NULL)"
        )
        raw = self._fetch(f"coalesce(CAST(enum_code(CAST({parts} AS label)) AS BIGINT), -1)")
        texts = self._connection.execute("SELECT unnest(enum_range(NULL::label))").fetchall()
        codes, index = _appearance(raw)
        return codes, np.array([texts[i][0] for i in index], dtype=object)

    def _fetch(self, expression: str) -> Array:
        column = self._connection.execute(f"SELECT {expression} AS c FROM log").fetchnumpy()["c"]
        if not isinstance(column, np.ma.MaskedArray):
            return np.asarray(column)
        if column.dtype.kind == "M":
            return np.asarray(column.filled(np.datetime64("NaT")))
        if column.dtype.kind == "f":
            return np.asarray(column.filled(np.nan))
        objects = np.asarray(column.data, dtype=object)
        objects[np.ma.getmaskarray(column)] = None
        return objects


def _quoted(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def _coded(values: Array) -> tuple[Ints, Array]:
    """Codes and texts of raw labels; numbers that are whole lose their decimal point."""
    if values.dtype.kind in "iu":
        codes, index = _appearance(values.astype(np.int64), missing=None)
        return codes, index.astype(str).astype(object)
    starts = np.flatnonzero(np.r_[True, values[1:] != values[:-1]]) if len(values) else np.zeros(0, dtype=np.int64)
    known: dict[str, int] = {}
    run_codes = np.fromiter(
        (known.setdefault(text, len(known)) if (text := _label(values[i])) is not None else -1 for i in starts),
        dtype=np.int64,
        count=len(starts),
    )
    return np.repeat(run_codes, np.diff(np.r_[starts, len(values)])), np.array(list(known), dtype=object)


def _label(value: Any) -> str | None:
    if value is None or value != value:
        return None
    return str(int(value)) if isinstance(value, float | np.floating) and float(value).is_integer() else str(value)


def _appearance(values: Ints, missing: int | None = -1) -> tuple[Ints, Ints]:
    """Codes by first appearance, and the value behind each code; `missing` keeps the code -1.

    >>> _appearance(np.array([7, 7, 3, -1, 7]))
    (array([ 0,  0,  1, -1,  0]), array([7, 3]))
    """
    if len(values) == 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    starts = np.flatnonzero(np.r_[True, values[1:] != values[:-1]])
    heads = values[starts]
    unique, first, inverse = np.unique(heads, return_index=True, return_inverse=True)
    if missing is not None:
        first = np.where(unique == missing, len(heads), first)
    rank = np.empty(len(unique), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(unique))
    known = unique != missing if missing is not None else np.ones(len(unique), dtype=bool)
    codes = np.where(known[inverse], rank[inverse], -1)
    texts = np.empty(int(known.sum()), dtype=np.int64)
    texts[rank[known]] = unique[known]
    return np.repeat(codes, np.diff(np.r_[starts, len(values)])), texts
