"""Sources of the rows of a fleet, all read as Parquet files."""

from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path
from typing import Any, Protocol

from lostsales.data.output_files import replacing
from lostsales.data.reading.cells import connect
from lostsales.data.reading.files import execute, is_parquet, open_files, parquet_kinds
from lostsales.data.reading.table import files_of, problem_beside
from lostsales.data.sql_names import identifier, quoted
from lostsales.errors import LostSalesError

FETCHED = "fetched.parquet"


class FleetSource(Protocol):
    """Rows of all products, never all in memory."""

    @property
    def name(self) -> str:
        """Name in messages."""
        ...

    @property
    def problem_file(self) -> Path | None:
        """Problem file that belongs to the source, None if there is none."""
        ...

    @property
    def is_fixed(self) -> bool:
        """True if the same identity means the same rows."""
        ...

    def identity(self) -> dict[str, Any]:
        """Identity of the source, for JSON."""
        ...

    def parquet_files(self, folder: Path) -> tuple[Path, ...]:
        """Parquet files of all rows; rows from elsewhere are fetched into a folder."""
        ...


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
