"""Survival curves: how likely demand is to exceed a level."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from lostsales.types import Bools, Floats

Tail = Literal["to_max", "exponential", "last", "refuse"]


class Bound(NamedTuple):
    """How far demand can go, and how it lies where no known demand shows it."""

    demand_max: float
    tail: Tail
    integer: bool


@dataclass(frozen=True, eq=False)
class SurvivalCurve:
    """SF(c) = P(D > c), a right-continuous step function on [0, demand_max].

    It is known up to `end`, the largest observation. Where mass is left beyond, the tail rule says how it lies up to
    `demand_max`: all of it at `demand_max` ("to_max"), falling at the mean rate so far ("exponential", in whole steps
    where demand is integer), all of it just above `end` ("last", Efron's rule, a lower bound), or nowhere ("refuse",
    every answer that needs it is NaN).
    """

    times: Floats  # (steps,) rising
    survival: Floats  # (steps,) SF from each time to the next
    end: float
    demand_max: float
    tail: Tail
    integer: bool

    @property
    def rate(self) -> float:
        """Rate of the exponential tail: the mean hazard up to `end`."""
        left = float(self.survival[-1]) if len(self.survival) else 1.0
        return -float(np.log(left)) / self.end if self.tail == "exponential" and 0 < left < 1 and self.end > 0 else 0.0

    def __call__(self, level: Floats | float) -> Floats:
        """SF at each level."""
        level = np.asarray(level, dtype=np.float64)
        steps = np.r_[1.0, self.survival]
        known: Floats = steps[np.searchsorted(self.times, level, side="right")]
        left = steps[-1]
        if left == 0:
            return known
        beyond = np.floor(level) if self.integer else level
        tail = left * np.exp(-self.rate * np.maximum(beyond - self.end, 0))
        tail = {"refuse": np.nan, "last": 0.0}.get(self.tail, tail)
        return np.where(level >= self.demand_max, 0.0, np.where(level > self.end, tail, known))

    def mean_excess(self, point: float, least: float) -> float:
        """E[D | D > point] - least = integral of SF from `least` to demand_max, over SF(point) (line 489).

        For whole demand the integral of the steps is the sum of SF(c) over c >= least. Where the curve leaves nothing
        above `point`, it says nothing about a demand there: the tail rule places all of it.
        """
        above = float(self(point))
        if not above > 0:
            return {"refuse": float("nan"), "last": 0.0}.get(self.tail, self.demand_max - least)
        edges = np.unique(np.r_[least, self.times[(self.times > least) & (self.times < self.demand_max)], self.end])
        edges = np.r_[edges[(edges >= least) & (edges < self.demand_max)], self.demand_max]
        inside = edges[:-1] < self.end
        area = float(np.sum(np.diff(edges)[inside] * self(edges[:-1][inside])))
        left = self.survival[-1] if len(self.survival) else 1.0
        start = max(least, self.end)
        if left > 0 and start < self.demand_max and self.tail != "last":
            refused = self.tail == "refuse"
            area += np.nan if refused else tail_area(left, self.end, start, self.demand_max, self.rate, self.integer)
        return area / above


def tail_area(left: float, end: float, start: float, stop: float, rate: float, integer: bool) -> float:
    """Integral over [start, stop) of the tail left * exp(-rate (c - end)), in whole steps where demand is integer."""
    if rate == 0.0:
        return left * (stop - start)
    if not integer:
        return float(left / rate * (np.exp(-rate * (start - end)) - np.exp(-rate * (stop - end))))
    area, level = 0.0, np.floor(start)
    while level < stop:
        area += (min(level + 1.0, stop) - max(level, start)) * left * np.exp(-rate * max(level - end, 0.0))
        level += 1.0
    return float(area)


def kaplan_meier(
    times: Floats,
    events: Bools,
    weights: Floats | None = None,
    *,
    demand_max: float | None = None,
    tail: Tail = "to_max",
    integer: bool = True,
) -> SurvivalCurve:
    """The product-limit estimator: SF(c) = prod over z <= c of (1 - events at z / at risk at z).

    At a tie events come first: who was censored at z was still there when demand reached z.

    >>> curve = kaplan_meier(np.array([1.0, 2.0, 2.0, 3.0]), np.array([True, True, False, True]))
    >>> curve(np.array([0.0, 1.0, 2.0, 3.0]))
    array([1.  , 0.75, 0.5 , 0.  ])
    """
    order = np.argsort(times, kind="stable")
    weight = np.ones(len(times)) if weights is None else weights[order]
    levels, first = np.unique(times[order], return_index=True)
    if not len(levels):
        return SurvivalCurve(np.zeros(0), np.zeros(0), 0.0, demand_max or 0.0, tail, integer)
    died = np.add.reduceat(weight * events[order], first)
    at_risk = np.cumsum(np.add.reduceat(weight, first)[::-1])[::-1]
    steps = died > 0
    survival = np.cumprod(np.maximum(1 - died[steps] / at_risk[steps], 0.0))
    # Rounding must not leave a crumb of mass where everyone at risk had the event.
    survival[survival < 1e-12] = 0.0
    end = float(levels[-1])
    return SurvivalCurve(levels[steps], survival, end, end if demand_max is None else demand_max, tail, integer)
