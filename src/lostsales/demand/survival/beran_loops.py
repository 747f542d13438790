"""The compiled loops behind Beran's estimator: neighbours of a row, and functionals of their product-limit curve."""

from typing import NamedTuple

import numpy as np

from lostsales._jit import compiled
from lostsales.demand.survival import tail as rule
from lostsales.demand.survival.tail import TAIL_LAST, TAIL_REFUSE
from lostsales.types import Bools, Floats, Ints

GROWTH = 1.5
FEW_LEVELS = 1_000  # beyond these levels are sorted in buckets, in linear time
MOST_BUCKETS = 4096  # of such a sort ...
MOST_INSERTED = 64  # ... and entries of one that are sorted by insertion
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
def _has_events(point: Floats, sample: Sample, lower: int, upper: int, h: float, least_events: int) -> bool:
    """Whether so many rows with observed demand lie within h of `point`."""
    points, is_event, clock = sample.points, sample.is_event, sample.clock
    count = 0
    if least_events <= 0:
        return True
    for at in range(_first_from(points, point[0] - h), len(points)):
        if points[at, 0] > point[0] + h:
            break
        if not is_event[at] or lower <= clock[at] < upper:
            continue
        distance, axis = 0.0, 0
        while axis < points.shape[1] and distance < h * h:
            distance += (points[at, axis] - point[axis]) ** 2
            axis += 1
        if distance < h * h:
            count += 1
            if count == least_events:
                return True
    return False


@compiled
def _distance_of_events(point: Floats, sample: Sample, lower: int, upper: int, least_events: int) -> float:
    """Squared distance of the nearest so many rows with observed demand, infinite where there are fewer."""
    points, is_event, clock = sample.points, sample.is_event, sample.clock
    nearest = np.full(least_events, np.inf)
    for at in range(len(points)):
        if not is_event[at] or lower <= clock[at] < upper:
            continue
        distance, axis = 0.0, 0
        while axis < points.shape[1] and distance < nearest[-1]:
            distance += (points[at, axis] - point[axis]) ** 2
            axis += 1
        place = least_events - 1
        if distance < nearest[place]:
            while place > 0 and nearest[place - 1] > distance:
                nearest[place] = nearest[place - 1]
                place -= 1
            nearest[place] = distance
    return float(nearest[-1])


@compiled
def _near(point: Floats, sample: Sample, lower: int, upper: int, h: float, row: Ints, weight: Floats) -> int:
    """Fill `row` and `weight` with the rows within h of `point`."""
    points, clock = sample.points, sample.clock
    count = 0
    for at in range(_first_from(points, point[0] - h), len(points)):
        if points[at, 0] > point[0] + h:
            break
        if lower <= clock[at] < upper:
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
def _rising(values: Floats) -> Ints:
    """The order in which values rise, ties in their own order: in buckets, as most levels are tied or evenly spread."""
    count = len(values)
    order = np.arange(count)
    low, high = np.inf, -np.inf
    for value in values:
        low, high = min(low, value), max(high, value)
    if count < 2 or low == high:
        return order
    buckets = min(count, MOST_BUCKETS)
    per_value = (buckets - 1) / (high - low)
    ends = np.zeros(buckets + 1, dtype=np.int64)
    for value in values:
        ends[int((value - low) * per_value) + 1] += 1
    for bucket in range(buckets):
        ends[bucket + 1] += ends[bucket]
    place = ends[:-1].copy()
    for at in range(count):
        bucket = int((values[at] - low) * per_value)
        order[place[bucket]] = at
        place[bucket] += 1
    # Within a bucket by insertion, which leaves ties as they are; levels far out in a tail may crowd one bucket.
    for bucket in range(buckets):
        start, stop = ends[bucket], ends[bucket + 1]
        low, high = np.inf, -np.inf
        for at in range(start, stop):
            low, high = min(low, values[order[at]]), max(high, values[order[at]])
        if stop - start > MOST_INSERTED and low < high:
            part = order[start:stop].copy()
            order[start:stop] = part[np.argsort(values[part])]
        elif low < high:
            for at in range(start + 1, stop):
                moved, to = order[at], at
                while to > start and values[order[to - 1]] > values[moved]:
                    order[to] = order[to - 1]
                    to -= 1
                order[to] = moved
    return order


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
    if not _has_events(point, sample, lower, upper, h, kernel.least_events):
        wanted = _distance_of_events(point, sample, lower, upper, kernel.least_events)
        while h <= widest and not wanted < h * h:
            h *= GROWTH
    count: int = _near(point, sample, lower, upper, h, row, weight)
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
    order = np.argsort(level[:count]) if count <= FEW_LEVELS else _rising(level[:count])
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
def _with_tail(
    survival: float, at_point: float, area: float, last: float, point: float, least: float, kernel: LocalKernel
) -> tuple[float, float]:
    """Mean excess from the area below a curve up to its `last` level, and the share of the tail rule's mass in it."""
    tail, demand_max, integer = kernel.tail, kernel.demand_max, kernel.integer
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
def excess_of(
    level: Floats, is_event: Bools, weight: Floats, count: int, point: float, least: float, kernel: LocalKernel
) -> tuple[float, float]:
    """Mean excess E[D | D > point] - least of neighbours in order, and the tail rule's share of the mass above."""
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
    found: tuple[float, float] = _with_tail(survival, at_point, area, last, point, least, kernel)
    return found


class Resampled(NamedTuple):
    """Work arrays of one row's curves over all resamples, each (replicates,)."""

    at_risk: Floats
    survival: Floats
    at_point: Floats
    area: Floats
    events: Floats
    gone: Floats


@compiled
def _resampled_error(
    near: Neighbours, count: int, unit: Ints, drawn: Floats, point: float, least: float, mean: float,
    kernel: LocalKernel, work: Resampled,
) -> float:  # fmt: skip
    """Standard deviation of the mean excess over resamples.

    All curves advance together, level by level, so that the inner loops run over resamples, which lie side by side.
    """
    row, weight, level, is_event = near
    replicates = drawn.shape[1]
    at_risk, survival, at_point, area, events, gone = work
    at_risk[:], survival[:], at_point[:], area[:] = 0.0, 1.0, 1.0, 0.0
    for i in range(count):
        times = drawn[unit[row[i]]]
        for r in range(replicates):
            at_risk[r] += weight[i] * times[r]
    any_weight = at_risk > 0.0
    last = 0.0
    i = 0
    while i < count:
        here, any_event = level[i], False
        if here > least:
            width = here - max(last, least)
            for r in range(replicates):
                area[r] += survival[r] * width
        events[:], gone[:] = 0.0, 0.0
        while i < count and level[i] == here:
            times = drawn[unit[row[i]]]
            for r in range(replicates):
                gone[r] += weight[i] * times[r]
            if is_event[i]:
                any_event = True
                for r in range(replicates):
                    events[r] += weight[i] * times[r]
            i += 1
        if any_event:
            for r in range(replicates):
                left = survival[r] * max(0.0, 1.0 - events[r] / at_risk[r])
                survival[r] = left if left >= 1e-12 else 0.0
        for r in range(replicates):
            at_risk[r] = max(at_risk[r] - gone[r], 1e-300)
        last = here
        if here <= point:
            at_point[:] = survival
    total, square = 0.0, 0.0
    for r in range(replicates):
        # A resample with nothing at risk carries no information: the row's own curve stands in.
        value = 0.0
        if any_weight[r]:
            again, _ = _with_tail(survival[r], at_point[r], area[r], last, point, least, kernel)
            value = again - mean
        total += value
        square += value * value
    return float(np.sqrt(max(square - total * total / replicates, 0.0) / (replicates - 1)))


@compiled
def mean_excess_loop(
    points: Floats, point: Floats, least: Floats, sample: Sample, kernel: LocalKernel, drawn: Floats, out: Excess
) -> None:
    """Mean excess, tail share, events above `least` and bootstrap standard error of every row.

    `drawn` (units, replicates) is how often each resample draws a unit.
    """
    near = work_arrays(len(sample.points))
    _, weight, level, is_event = near
    replicates = drawn.shape[1]
    work = Resampled(
        np.empty(replicates), np.empty(replicates), np.empty(replicates), np.empty(replicates), np.empty(replicates),
        np.empty(replicates),
    )  # fmt: skip
    for row in range(len(points)):
        count = neighbours(points[row], sample, 0, 0, kernel, near)
        out.mean[row], out.tail_share[row] = excess_of(level, is_event, weight, count, point[row], least[row], kernel)
        out.events_above[row] = 0
        for i in range(count):
            if is_event[i] and level[i] > least[row]:
                out.events_above[row] += 1
        out.error[row] = np.nan
        if replicates > 1:
            out.error[row] = _resampled_error(
                near, count, sample.unit, drawn, point[row], least[row], out.mean[row], kernel, work
            )


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
