"""The compiled loops behind Beran's estimator: neighbours of a row, and functionals of their product-limit curve."""

from typing import NamedTuple

import numpy as np

from lostsales._jit import compiled
from lostsales.demand.survival import tail as rule
from lostsales.demand.survival.tail import TAIL_LAST, TAIL_REFUSE
from lostsales.types import Bools, Floats, Ints

GROWTH = 1.5
WIDEST = 1e4

_tail_area, _tail_rate = compiled(rule.tail_area), compiled(rule.tail_rate)
_excess_without_mass = compiled(rule.excess_without_mass)


class Sample(NamedTuple):
    """Right-censored demands in order of their first coordinate."""

    points: Floats  # (rows, coordinates) in units of demand
    demand: Floats  # (rows,)
    is_event: Bools  # (rows,) demand is observed, not censored
    clock: Ints  # (rows,) see Holdout
    unit: Ints  # (rows,) what a bootstrap draws together
    available: Floats  # (rows,)


class LocalKernel(NamedTuple):
    """Which rows of the sample are neighbours, and what becomes of their demand."""

    bandwidth: float
    least_events: int  # the bandwidth grows until so many neighbours have observed demand
    aligned: bool  # demands are moved by the difference in expected demand
    integer: bool
    demand_max: float
    tail: int  # one of the TAIL_ constants


class Neighbours(NamedTuple):
    """Work arrays of the size of the sample, of which the first `count` entries are filled, in order of level."""

    row: Ints
    weight: Floats
    level: Floats
    is_event: Bools


class Excess(NamedTuple):
    """Output of `mean_excess_loop`, one entry a row."""

    mean: Floats  # E[D | D > point] - least
    tail_share: Floats  # of the mass above `point`, placed by the tail rule
    events_above: Ints  # neighbours with observed demand above `least`
    error: Floats  # standard deviation of the mean over resamples


@compiled
def work_arrays(rows: int) -> Neighbours:
    """Room for all rows of a sample."""
    return Neighbours(np.empty(rows, dtype=np.int64), np.empty(rows), np.empty(rows), np.empty(rows, dtype=np.bool_))


@compiled
def _first_from(points: Floats, value: float) -> int:
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
    point: Floats, sample: Sample, lower: int, upper: int, h: float, events_only: bool, row: Ints, weight: Floats
) -> int:
    """Fill `row` and `weight` with the rows within h of `point`, or only those with observed demand."""
    points, is_event, clock = sample.points, sample.is_event, sample.clock
    count = 0
    for at in range(_first_from(points, point[0] - h), len(points)):
        if points[at, 0] > point[0] + h:
            break
        if (events_only and not is_event[at]) or lower <= clock[at] < upper:
            continue
        distance, axis = 0.0, 0
        while axis < points.shape[1] and distance < h * h:
            distance += (points[at, axis] - point[axis]) ** 2
            axis += 1
        if distance < h * h:
            row[count], weight[count] = at, 1.0 - distance / (h * h)
            count += 1
    return count


@compiled
def neighbours(point: Floats, sample: Sample, lower: int, upper: int, kernel: LocalKernel, near: Neighbours) -> int:
    """Fill `near` with the neighbours of `point` in order of demand, and return how many there are.

    Rows with a clock in [lower, upper) are left out. Aligned, each demand is moved by the difference in expected demand
    to `point`, in whole units where demand is integer.
    """
    points, demand, is_event = sample.points, sample.demand, sample.is_event
    row, weight, level, event = near
    h = kernel.bandwidth
    widest = WIDEST * h
    while h <= widest and _near(point, sample, lower, upper, h, True, row, weight) < kernel.least_events:
        h *= GROWTH
    count: int = _near(point, sample, lower, upper, h, False, row, weight)
    for i in range(count):
        at = row[i]
        event[i] = is_event[at]
        shift = 0.0
        if kernel.aligned:
            for axis in range(points.shape[1]):
                shift += point[axis] - points[at, axis]
            if kernel.integer:
                shift = np.rint(shift)
        level[i] = min(demand[at] + shift, kernel.demand_max)
        if is_event[at]:
            level[i] = max(level[i], 0.0)
    order = np.argsort(level[:count])
    row[:count], weight[:count] = row[:count][order], weight[:count][order]
    level[:count], event[:count] = level[:count][order], event[:count][order]
    return count


@compiled
def tied(level: Floats, is_event: Bools, weight: Floats, count: int, i: int, at: float) -> tuple[int, float, float]:
    """The first neighbour beyond the level `at`, and the weight of the events at it and of all that leave there."""
    events, gone = 0.0, 0.0
    while i < count and level[i] == at:
        gone += weight[i]
        if is_event[i]:
            events += weight[i]
        i += 1
    return i, events, gone


@compiled
def excess_of(
    level: Floats, is_event: Bools, weight: Floats, count: int, point: float, least: float, kernel: LocalKernel
) -> tuple[float, float]:
    """Mean excess E[D | D > point] - least of neighbours in order, and the tail rule's share of the mass above."""
    tail, demand_max, integer = kernel.tail, kernel.demand_max, kernel.integer
    at_risk = weight[:count].sum()
    survival, at_point, area, last = 1.0, 1.0, 0.0, 0.0
    i = 0
    while i < count:
        here = level[i]
        if here > least:
            area += survival * (here - max(last, least))
        i, events, gone = tied(level, is_event, weight, count, i, here)
        if events > 0.0:
            survival *= max(0.0, 1.0 - events / at_risk)
            if survival < 1e-12:
                survival = 0.0
        at_risk = max(at_risk - gone, 1e-300)
        last = here
        if here <= point:
            at_point = survival
    if at_point <= 0.0:
        return _excess_without_mass(tail, demand_max - least), 1.0
    share, start = survival / at_point, max(last, least)
    if survival > 0.0 and start < demand_max and tail != TAIL_LAST:
        if tail == TAIL_REFUSE:
            return np.nan, share
        rate = _tail_rate(tail, survival, last)
        area += _tail_area(survival, last, start, demand_max, rate, integer)
        if point > last:
            at_point *= np.exp(-rate * ((np.floor(point) if integer else point) - last))
    return area / at_point, share


@compiled
def mean_excess_loop(
    points: Floats, point: Floats, least: Floats, sample: Sample, kernel: LocalKernel, counts: Floats, out: Excess
) -> None:
    """Mean excess, tail share, events above `least` and bootstrap standard error of every row.

    `counts` (replicates, units) is how often each resample draws a unit.
    """
    near = work_arrays(len(sample.points))
    row_of, weight, level, is_event = near
    drawn = np.empty(len(sample.points))
    replicates = len(counts)
    for row in range(len(points)):
        count = neighbours(points[row], sample, 0, 0, kernel, near)
        out.mean[row], out.tail_share[row] = excess_of(level, is_event, weight, count, point[row], least[row], kernel)
        out.events_above[row] = 0
        for i in range(count):
            if is_event[i] and level[i] > least[row]:
                out.events_above[row] += 1
        total, square = 0.0, 0.0
        for replicate in range(replicates):
            for i in range(count):
                drawn[i] = weight[i] * counts[replicate, sample.unit[row_of[i]]]
            # A resample with nothing at risk carries no information: the row's own curve stands in.
            value = 0.0
            if drawn[:count].sum() > 0.0:
                again, _ = excess_of(level, is_event, drawn, count, point[row], least[row], kernel)
                value = again - out.mean[row]
            total += value
            square += value * value
        out.error[row] = np.nan
        if replicates > 1:
            out.error[row] = np.sqrt(max(square - total * total / replicates, 0.0) / (replicates - 1))


@compiled
def brier_loop(
    points: Floats, own: Floats, least: Floats, lower: Ints, upper: Ints, sample: Sample, kernel: LocalKernel,
    scores: Floats,
) -> None:  # fmt: skip
    """Integral over c in [0, least) of (1{own > c} - SF(c))^2, row by row."""
    near = work_arrays(len(sample.points))
    _, weight, level, is_event = near
    for row in range(len(points)):
        count = neighbours(points[row], sample, lower[row], upper[row], kernel, near)
        at_risk = weight[:count].sum()
        survival, last, score = 1.0, 0.0, 0.0
        i = 0
        while last < least[row]:
            edge = level[i] if i < count else least[row]
            here = max(min(edge, least[row]), last)
            passed = min(max(own[row], last), here)
            score += (passed - last) * (1.0 - survival) ** 2 + (here - passed) * survival**2
            i, events, gone = tied(level, is_event, weight, count, i, edge)
            if events > 0.0:
                survival *= max(0.0, 1.0 - events / at_risk)
            at_risk = max(at_risk - gone, 1e-300)
            last = here
        scores[row] = score


@compiled
def hazard_loop(
    points: Floats, own: Floats, lower: Ints, upper: Ints, sample: Sample, kernel: LocalKernel, hazard: Floats,
    supply: Floats,
) -> None:  # fmt: skip
    """Cumulative hazard up to `own`, and the neighbours' mean of what was available, row by row."""
    near = work_arrays(len(sample.points))
    row_of, weight, level, is_event = near
    for row in range(len(points)):
        count = neighbours(points[row], sample, lower[row], upper[row], kernel, near)
        at_risk, mean = weight[:count].sum(), 0.0
        for i in range(count):
            mean += weight[i] * sample.available[row_of[i]]
        supply[row] = mean / at_risk if at_risk > 0.0 else np.nan
        cumulative = 0.0
        i = 0
        while i < count and level[i] <= own[row]:
            here = level[i]
            i, events, gone = tied(level, is_event, weight, count, i, here)
            cumulative += events / at_risk
            at_risk = max(at_risk - gone, 1e-300)
        hazard[row] = cumulative
