"""Rows of a fleet from a database: fetched once, batch by batch, into a Parquet file of the store."""

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from lostsales.apps.fleet.source import FETCHED, FileSource, FleetSource
from lostsales.data.databases.query import DatabaseQuery, sales_source
from lostsales.data.output_files import replacing
from lostsales.errors import LostSalesError


@dataclass(frozen=True)
class QuerySource:
    """Query on a database; its rows may change, so that a finished version is never assumed to have them."""

    query: DatabaseQuery
    is_fixed: bool = False

    @property
    def name(self) -> str:
        """Address of the database, without secrets."""
        return str(self.query)

    @property
    def problem_file(self) -> Path | None:
        """Problem file: None, the problem must be given."""
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


def source_of(source: str | Path, query: str | None = None) -> FleetSource:
    """Source of a path, or of the address of a database with a query."""
    found = sales_source(source, query)
    return QuerySource(found) if isinstance(found, DatabaseQuery) else FileSource(Path(found))
