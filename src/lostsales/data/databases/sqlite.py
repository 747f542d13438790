"""SQLite as Arrow: SQLite types every value, so a column gets the narrowest type that holds all of its values.

The ADBC driver for SQLite rounds numbers to seven digits in a column that also has text, and takes the type of a
column from its first rows. This reader uses the driver of the standard library instead.
"""

import sqlite3
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from lostsales.data.sql_names import identifier
from lostsales.errors import LostSalesError

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS = 65_536  # of a query; PostgreSQL sends batches of some megabytes
TYPES = ("integer", "real", "text", "blob")


class Sqlite:
    """Transaction of a SQLite database."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def execute(self, sql: str) -> None:
        """Run a statement."""
        self.connection.execute(sql)

    def number(self, sql: str) -> int:
        """Return the single number that a query selects."""
        return int(self.connection.execute(sql).fetchone()[0])

    def reader(self, sql: str) -> "pa.RecordBatchReader":
        """Read the rows of a query, which runs twice: first for the types of its columns."""
        import pyarrow as pa

        sql = sql.strip().rstrip(";")
        described = self.connection.execute(f"SELECT * FROM ({sql}) LIMIT 0").description
        if described is None:
            raise LostSalesError("a query must return rows, but this statement returns none")
        names = [name for name, *_ in described]
        kinds = [_column(found) for found in self._types(sql, names)]
        schema = pa.schema([(name, kind) for name, (kind, _) in zip(names, kinds, strict=True)])
        return pa.RecordBatchReader.from_batches(schema, self._batches(sql, schema, [read for _, read in kinds]))

    def _types(self, sql: str, names: list[str]) -> list[set[str]]:
        """The types that occur in each column."""
        if len(set(names)) < len(names):
            raise LostSalesError(f"the columns of a query must have different names, but {', '.join(names)} came")
        quoted = [identifier(name) for name in names]
        asked = ", ".join(f"max(typeof({name}) = '{kind}')" for name in quoted for kind in TYPES)
        found = self.connection.execute(f"SELECT {asked} FROM ({sql})").fetchone()
        width = len(TYPES)
        return [
            {kind for kind, occurs in zip(TYPES, found[at * width : (at + 1) * width], strict=True) if occurs}
            for at in range(len(names))
        ]

    def _batches(
        self, sql: str, schema: "pa.Schema", reads: list[Callable[[Any], Any] | None]
    ) -> Iterator["pa.RecordBatch"]:
        import pyarrow as pa

        cursor = self.connection.execute(sql)
        while rows := cursor.fetchmany(BATCH_ROWS):
            columns = [
                pa.array(values if read is None else [None if each is None else read(each) for each in values], kind)
                for values, read, kind in zip(zip(*rows, strict=True), reads, schema.types, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    def load(self, name: str, table: "pa.Table") -> None:
        """Make a temporary table; dates and times are stored as text, as SQLite has no type for them."""
        columns = ", ".join(identifier(each) for each in table.column_names)
        self.connection.execute(f"CREATE TEMPORARY TABLE {name} ({columns})")
        values = [[_stored(each) for each in column.to_pylist()] for column in table.columns]
        marks = ", ".join("?" * len(values))
        self.connection.executemany(f"INSERT INTO {name} VALUES ({marks})", zip(*values, strict=True))


def _column(found: set[str]) -> tuple["pa.DataType", Callable[[Any], Any] | None]:
    """Arrow type of a column with values of these types, and the conversion to it (None if none is needed)."""
    import pyarrow as pa

    if "blob" in found:
        return pa.binary(), lambda value: value if isinstance(value, bytes) else str(value).encode()
    if "text" in found:
        return pa.string(), lambda value: repr(value) if isinstance(value, float) else str(value)
    if "real" in found:
        return pa.float64(), float
    return pa.int64(), None


def _stored(value: object) -> object:
    return value if value is None or isinstance(value, int | float | str | bytes) else str(value)
