"""Tail rules: placement of the mass beyond the largest observation, where a survival curve is not identified.

The mass left there lies at `demand_max` ("to_max"), decays up to `demand_max` at the mean hazard so far
("exponential", in whole steps if demand is integer), lies just above the largest observation ("last", Efron's rule, a
lower bound), or is not placed ("refuse": every result that needs it is NaN). The functions are scalar, so that
compiled loops and plain curves share them.
"""

from typing import Literal, NamedTuple

import numpy as np

Tail = Literal["to_max", "exponential", "last", "refuse"]

TAIL_TO_MAX, TAIL_EXPONENTIAL, TAIL_REFUSE, TAIL_LAST = 0, 1, 2, 3
TAIL_CODES: dict[Tail, int] = {
    "to_max": TAIL_TO_MAX,
    "exponential": TAIL_EXPONENTIAL,
    "refuse": TAIL_REFUSE,
    "last": TAIL_LAST,
}


class Bound(NamedTuple):
    """Largest possible demand, and the tail rule up to it."""

    demand_max: float
    tail: Tail
    integer: bool


def tail_rate(tail: int, left: float, end: float) -> float:
    """Rate of the exponential tail, -log SF(end) / end: the mean hazard up to `end`."""
    return -np.log(left) / end if tail == TAIL_EXPONENTIAL and 0.0 < left < 1.0 and end > 0.0 else 0.0


def tail_area(left: float, end: float, start: float, stop: float, rate: float, integer: bool) -> float:
    """Integral over [start, stop) of the tail left * exp(-rate (c - end)), in whole steps if demand is integer."""
    if rate == 0.0:
        return left * (stop - start)
    if not integer:
        return float(left / rate * (np.exp(-rate * (start - end)) - np.exp(-rate * (stop - end))))
    area, level = 0.0, np.floor(start)
    while level < stop:
        area += (min(level + 1.0, stop) - max(level, start)) * left * np.exp(-rate * max(level - end, 0.0))
        level += 1.0
    return float(area)


def excess_without_mass(tail: int, room: float) -> float:
    """Mean excess if the curve leaves no mass above the point; `room` is the distance from there to demand_max."""
    return np.nan if tail == TAIL_REFUSE else 0.0 if tail == TAIL_LAST else room
