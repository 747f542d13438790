"""Log whose series differ in size, with the quantities of each in multiples of its own unit."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.data.units import QUANTITIES, counted
from lostsales.demand.censoring.runs import Runs, find_runs
from lostsales.demand.survival.series_law import SeriesLaw, fit_series_law, series_differ, series_units
from lostsales.types import Floats


@dataclass(frozen=True, eq=False)
class OwnCounts:
    """Log in counts of each series; unchanged if series do not differ or have no unit."""

    log: SalesLog
    runs: Runs
    unit: Floats | float  # (rows,) quantity of one count in the original log
    differ: bool  # series differ in size or price

    @classmethod
    def of(cls, log: SalesLog, runs: Runs) -> "OwnCounts":
        """Count the quantities of a log in the unit of each series."""
        if not series_differ(log):
            return cls(log, runs, 1.0, False)
        units = series_units(log)
        if (units == 1).all() or (units == 0).any():
            return cls(log, runs, 1.0, True)
        columns: dict[str, Any] = {}
        for name in QUANTITIES:
            if (each := getattr(log, name)) is not None:
                columns[name] = counted(each, units if len(each) == len(units) != len(log) else units[log.series])
        own = replace(log, **columns)
        return cls(own, find_runs(own, runs.cap), units[log.series], True)

    def law(self, demand_max: float | None, seed: int) -> SeriesLaw | None:
        """Demand model of each series, None if series do not differ.

        The largest demand of a series is its largest sale, or more in proportion if `demand_max` exceeds the largest
        sale of the log.
        """
        if not self.differ:
            return None
        observed, log = self.runs.observed, self.log
        least = np.where(observed.is_observed, observed.demand, observed.available)
        names, part = log.products.names, log.products.of_segment
        most = np.zeros(len(names))
        np.maximum.at(most, part[log.series], least)
        headroom = 1.0 if demand_max is None else demand_max / max(float((least * self.unit).max()), 1e-300)
        return fit_series_law(log, self.runs, headroom * most[part], headroom, seed)
