"""Attributes of series as numbers: those of the log by name, of an unknown series those of the view."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from lostsales.data.encoding import attribute_columns
from lostsales.data.log import SalesLog
from lostsales.policy.view import View
from lostsales.saved_fields import Axis, numbers, texts
from lostsales.types import Array, Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class SeriesAttributes:
    """The attributes of each series of a log."""

    AXES: ClassVar[dict[str, Axis]] = {"attributes": Axis(least=0)}

    names: Annotated[Array, texts("series")]
    columns: tuple[str, ...]  # attributes; one with text as `name=text`, one column a text
    values: Annotated[Floats, numbers("series", "attributes")]

    @classmethod
    def of(cls, log: SalesLog) -> "SeriesAttributes":
        """From a log; without columns where it has no attributes."""
        return cls(log.names, *attribute_columns(log))

    @classmethod
    def axis_sizes(cls, saved: dict[str, Any]) -> dict[str, int]:
        """Number of attributes."""
        return {"attributes": len(saved["columns"])}

    def places(self, view: View) -> Ints:
        """The place of each series of a view among these, -1 where the log did not have it, (rows,)."""
        place = {name: index for index, name in enumerate(self.names)}
        names = [None] * len(view.stock) if view.names is None else view.names
        return np.array([place.get(name, -1) for name in names], dtype=np.int64)

    def of_view(self, view: View) -> tuple[Floats, Bools]:
        """The attributes of the series of a view, (rows, columns), and which of them the log did not have, (rows,).

        An unknown series has those in the view, and for what these leave open the mean of the log.
        """
        at = self.places(view)
        values, unknown, mean = self.values[at], at < 0, self.values.mean(axis=0)
        values[unknown] = mean
        if view.context is not None and unknown.any():
            values[unknown] = view.context.take(np.flatnonzero(unknown)).values(self.columns, mean)
        return values, unknown
