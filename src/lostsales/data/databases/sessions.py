"""Sessions with a database: one transaction, read-only by default, and errors without secrets."""

import re
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from lostsales.data.databases.address import DatabaseAddress
from lostsales.data.memory import memory_limit
from lostsales.data.sql_names import identifier
from lostsales.errors import LostSalesError

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS = 65_536  # of a query; PostgreSQL sends batches of some megabytes
TYPES = ("integer", "real", "text", "blob")


class Session(ABC):
    """Transaction of a database."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    def execute(self, sql: str) -> Any:
        """Run a statement."""
        return self.connection.execute(sql)

    def number(self, sql: str) -> int:
        """Return the single number that a query selects."""
        return int(self.execute(sql).fetchone()[0])

    @abstractmethod
    def reader(self, sql: str) -> "pa.RecordBatchReader":
        """Read the rows of a query, batch by batch."""

    @abstractmethod
    def load(self, name: str, table: "pa.Table") -> None:
        """Make a temporary table."""


class Sqlite(Session):
    """Transaction of a SQLite database.

    SQLite types every value, so a column gets the narrowest type that holds all of its values. The ADBC driver for
    SQLite rounds numbers to seven digits in a column that also has text, and takes the type of a column from its first
    rows; the driver of the standard library does not.
    """

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


INSTALL = "databases need the extra [sql]: pip install 'lostsales[sql]'"


@contextmanager
def session(address: DatabaseAddress, *, writes: bool = False) -> Iterator[Session]:
    """Open one transaction; commit it at the end if it writes, and turn driver errors into LostSalesError."""
    opened = {"postgresql": _postgresql, "sqlite": _sqlite, "duckdb": _duckdb}[address.kind]
    try:
        with opened(address, writes) as found:
            yield found
    except ImportError:
        raise LostSalesError(INSTALL) from None
    except Exception as error:
        if not isinstance(error, OSError) and not _is_of_driver(error):
            raise
        verb = "written to" if writes else "read"
        raise LostSalesError(f"{address} cannot be {verb}: {address.without_secrets(_reason(error))}") from None


_DRIVERS = ("adbc_driver_manager", "_duckdb", "duckdb", "sqlite3", "pyarrow")


def _is_of_driver(error: Exception) -> bool:
    return type(error).__module__.partition(".")[0] in _DRIVERS


def _reason(error: Exception) -> str:
    """First non-empty line of an error message, without the prefixes of the driver's layers."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    reason = re.sub(r"^[A-Z_]+: (?=.)|\[libpq\] ", "", lines[0])
    reason = re.sub(r"^Failed to (?:prepare|execute) query(?: '.*?')?: ", "", reason)
    return reason[:500]


def _file(address: DatabaseAddress, writes: bool) -> Path:
    """File of a database: one to read exists, as drivers would create it; one to write is a regular file or new."""
    path = Path(address.place)
    if writes and (path.is_symlink() or (path.exists() and not path.is_file())):
        raise LostSalesError(f"{path} cannot be written to: it is no regular file")
    if not writes and not path.is_file():
        raise LostSalesError(f"there is no database {path}")
    return path


@contextmanager
def _postgresql(address: DatabaseAddress, writes: bool) -> Iterator[Session]:
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(address.place) as connection:
        try:
            with connection.cursor() as cursor:
                if not writes:
                    cursor.execute("SET TRANSACTION READ ONLY")
                yield _Postgresql(cursor)
            (connection.commit if writes else connection.rollback)()
        except BaseException:
            try:
                connection.rollback()
            except Exception as error:  # after a failure the connection may be gone, with nothing to roll back
                if not _is_of_driver(error):
                    raise
            raise


class _Postgresql(Session):
    def execute(self, sql: str) -> Any:
        self.connection.execute(sql)  # a cursor; that of some versions returns nothing
        return self.connection

    def reader(self, sql: str) -> "pa.RecordBatchReader":
        return self.execute(sql).fetch_record_batch()

    def load(self, name: str, table: "pa.Table") -> None:
        self.connection.adbc_ingest(name, table, mode="create", temporary=True)


@contextmanager
def _duckdb(address: DatabaseAddress, writes: bool) -> Iterator[Session]:
    import pyarrow  # noqa: F401, rows travel as its batches

    path = _file(address, writes)
    config: dict[str, Any] = {
        "autoload_known_extensions": False,
        "autoinstall_known_extensions": False,
        "enable_external_access": False,  # a view in the file must not read other files
        "memory_limit": f"{int(memory_limit())}B",
    }
    with duckdb.connect(path, read_only=not writes, config=config) as connection:
        connection.execute("SET enable_progress_bar = false")
        connection.execute("BEGIN")
        yield _DuckDB(connection)
        connection.execute("COMMIT" if writes else "ROLLBACK")


class _DuckDB(Session):
    def reader(self, sql: str) -> "pa.RecordBatchReader":
        found = self.connection.sql(sql)
        if found is None:
            raise LostSalesError("a query must return rows, but this statement returns none")
        return found.to_arrow_reader(BATCH_ROWS)

    def load(self, name: str, table: "pa.Table") -> None:
        self.connection.register(f"{name}_rows", table)
        self.connection.execute(f"CREATE TEMPORARY TABLE {name} AS SELECT * FROM {name}_rows")


@contextmanager
def _sqlite(address: DatabaseAddress, writes: bool) -> Iterator[Session]:
    path = _file(address, writes)
    uri = f"{path.absolute().as_uri()}?mode={'rwc' if writes else 'ro'}"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None)
    try:
        connection.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
        yield Sqlite(connection)
        connection.execute("COMMIT" if writes else "ROLLBACK")
    finally:
        connection.close()
