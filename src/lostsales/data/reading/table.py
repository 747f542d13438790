"""Tables from anywhere (CSV, Parquet, Excel, pandas, polars, Arrow), by column, and the files that a source names."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import Any, Protocol, cast, runtime_checkable

from lostsales.data.databases.query import DatabaseQuery
from lostsales.data.labels import by_appearance
from lostsales.data.reading.cells import Cells
from lostsales.data.reading.files import PARQUET, is_parquet, open_files
from lostsales.data.reading.minari import is_minari, minari_table
from lostsales.data.reading.sheets import EXCEL, is_excel
from lostsales.errors import LostSalesError
from lostsales.types import Array, Ints

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
        raise LostSalesError(
            f"the files of a log must be of one kind (CSV, Parquet or workbooks), but {source} has several"
        )
    return found


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
        if is_minari(path):
            return (path,)
        if path.is_dir():
            found = sorted(each for each in path.iterdir() if _is_table(each) and each.suffix.lower() != ".txt")
            if not found:
                raise LostSalesError(f"the folder {path} must have a .csv, .parquet or .xlsx file, but it has none")
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
    return (
        name.endswith(CSV + PARQUET + EXCEL)
        and not name.endswith(DROPPED)
        and not name.startswith(".")
        and path.is_file()
    )


def _kind(path: Path) -> str:
    name = path.name.lower()
    if not name.endswith(CSV + PARQUET + EXCEL):
        raise LostSalesError(f"{_printable(path)} must end in .csv, .parquet or .xlsx")
    try:
        path.name.encode()
    except UnicodeEncodeError:
        raise LostSalesError(f"the name of a file must be UTF-8, but {_printable(path)} is not; rename it") from None
    return "parquet" if is_parquet(path) else "workbook" if is_excel(path) else "csv"


def _printable(path: Path) -> str:
    return str(path).encode(errors="backslashreplace").decode()


@runtime_checkable
class Table(Protocol):
    """The protocol of a source that the gate can read."""

    @property
    def name(self) -> str:
        """The name in messages."""
        ...

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        ...

    @property
    def rows(self) -> int:
        """Number of rows."""
        ...

    def place(self, row: int) -> str:
        """The name of a row in messages."""
        ...

    def cells(self, column: str) -> Cells:
        """A column as it came."""
        ...

    def labels(self, column: str) -> tuple[Ints, Array]:
        """Codes in order of first appearance (-1 where missing) and the text behind each code."""
        ...

    def shown(self, column: str, rows: Ints) -> Array:
        """The values of some rows as they came, as objects."""
        ...


@dataclass(frozen=True)
class SomeRows:
    """Some rows of a table."""

    table: Table
    kept: Ints  # (rows,) rising rows of the table

    @property
    def name(self) -> str:
        """The name in messages."""
        return self.table.name

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.table.columns

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.kept)

    def place(self, row: int) -> str:
        """The name of a row in messages."""
        return self.table.place(int(self.kept[row]))

    def cells(self, column: str) -> Cells:
        """A column as it came."""
        return self.table.cells(column).take(self.kept)

    def labels(self, column: str) -> tuple[Ints, Array]:
        """Codes in order of first appearance (-1 where missing) and the text behind each code."""
        codes, texts = self.table.labels(column)
        again, found = by_appearance(codes[self.kept], missing=-1)
        return again, texts[found]

    def shown(self, column: str, rows: Ints) -> Array:
        """The values of some rows as they came, as objects."""
        return self.table.shown(column, self.kept[rows])


def open_table(source: Any, reads: Collection[str] | None = None) -> Table:
    """`source` is a path, a folder, a pattern, a list of paths, a query, or a pandas, polars or Arrow table.

    One that is open already is returned unchanged.

    With `reads`, columns other than these need not be readable.
    """
    if hasattr(type(source), "cells"):  # a Table; isinstance would ask a lazy frame for its columns
        return cast("Table", source)
    if isinstance(source, str | Path) or (
        isinstance(source, list | tuple) and source and all(isinstance(each, str | Path) for each in source)
    ):
        if isinstance(source, list | tuple) or not is_minari(Path(source)):
            return open_files(files_of(source), reads)
        source = minari_table(Path(source))
    import narwhals as nw

    from lostsales.data.reading.frames import FrameTable, collected

    try:
        if isinstance(source, DatabaseQuery):
            table, names = source.table(reads)
            return FrameTable(nw.from_native(table, eager_only=True), names, str(source))
        native = nw.from_native(_named_by_text(source))
        frame, columns = collected(native, reads) if isinstance(native, nw.LazyFrame) else (native, native.columns)
        return FrameTable(frame, tuple(columns))
    except TypeError:
        wanted = "a path (CSV, Parquet, Excel) or a pandas, polars or Arrow table"
        raise LostSalesError(f"a log is read from {wanted}, but a {type(source).__name__} came") from None
    except nw.exceptions.DuplicateError as error:
        raise LostSalesError(f"the columns of a table must have different names: {error}") from None


def _named_by_text(source: Any) -> Any:
    """A table of pandas may name its columns by numbers or anything else, which no problem and no message can."""
    if not (hasattr(source, "set_axis") and hasattr(source, "columns")):
        return source
    names = list(source.columns)
    return source if all(isinstance(each, str) for each in names) else source.set_axis(list(map(str, names)), axis=1)
