"""Tables from anywhere (CSV, Parquet, pandas, polars, Arrow), one column at a time, as numpy arrays."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast, runtime_checkable

from lostsales.data.databases.query import DatabaseQuery
from lostsales.data.labels import by_appearance
from lostsales.data.reading.cells import Cells
from lostsales.errors import LostSalesError
from lostsales.types import Array, Ints


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
        from lostsales.data.reading.files import open_files
        from lostsales.data.reading.paths import files_of

        return open_files(files_of(source), reads)
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
        wanted = "a path (CSV, Parquet) or a pandas, polars or Arrow table"
        raise LostSalesError(f"a log is read from {wanted}, but a {type(source).__name__} came") from None
    except nw.exceptions.DuplicateError as error:
        raise LostSalesError(f"the columns of a table must have different names: {error}") from None


def _named_by_text(source: Any) -> Any:
    """A table of pandas may name its columns by numbers or anything else, which no problem and no message can."""
    if not (hasattr(source, "set_axis") and hasattr(source, "columns")):
        return source
    names = list(source.columns)
    return source if all(isinstance(each, str) for each in names) else source.set_axis(list(map(str, names)), axis=1)
