"""A query as a source of rows: as one table, or batch by batch if it does not fit in memory."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lostsales.data.calendar.clock import DAY
from lostsales.data.databases.address import DatabaseAddress, is_address
from lostsales.data.databases.sessions import session
from lostsales.data.memory import FEWER, check_memory, memory_limit
from lostsales.errors import LostSalesError

if TYPE_CHECKING:
    import pyarrow as pa

FIRST_DAY, LAST_DAY = -719_162, 2_932_896  # first and last day of the years 1 to 9999, counted from 1970


@dataclass(frozen=True)
class DatabaseQuery:
    """A query on a database; reading it changes nothing there.

    Examples
    --------
    >>> str(DatabaseQuery(DatabaseAddress.of("postgresql://ann:secret@db/shop"), "SELECT * FROM sales"))
    'postgresql://ann@db/shop'

    """

    address: DatabaseAddress
    sql: str = field(repr=False)

    def __str__(self) -> str:
        """Address of the database, without secrets."""
        return str(self.address)

    @property
    def name(self) -> str:
        """Name for pages: the address, without secrets."""
        return str(self)

    @contextmanager
    def batches(self, columns: Collection[str] | None = None) -> Iterator[Iterator["pa.RecordBatch"]]:
        """Rows in record batches of plain types, never all at once; only the given columns, if any.

        A batch has a few megabytes, or 65,536 rows.
        """
        with session(self.address) as transaction:
            reader = transaction.reader(self.sql)
            yield (_plain(batch, columns) for batch in reader)

    def table(self, reads: Collection[str] | None = None) -> tuple["pa.Table", tuple[str, ...]]:
        """All rows of the columns in `reads`, and the names of all columns."""
        import pyarrow as pa

        with session(self.address) as transaction:
            reader = transaction.reader(self.sql)
            names = tuple(reader.schema.names)
            empty = _plain(pa.RecordBatch.from_pylist([], schema=reader.schema), reads)
            found, size, most = [], 0, memory_limit()
            for batch in reader:
                found.append(_plain(batch, reads))
                size += found[-1].nbytes
                check_memory(f"{self} with more than {sum(map(len, found)):,} rows", size, most, FEWER)
            return pa.Table.from_batches(found, empty.schema), names


def sales_source(source: Any, query: str | None) -> Any:
    """Source of a log: a query if one is given or the source is an address, else the source unchanged."""
    if isinstance(source, DatabaseQuery):
        return source
    if query is None and not is_address(source):
        return source
    if not isinstance(source, str | Path):
        raise LostSalesError(f"a query needs the address of a database, but a {type(source).__name__} came")
    address = DatabaseAddress.of(str(source))
    if query is None or not query.strip():
        raise LostSalesError(f"a log from {address} needs a query (--query), such as SELECT * FROM sales")
    if "\0" in query:
        raise LostSalesError("a query must be text, but it has a NUL character")
    return DatabaseQuery(address, query)


def _plain(batch: "pa.RecordBatch", columns: Collection[str] | None) -> "pa.RecordBatch":
    """Batch in types that every library knows; decimals become text, which is parsed exactly when the log is read."""
    import pyarrow as pa

    fields = [each for each in batch.schema if columns is None or each.name in columns] or list(batch.schema)[:1]
    arrays = [_plain_column(batch.column(batch.schema.get_field_index(each.name)), each) for each in fields]
    return pa.RecordBatch.from_arrays(arrays, [each.name for each in fields])


def _plain_column(array: Any, described: "pa.Field") -> Any:
    import pyarrow as pa

    metadata = described.metadata or {}
    if (
        metadata.get(b"POSTGRESQL:type") == b"money"
    ):  # arrives as whole cents, or the smallest unit of the server's currency
        raise LostSalesError(f"column {described.name!r} is of type money, which has no unit here: cast it to numeric")
    if isinstance(array.type, pa.UuidType):
        return pa.array([None if each is None else str(each) for each in array.to_pylist()], pa.string())
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    _check_moments(array, described.name)
    return array


def _check_moments(array: Any, name: str) -> None:
    """Raise if a date or time is infinite; drivers return that as a number outside the years 1 to 9999."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_date32(array.type):
        days, a_day = array.cast(pa.int32()), 1
    elif pa.types.is_timestamp(array.type) and array.type.unit == "us":
        days, a_day = array.cast(pa.int64()), DAY
    else:
        return
    ends = pc.min_max(days).as_py()
    if ends["min"] is not None and (ends["min"] < FIRST_DAY * a_day or ends["max"] >= (LAST_DAY + 1) * a_day):
        raise LostSalesError(f"column {name!r} must have dates of the years 1 to 9999, but it has an infinite one")
