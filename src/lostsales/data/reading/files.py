"""Tables in files: CSV and Parquet, one or several, read by DuckDB one column at a time."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from lostsales.data.labels import by_appearance, coded
from lostsales.data.memory import FEWER, memory_limit, size
from lostsales.data.reading.cells import Cells, Texts, fetched
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
