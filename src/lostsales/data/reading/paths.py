"""The files that a source names: a path, a folder, a pattern such as `sales-*.csv`, or a list of paths."""

from collections.abc import Iterable
from glob import glob
from pathlib import Path

from lostsales.data.databases.query import DatabaseQuery
from lostsales.errors import LostSalesError

PARQUET = (".parquet", ".pq")
CSV = (".csv", ".tsv", ".txt", ".csv.gz")
# What `drop_bad_rows` writes; beside the log, it must not become part of it.
DROPPED = ".dropped.csv"


def files_of(source: str | Path | DatabaseQuery | Iterable[str | Path]) -> tuple[Path, ...]:
    """The files in the order in which they are read, those of a folder or pattern by name; the file of a database."""
    if isinstance(source, DatabaseQuery):
        return () if source.address.file is None else (source.address.file,)
    if not isinstance(source, str | Path):
        found = tuple(Path(each) for path in source for each in files_of(path))
        if not found:
            raise LostSalesError("a log is read from one file or several, but the list is empty")
        if twice := sorted({str(path) for path in found if found.count(path) > 1}):
            raise LostSalesError(f"a file must come once, but {', '.join(twice)} comes again")
    elif not str(source):
        raise LostSalesError("a log is read from a file, a folder or a pattern, but the path is empty")
    else:
        found = _files_of(Path(source))
    if len({_kind(path) for path in found}) > 1:
        raise LostSalesError(f"the files of a log must be all CSV or all Parquet, but {source} has both")
    return found


def is_parquet(path: Path) -> bool:
    """True if the file name ends as Parquet files do."""
    return path.suffix.lower() in PARQUET


def problem_beside(source: object) -> Path | None:
    """The TOML file that belongs to a file (`log.toml` beside `log.csv`) or a folder (beside it, or alone in it)."""
    if not isinstance(source, str | Path) or not Path(source).name:
        return None
    path = Path(source)
    try:
        inside = sorted(path.glob("*.toml")) if path.is_dir() else []
        places = [path.with_suffix(".toml"), *(inside if len(inside) == 1 else [])]
        return next((each for each in places if each.is_file()), None)
    except (OSError, ValueError):
        return None


def _files_of(path: Path) -> tuple[Path, ...]:
    try:
        if path.is_dir():
            found = sorted(each for each in path.iterdir() if _is_table(each) and each.suffix.lower() != ".txt")
            if not found:
                raise LostSalesError(f"the folder {path} must have a .csv or .parquet file, but it has none")
            return tuple(found)
        if path.is_file():
            _kind(path)
            return (path,)
        matches = sorted(Path(each) for each in glob(str(path)) if _is_table(Path(each)))
    except OSError as error:
        raise LostSalesError(f"{_printable(path)} cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise LostSalesError(f"{_printable(path)} cannot be read: {error}") from None
    if not matches:
        raise LostSalesError(f"there is no file {_printable(path)}")
    return tuple(matches)


def _is_table(path: Path) -> bool:
    name = path.name.lower()
    return name.endswith(CSV + PARQUET) and not name.endswith(DROPPED) and not name.startswith(".") and path.is_file()


def _kind(path: Path) -> str:
    name = path.name.lower()
    if not name.endswith(CSV + PARQUET):
        raise LostSalesError(f"{_printable(path)} must end in .csv or .parquet")
    try:
        path.name.encode()
    except UnicodeEncodeError:
        raise LostSalesError(f"the name of a file must be UTF-8, but {_printable(path)} is not; rename it") from None
    return "parquet" if is_parquet(path) else "csv"


def _printable(path: Path) -> str:
    return str(path).encode(errors="backslashreplace").decode()
