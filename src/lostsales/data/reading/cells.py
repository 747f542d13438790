"""A column as it came: numbers, truth values, moments and texts, before anything is made of them."""

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import duckdb
import numpy as np

from lostsales.data.memory import memory_limit
from lostsales.data.reading.text import is_missing
from lostsales.errors import LostSalesError
from lostsales.types import Array, Bools, Floats, Ints

LARGEST_WRITTEN = 10**15  # whole numbers below are written out as digits


def connect() -> duckdb.DuckDBPyConnection:
    """DuckDB in memory, that keeps the order of rows, downloads no extension and writes no temporary files."""
    connection = duckdb.connect(
        config={
            "preserve_insertion_order": True,
            "autoload_known_extensions": False,
            "autoinstall_known_extensions": False,
            "temp_directory": "",
            "memory_limit": f"{int(memory_limit())}B",
        }
    )
    with suppress(duckdb.InvalidInputException):  # in a notebook without ipywidgets, where nothing would be drawn
        connection.execute("SET enable_progress_bar = false")  # which would draw on the standard output
    return connection


@cache
def _shared() -> duckdb.DuckDBPyConnection:
    """One database for all texts in memory, since opening one takes longer than reading a small column."""
    return connect()


@dataclass(frozen=True)
class Texts:
    """A column of text in DuckDB, read by expressions, so that no row becomes a Python object."""

    source: duckdb.DuckDBPyConnection | Array  # that has the table, or the values themselves
    table: str
    expression: str
    kept: Ints | None = None  # the rows that count

    @cached_property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """Connection for queries; values are registered at the first one, since many columns need none."""
        if not isinstance(self.source, np.ndarray):
            return self.source
        connection = _shared().cursor()
        connection.register(self.table, {"c": self.source})
        return connection

    @classmethod
    def of(cls, texts: Array) -> "Texts":
        """Texts in memory; None where there is none."""
        return cls(texts, "texts", "CAST(c AS VARCHAR)")

    @classmethod
    def of_whole(cls, numbers: Floats) -> "Texts":
        """Whole numbers, written out."""
        whole = f"c = round(c) AND abs(c) < {LARGEST_WRITTEN}"
        return cls(numbers, "texts", f"CASE WHEN {whole} THEN CAST(CAST(c AS BIGINT) AS VARCHAR) END")

    def fetch(self, expression: str) -> Array:
        """An expression of the texts, one value a row; NaN, NaT or None where NULL."""
        try:
            found = fetched(self.connection, f"SELECT {expression} AS c FROM {self.table}")
        except duckdb.Error as error:  # a format that DuckDB does not take
            raise LostSalesError(f"text cannot be read as declared: {str(error).splitlines()[0]}") from None
        return found if self.kept is None else found[self.kept]

    def counts(self, *expressions: str) -> list[int]:
        """Number of rows in which each expression has a value."""
        counts = ", ".join(f"count({each})" for each in expressions)
        return list(self.connection.execute(f"SELECT {counts} FROM {self.table}").fetchall()[0])

    def some(self, condition: str, most: int) -> list[str]:
        """Different texts for which a condition holds."""
        sql = f"SELECT DISTINCT {self.expression} FROM {self.table} WHERE {condition} LIMIT {most}"
        return [text for (text,) in self.connection.execute(sql).fetchall()]


@dataclass(frozen=True)
class Cells:
    """The rows of a column by kind: a row is in at most one of them, and missing where it is in none."""

    rows: int
    numbers: Floats | None = None  # (rows,) NaN where a row is no number
    truths: Floats | None = None  # (rows,) 1, 0 or NaN
    moments: Array | None = None  # (rows,) datetime64[us] in UTC or NaT
    texts: Texts | None = None
    others: Bools | None = None  # (rows,) neither of these, and not missing
    days: bool = False  # the moments are dates without a time of day

    def missing(self) -> Bools:
        """Rows that have no value; "nan" is treated as none."""
        found = np.ones(self.rows, dtype=bool)
        for values in (self.numbers, self.truths):
            found &= True if values is None else np.isnan(values)
        found &= True if self.moments is None else np.isnat(self.moments)
        found &= True if self.texts is None else self.texts.fetch(is_missing(self.texts.expression)).astype(bool)
        return found if self.others is None else found & ~self.others

    def take(self, rows: Ints) -> "Cells":
        """Some rows, in the order given."""
        parts: dict[str, Any] = {
            name: None if part is None else part[rows]
            for name, part in (
                ("numbers", self.numbers),
                ("truths", self.truths),
                ("moments", self.moments),
                ("others", self.others),
            )
        }
        texts = None if self.texts is None else replace(self.texts, kept=rows)
        return Cells(rows=len(rows), texts=texts, days=self.days, **parts)


def fetched(connection: duckdb.DuckDBPyConnection, sql: str) -> Array:
    """The column `c` of a query; NaN, NaT or None where NULL."""
    column = connection.execute(sql).fetchnumpy()["c"]
    if not isinstance(column, np.ma.MaskedArray):
        return np.asarray(column)
    missing = np.ma.getmaskarray(column)
    if column.dtype.kind == "M":
        return np.asarray(column.filled(np.datetime64("NaT")))
    if column.dtype.kind in "fb":
        return np.where(missing, np.nan, column.data)
    objects = np.asarray(column.data, dtype=object)
    objects[missing] = None
    return objects
