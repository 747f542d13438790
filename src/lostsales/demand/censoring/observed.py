"""Demand as censored data: observed, or only known to lie above a point and, where something tells, below another."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lostsales.data.demand_bounds import demand_bounds
from lostsales.data.log import SalesLog
from lostsales.types import Bools, Floats


@dataclass(frozen=True, eq=False)
class Observed:
    """Demand as censored data: observed, or above `censored_above`, and then at least `available`."""

    demand: Floats  # (rows,) the demand where it is observed, else `censored_above`
    is_observed: Bools  # (rows,)
    censored_above: Floats  # (rows,) a stock-out shows only that demand lies above this
    available: Floats  # (rows,) units that customers found, the least that a hidden demand can be
    at_most: Floats  # (rows,) the most that a hidden demand can be, inf where nothing tells
    is_partial: Bools  # (rows,) out of stock for part of the period: `available` is the sales, and depends on demand
    integer: bool  # demand comes in whole units

    @cached_property
    def sample(self) -> tuple[Floats, Bools]:
        """Demands to learn from as right-censored data, and which are events: an interval counts by its middle."""
        has_end = np.isfinite(self.at_most) & ~self.is_observed
        if not has_end.any():
            return self.demand, self.is_observed
        middle = (self.available + np.where(has_end, self.at_most, self.available)) / 2
        return np.where(has_end, np.rint(middle) if self.integer else middle, self.demand), self.is_observed | has_end

    @cached_property
    def is_learnable(self) -> Bools:
        """Rows to learn a law of demand from, (rows,).

        Laws of censored demand need a censoring level that does not depend on demand. The sales of a row that was out
        of stock for part of the period do, so that without an upper end it only bounds its own demand.
        """
        return ~self.is_partial | np.isfinite(self.at_most)

    @cached_property
    def least(self) -> Floats:
        """The demand where it is observed, else the least that it can be, (rows,)."""
        return np.where(self.is_observed, self.demand, self.available)

    @cached_property
    def bound(self) -> Floats:
        """The demand where it is observed, else its lower bound: above what was available where a flag says so."""
        least = np.maximum(self.available, np.floor(self.censored_above) + 1.0) if self.integer else self.available
        return np.where(self.is_observed, self.demand, least)

    @property
    def any_observed(self) -> bool:
        """True where at least one demand is observed."""
        return bool(self.is_observed.any())


def observe(log: SalesLog) -> Observed:
    """Read demand off a log, see `lostsales.data.demand_bounds`.

    If a stock-out says only that demand was at least a level, it is censored just below: one unit below where demand
    comes in whole units.
    """
    bounds, level = demand_bounds(log), log.censoring_level
    just_below = level - 1.0 if bounds.integer else np.nextafter(level, -np.inf)
    above = np.where(bounds.is_strict, level, just_below)
    demand = np.where(bounds.is_exact, bounds.demand, above)
    return Observed(demand, bounds.is_exact, above, level, bounds.most, log.is_partial, bounds.integer)
