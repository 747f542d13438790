"""The rows of a fleet from a database: fetched once, batch by batch, into a Parquet file of the store."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from lostsales.apps.fleet.source import FETCHED
from lostsales.data.output_files import replacing
from lostsales.errors import LostSalesError

if TYPE_CHECKING:
    import pyarrow as pa


class Query(Protocol):
    """A query whose text in messages, `str(query)`, holds no password."""

    @property
    def sql(self) -> str:
        """The query itself."""
        ...

    def batches(self) -> AbstractContextManager[Iterator["pa.RecordBatch"]]:
        """The rows in record batches of the same schema, never all of them at once."""
        ...


@dataclass(frozen=True)
class QuerySource:
    """A query on a database; what it returns may change, so a finished version is never taken for its rows."""

    query: Query
    is_fixed: bool = False

    @property
    def name(self) -> str:
        """The address."""
        return str(self.query)

    @property
    def problem_file(self) -> Path | None:
        """None: a problem must be given."""
        return None

    def identity(self) -> dict[str, Any]:
        """Address and checksum of the query."""
        return {"database": self.name, "query": sha256(self.query.sql.encode()).hexdigest()}

    def parquet_files(self, folder: Path) -> tuple[Path, ...]:
        """Fetch the rows into a folder."""
        import pyarrow.parquet as pq

        target = folder / FETCHED
        with replacing(target) as temporary, self.query.batches() as batches:
            first = next(batches, None)
            if first is None:
                raise LostSalesError(f"{self.name} must have rows of at least one product, but the query has none")
            with pq.ParquetWriter(temporary, first.schema) as writer:
                writer.write_batch(first)
                for batch in batches:
                    writer.write_batch(batch)
        return (target,)
