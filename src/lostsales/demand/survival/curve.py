"""Survival curves SF(c) = P(D > c) as value objects, and the Kaplan-Meier estimator."""

from dataclasses import dataclass

import numpy as np

from lostsales.demand.survival.tail import (
    TAIL_CODES,
    TAIL_LAST,
    TAIL_REFUSE,
    Tail,
    excess_without_mass,
    tail_area,
    tail_rate,
)
from lostsales.types import Bools, Floats


@dataclass(frozen=True, eq=False)
class SurvivalCurve:
    """Survival curve SF(c) = P(D > c), a right-continuous step function on [0, demand_max].

    It is identified up to `end`, the largest observation; the tail rule places the mass beyond.
    """

    times: Floats  # (steps,) rising
    survival: Floats  # (steps,) SF from each time to the next
    end: float
    demand_max: float
    tail: Tail
    integer: bool

    @property
    def _left(self) -> float:
        """Survival at the end, SF(end)."""
        return float(self.survival[-1]) if len(self.survival) else 1.0

    @property
    def rate(self) -> float:
        """Rate of the exponential tail: the mean hazard up to `end`."""
        return float(tail_rate(TAIL_CODES[self.tail], self._left, self.end))

    def __call__(self, level: Floats | float) -> Floats:
        """Survival SF at each level."""
        level = np.asarray(level, dtype=np.float64)
        steps = np.r_[1.0, self.survival]
        inside: Floats = steps[np.searchsorted(self.times, level, side="right")]
        left = steps[-1]
        if left == 0:
            return inside
        beyond = np.floor(level) if self.integer else level
        tail = left * np.exp(-self.rate * np.maximum(beyond - self.end, 0))
        tail = {TAIL_REFUSE: np.nan, TAIL_LAST: 0.0}.get(TAIL_CODES[self.tail], tail)
        return np.where(level >= self.demand_max, 0.0, np.where(level > self.end, tail, inside))

    def mean_excess(self, point: float, least: float) -> float:
        """Mean excess E[D | D > point] - least: integral of SF from `least` to demand_max, over SF(point) (Lemma 4).

        For integer demand the integral of the steps is the sum of SF(c) over c >= least. If the curve leaves no mass
        above `point`, the tail rule places all of it.
        """
        above, tail = float(self(point)), TAIL_CODES[self.tail]
        if not above > 0:
            return excess_without_mass(tail, self.demand_max - least)
        edges = np.unique(np.r_[least, self.times[(self.times > least) & (self.times < self.demand_max)], self.end])
        edges = np.r_[edges[(edges >= least) & (edges < self.demand_max)], self.demand_max]
        inside = edges[:-1] < self.end
        area = float(np.sum(np.diff(edges)[inside] * self(edges[:-1][inside])))
        left, start = self._left, max(least, self.end)
        if left > 0 and start < self.demand_max and tail != TAIL_LAST:
            refused = tail == TAIL_REFUSE
            area += np.nan if refused else tail_area(left, self.end, start, self.demand_max, self.rate, self.integer)
        return area / above


def kaplan_meier(
    times: Floats,
    is_event: Bools,
    weights: Floats | None = None,
    *,
    demand_max: float | None = None,
    tail: Tail = "to_max",
    integer: bool = True,
) -> SurvivalCurve:
    """Kaplan-Meier (product-limit) estimator: SF(c) = prod over z <= c of (1 - events at z / at risk at z).

    Ties: events come first, as a demand censored at z was still at risk when demand reached z.

    >>> curve = kaplan_meier(np.array([1.0, 2.0, 2.0, 3.0]), np.array([True, True, False, True]))
    >>> curve(np.array([0.0, 1.0, 2.0, 3.0]))
    array([1.  , 0.75, 0.5 , 0.  ])
    """
    order = np.argsort(times, kind="stable")
    weight = np.ones(len(times)) if weights is None else weights[order]
    levels, first = np.unique(times[order], return_index=True)
    if not len(levels):
        return SurvivalCurve(np.zeros(0), np.zeros(0), 0.0, demand_max or 0.0, tail, integer)
    events = np.add.reduceat(weight * is_event[order], first)
    at_risk = np.cumsum(np.add.reduceat(weight, first)[::-1])[::-1]
    steps = events > 0
    survival = np.cumprod(np.maximum(1 - events[steps] / at_risk[steps], 0.0))
    # Rounding must not leave mass if everything at risk had the event.
    survival[survival < 1e-12] = 0.0
    end = float(levels[-1])
    return SurvivalCurve(levels[steps], survival, end, end if demand_max is None else demand_max, tail, integer)
