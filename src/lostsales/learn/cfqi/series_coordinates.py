"""What tells series apart: their scale and their attributes, remembered for the day a policy is asked."""

import warnings
from dataclasses import dataclass

import numpy as np

from lostsales.data.encoding import attribute_columns
from lostsales.data.log import SalesLog
from lostsales.data.scale import mean_observed_demand, rounded_scale, size_range
from lostsales.demand.censoring.runs import Runs
from lostsales.policy.view import View
from lostsales.types import Array, Bools, Floats


@dataclass(frozen=True, eq=False)
class SeriesCoordinates:
    """By series: the scale that divides its units and profits, and its attributes as numbers."""

    names: Array  # (series,) text
    scale: Floats  # (series,)
    columns: tuple[str, ...]  # attributes; one with text as `name=text`, one column a text
    values: Floats  # (series, columns)

    @classmethod
    def of(cls, log: SalesLog, runs: Runs) -> "SeriesCoordinates":
        """From a log; all scales are 1 where its series are of one scale."""
        mean = mean_observed_demand(log, runs.observed.demand, runs.observed.is_observed)
        scale = np.ones(len(mean))
        if (sizes := size_range(mean)) is not None:
            _warn(*sizes)
            scale = rounded_scale(mean)
        columns, values = attribute_columns(log.attributes, len(log.names))
        return cls(log.names, scale, columns, values)

    @property
    def one_scale(self) -> bool:
        """True where nothing is divided."""
        return bool((self.scale == 1).all())

    @property
    def matter(self) -> bool:
        """True where there is anything to tell series apart."""
        return bool(self.columns) or not self.one_scale

    def of_view(self, view: View) -> tuple[Floats, Floats, Bools]:
        """Scale and attributes of the series of a view, and which of them the log never had.

        Those have the scale of their own recent demand and the attributes that are told of them; what is not known is
        taken as usual: the median of the scales, the mean of the attributes.
        """
        about, rows = view.context, len(view.stock)
        place = {name: index for index, name in enumerate(self.names)}
        names = [None] * rows if view.names is None else view.names
        at = np.array([place.get(name, -1) for name in names], dtype=np.int64)
        new = at < 0
        values, scale = self.values[at], self.scale[at]
        values[new], scale[new] = self.values.mean(axis=0), np.median(self.scale)
        if about is not None and new.any():
            recent = about.mean_demand[new]
            scale[new] = np.where((recent > 0) & (not self.one_scale), rounded_scale(recent), scale[new])
            for index, column in enumerate(self.columns):
                name, _, level = column.partition("=")
                if name in about.attributes:
                    texts = about.attributes[name][new]
                    values[new, index] = texts == level if level else texts.astype(np.float64)
        return scale, values, new


def _warn(low: float, high: float) -> None:
    warnings.warn(
        f"one Q is learned for series whose mean demand runs from {low:.3g} to {high:.3g}; each is divided by its own "
        "scale, but series that differ in more than that want attributes that tell them apart, or a fit of their own",
        stacklevel=6,
    )
