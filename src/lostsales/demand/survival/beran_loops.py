"""The compiled loops behind Beran's estimator: neighbours of a row, and what their product-limit curve says there."""

import numpy as np

from lostsales._jit import compiled
from lostsales.demand.survival.curve import tail_area
from lostsales.types import Array

GROWTH = 1.5
WIDEST = 1e4

_tail_area = compiled(tail_area)


@compiled
def _first_from(points: Array, value: float) -> int:
    """The first of the points, in order of their first coordinate, that does not lie below `value`."""
    low, high = 0, len(points)
    while low < high:
        middle = (low + high) // 2
        if points[middle, 0] < value:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def _near(
    point: Array, points: Array, known: Array, clock: Array, lower: int, upper: int, h: float, events: bool,
    place: Array, weight: Array,
) -> int:  # fmt: skip
    """Fill `place` and `weight` with the rows within h of `point`, or only those with known demand."""
    count = 0
    for row in range(_first_from(points, point[0] - h), len(points)):
        if points[row, 0] > point[0] + h:
            break
        if (events and not known[row]) or lower <= clock[row] < upper:
            continue
        distance, axis = 0.0, 0
        while axis < points.shape[1] and distance < h * h:
            distance += (points[row, axis] - point[axis]) ** 2
            axis += 1
        if distance < h * h:
            place[count], weight[count] = row, 1.0 - distance / (h * h)
            count += 1
    return count


@compiled
def neighbours(
    point: Array, points: Array, demand: Array, known: Array, clock: Array, lower: int, upper: int, h: float,
    least_events: int, aligned: bool, integer: bool, demand_max: float,
    place: Array, weight: Array, level: Array, event: Array,
) -> int:  # fmt: skip
    """Fill the last four with the neighbours of `point` in order of demand; returns how many there are.

    The bandwidth grows until there are enough with known demand. Aligned, each is moved by what the distance is
    expected to make of its demand, in whole units where demand is integer.
    """
    widest = WIDEST * h
    while h <= widest and _near(point, points, known, clock, lower, upper, h, True, place, weight) < least_events:
        h *= GROWTH
    count: int = _near(point, points, known, clock, lower, upper, h, False, place, weight)
    for i in range(count):
        row = place[i]
        event[i] = known[row]
        shift = 0.0
        if aligned:
            for axis in range(points.shape[1]):
                shift += point[axis] - points[row, axis]
            if integer:
                shift = np.rint(shift)
        level[i] = min(demand[row] + shift, demand_max)
        if known[row]:
            level[i] = max(level[i], 0.0)
    order = np.argsort(level[:count])
    place[:count], weight[:count] = place[:count][order], weight[:count][order]
    level[:count], event[:count] = level[:count][order], event[:count][order]
    return count


@compiled
def tied(level: Array, event: Array, weight: Array, count: int, i: int, at: float) -> tuple[int, float, float]:
    """The first neighbour beyond the level `at`, and the weight of the events at it and of all that leave there."""
    died, gone = 0.0, 0.0
    while i < count and level[i] == at:
        gone += weight[i]
        if event[i]:
            died += weight[i]
        i += 1
    return i, died, gone


@compiled
def excess_of(
    level: Array, event: Array, weight: Array, count: int, point: float, least: float,
    demand_max: float, tail: int, integer: bool,
) -> tuple[float, float]:  # fmt: skip
    """Mean excess, and the share of the mass above `point` that the tail rule places, for neighbours in order."""
    at_risk = weight[:count].sum()
    survival, at_point, area, last = 1.0, 1.0, 0.0, 0.0
    i = 0
    while i < count:
        here = level[i]
        if here > least:
            area += survival * (here - max(last, least))
        i, died, gone = tied(level, event, weight, count, i, here)
        if died > 0.0:
            survival *= max(0.0, 1.0 - died / at_risk)
            if survival < 1e-12:
                survival = 0.0
        at_risk = max(at_risk - gone, 1e-300)
        last = here
        if here <= point:
            at_point = survival
    if at_point <= 0.0:
        return (np.nan if tail == 2 else 0.0 if tail == 3 else demand_max - least), 1.0
    share, start = survival / at_point, max(last, least)
    if survival > 0.0 and start < demand_max and tail != 3:
        if tail == 2:
            return np.nan, share
        rate = -np.log(survival) / last if tail == 1 and survival < 1.0 and last > 0.0 else 0.0
        area += _tail_area(survival, last, start, demand_max, rate, integer)
        if point > last:
            at_point *= np.exp(-rate * ((np.floor(point) if integer else point) - last))
    return area / at_point, share


@compiled
def mean_excess_loop(
    points: Array, point: Array, least: Array, at: Array, demand: Array, known: Array, clock: Array, unit: Array,
    h: float, least_events: int, aligned: bool, integer: bool, demand_max: float, tail: int, counts: Array,
    excess: Array, share: Array, above: Array, error: Array,
) -> None:  # fmt: skip
    """Mean excess, share of the tail, known demands above `least`, and bootstrap standard error, row by row."""
    place, weight, drawn = np.empty(len(at), dtype=np.int64), np.empty(len(at)), np.empty(len(at))
    level, event = np.empty(len(at)), np.empty(len(at), dtype=np.bool_)
    replicates = len(counts)
    for row in range(len(points)):
        count = neighbours(
            points[row], at, demand, known, clock, 0, 0, h, least_events, aligned, integer, demand_max,
            place, weight, level, event,
        )  # fmt: skip
        excess[row], share[row] = excess_of(
            level, event, weight, count, point[row], least[row], demand_max, tail, integer
        )
        above[row] = 0
        for i in range(count):
            if event[i] and level[i] > least[row]:
                above[row] += 1
        total, square = 0.0, 0.0
        for replicate in range(replicates):
            for i in range(count):
                drawn[i] = weight[i] * counts[replicate, unit[place[i]]]
            # A resample without anyone at risk says nothing new: the row's own curve stands in.
            value = 0.0
            if drawn[:count].sum() > 0.0:
                again, _ = excess_of(level, event, drawn, count, point[row], least[row], demand_max, tail, integer)
                value = again - excess[row]
            total += value
            square += value * value
        error[row] = np.nan
        if replicates > 1:
            error[row] = np.sqrt(max(square - total * total / replicates, 0.0) / (replicates - 1))


@compiled
def brier_loop(
    points: Array, own: Array, least: Array, lower: Array, upper: Array,
    at: Array, demand: Array, known: Array, clock: Array,
    h: float, least_events: int, aligned: bool, integer: bool, demand_max: float, scores: Array,
) -> None:  # fmt: skip
    """Integral over c in [0, least) of (1{own > c} - SF(c))^2, row by row."""
    place, weight = np.empty(len(at), dtype=np.int64), np.empty(len(at))
    level, event = np.empty(len(at)), np.empty(len(at), dtype=np.bool_)
    for row in range(len(points)):
        count = neighbours(
            points[row], at, demand, known, clock, lower[row], upper[row], h, least_events, aligned, integer,
            demand_max, place, weight, level, event,
        )  # fmt: skip
        at_risk = weight[:count].sum()
        survival, last, score = 1.0, 0.0, 0.0
        i = 0
        while last < least[row]:
            edge = level[i] if i < count else least[row]
            here = max(min(edge, least[row]), last)
            passed = min(max(own[row], last), here)
            score += (passed - last) * (1.0 - survival) ** 2 + (here - passed) * survival**2
            i, died, gone = tied(level, event, weight, count, i, edge)
            if died > 0.0:
                survival *= max(0.0, 1.0 - died / at_risk)
            at_risk = max(at_risk - gone, 1e-300)
            last = here
        scores[row] = score


@compiled
def hazard_loop(
    points: Array, own: Array, lower: Array, upper: Array,
    at: Array, demand: Array, known: Array, clock: Array, least: Array,
    h: float, least_events: int, aligned: bool, integer: bool, demand_max: float, hazard: Array, supply: Array,
) -> None:  # fmt: skip
    """Cumulated hazard up to `own`, and the mean of what was available, row by row."""
    place, weight = np.empty(len(at), dtype=np.int64), np.empty(len(at))
    level, event = np.empty(len(at)), np.empty(len(at), dtype=np.bool_)
    for row in range(len(points)):
        count = neighbours(
            points[row], at, demand, known, clock, lower[row], upper[row], h, least_events, aligned, integer,
            demand_max, place, weight, level, event,
        )  # fmt: skip
        at_risk, mean = weight[:count].sum(), 0.0
        for i in range(count):
            mean += weight[i] * least[place[i]]
        supply[row] = mean / at_risk if at_risk > 0.0 else np.nan
        cumulated = 0.0
        i = 0
        while i < count and level[i] <= own[row]:
            here = level[i]
            i, died, gone = tied(level, event, weight, count, i, here)
            cumulated += died / at_risk
            at_risk = max(at_risk - gone, 1e-300)
        hazard[row] = cumulated
