"""Rows and columns of Python values as a table: the bodies of a service, or columns that a program has made."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lostsales.data.labels import coded
from lostsales.data.reading.cells import Cells, Texts
from lostsales.data.reading.frames import all_text, cells_of_objects, checked_labels, written
from lostsales.types import Array, Ints


@dataclass(frozen=True, eq=False)
class ColumnTable:
    """Columns of objects or numbers, each (rows,)."""

    values: Mapping[str, Array]
    name: str = "the rows"

    @classmethod
    def of_rows(cls, rows: Sequence[Mapping[str, Any]], name: str = "the rows") -> "ColumnTable":
        """Build a table from records; a column that a record lacks is missing there.

        >>> ColumnTable.of_rows([{"series": "a", "stock": 3}, {"series": "b"}]).shown("stock", np.array([0, 1]))
        array([3, None], dtype=object)
        """
        names = dict.fromkeys(column for row in rows for column in row)
        return cls({name: _objects([row.get(name) for row in rows]) for name in names}, name)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.values)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(next(iter(self.values.values()), ()))

    def place(self, row: int) -> str:
        """The name of a row in messages."""
        return f"row {row}"

    def cells(self, column: str) -> Cells:
        """A column as it came."""
        values = self.values[column]
        if values.dtype.kind in "iuf":
            return Cells(len(values), numbers=values.astype(np.float64))
        if values.dtype.kind == "M":
            return Cells(len(values), moments=values.astype("datetime64[us]"))
        return Cells(len(values), texts=Texts.of(values)) if all_text(values) else cells_of_objects(values)

    def labels(self, column: str) -> tuple[Ints, Array]:
        """Codes in order of first appearance (-1 where missing) and the text behind each code."""
        values = self.values[column]
        if values.dtype.kind in "iufM":
            return coded(values)
        return written(column, *coded(checked_labels(column, values)))

    def shown(self, column: str, rows: Ints) -> Array:
        """The values of some rows as they came."""
        return self.values[column][rows].astype(object)


def _objects(values: list[Any]) -> Array:
    """Objects one by one: a list among them is a value, and no further dimension."""
    objects = np.empty(len(values), dtype=object)
    for at, value in enumerate(values):
        objects[at] = value
    return objects
