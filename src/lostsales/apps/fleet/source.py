"""Sources of the rows of a fleet, all read as Parquet files and never held in memory as a whole."""

from dataclasses import dataclass
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

from lostsales.data.databases.query import DatabaseQuery, sales_source
from lostsales.data.output_files import replacing
from lostsales.data.reading.cells import connect
from lostsales.data.reading.files import execute, is_parquet, open_files, parquet_kinds
from lostsales.data.reading.table import files_of, problem_beside
from lostsales.data.sql_names import identifier, quoted
from lostsales.errors import LostSalesError

FETCHED = "fetched.parquet"


@dataclass(frozen=True)
class FileSource:
    """A Parquet or CSV file, a folder of them, or a pattern."""

    path: Path
    is_fixed: bool = True

    @property
    def name(self) -> str:
        """Path as text."""
        return str(self.path)

    @property
    def problem_file(self) -> Path | None:
        """TOML file next to the rows."""
        return problem_beside(self.path)

    def identity(self) -> dict[str, Any]:
        """Name and checksum of every file."""
        return {"files": {path.name: _checksum(path) for path in files_of(self.path)}}

    def parquet_files(self, folder: Path) -> tuple[Path, ...]:
        """Parquet files; CSV is converted first. Every file must have the same columns and types."""
        paths = files_of(self.path)
        if is_parquet(paths[0]):
            _check_kinds(paths)
            return paths
        table = open_files(paths, keep=False)
        named = ", ".join(f"{place} AS {identifier(column)}" for column, (place, _) in table.kinds.items())
        target = folder / FETCHED
        with replacing(target) as temporary:
            options = "FORMAT parquet, USE_TMP_FILE false"  # ours is one
            copy = f"COPY (SELECT {named} FROM log) TO {quoted(str(temporary.absolute()))} ({options})"
            execute(table.connection, self.name, copy)
        return (target,)


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


FleetSource = FileSource | QuerySource


def source_of(source: str | Path, query: str | None = None) -> FleetSource:
    """Source of a path, or of the address of a database with a query."""
    found = sales_source(source, query)
    return QuerySource(found) if isinstance(found, DatabaseQuery) else FileSource(Path(found))


def _checksum(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise LostSalesError(f"{path} cannot be read: {error.strerror}") from None


def _check_kinds(paths: tuple[Path, ...]) -> None:
    """Raise unless each column has one type in all files, so that equal values are equal in every file."""
    with connect() as connection:
        first = parquet_kinds(connection, paths[0])
        for path in paths[1:]:
            kinds = parquet_kinds(connection, path)
            if missing := sorted(first.keys() ^ kinds.keys()):
                which = paths[0] if missing[0] in kinds else path
                raise LostSalesError(f"the files of a log must have the same columns, but {which} lacks {missing[0]!r}")
            for column, kind in kinds.items():
                if kind != first[column]:
                    raise LostSalesError(
                        f"a column must have one type in all files, but {column!r} is {first[column]} in {paths[0]} "
                        f"and {kind} in {path}: write both with the same type"
                    )
