"""Compiled search for the neighbours of a row, sorted by their demand."""

from typing import NamedTuple

import numpy as np

from lostsales._jit import compiled
from lostsales.types import Bools, Floats, Ints

GROWTH = 1.5  # factor by which the bandwidth grows until enough neighbours have observed demand
FEW_LEVELS = 1_000  # more levels than these are sorted in buckets, in linear time
MOST_BUCKETS = 4096  # buckets of such a sort ...
MOST_INSERTED = 64  # ... and entries of a bucket that are sorted by insertion
WIDEST = 1e4  # most that the bandwidth may grow in all


class SampleRows(NamedTuple):
    """Right-censored demands, sorted by their first coordinate."""

    points: Floats  # (rows, coordinates) in units of demand
    demand: Floats  # (rows,)
    is_event: Bools  # (rows,) demand is observed, not censored
    clock: Ints  # (rows,) see Holdout
    unit: Ints  # (rows,) resampling unit of the bootstrap
    available: Floats  # (rows,)
    mean: Floats  # (rows,) expected demand, used if series differ
    sd: Floats  # (rows,) and its standard deviation


class OwnRows(NamedTuple):
    """Mean, standard deviation, bandwidth scale and largest demand of rows if series differ, one entry per row."""

    mean: Floats  # expected demand
    sd: Floats  # standard deviation of demand around it
    width: Floats  # unit of the bandwidth
    most: Floats  # largest possible demand


class LocalKernel(NamedTuple):
    """Kernel of one row: bandwidth, and transformation of the neighbours' demand."""

    bandwidth: float
    least_events: int  # the bandwidth grows until this many neighbours have observed demand
    aligned: bool  # demands are moved by the difference in expected demand
    integer: bool
    demand_max: float
    tail: int  # one of the TAIL_ constants
    scaled: bool = False  # series differ: residuals of neighbours are scaled to the standard deviation of the row
    mean: float = 0.0  # expected demand of the row, if scaled ...
    sd: float = 1.0  # ... and its standard deviation


class Neighbours(NamedTuple):
    """Work arrays of the size of the sample; the first `count` entries are used, sorted by level."""

    row: Ints
    weight: Floats
    level: Floats
    is_event: Bools


@compiled
def kernel_of(kernel: LocalKernel, own: OwnRows, row: int) -> LocalKernel:
    """Kernel of one row."""
    return LocalKernel(
        kernel.bandwidth * own.width[row], kernel.least_events, kernel.aligned, kernel.integer, own.most[row],
        kernel.tail, kernel.scaled, own.mean[row], own.sd[row],
    )  # fmt: skip


@compiled
def wider(kernel: LocalKernel) -> LocalKernel:
    """Kernel with twice the bandwidth."""
    return LocalKernel(
        2.0 * kernel.bandwidth, kernel.least_events, kernel.aligned, kernel.integer, kernel.demand_max, kernel.tail,
        kernel.scaled, kernel.mean, kernel.sd,
    )  # fmt: skip


@compiled
def work_arrays(rows: int) -> Neighbours:
    """Empty work arrays for all rows of a sample."""
    return Neighbours(np.empty(rows, dtype=np.int64), np.empty(rows), np.empty(rows), np.empty(rows, dtype=np.bool_))


@compiled
def _first_from(points: Floats, value: float) -> int:
    """Index of the first point (sorted by first coordinate) that is not below `value`."""
    low, high = 0, len(points)
    while low < high:
        middle = (low + high) // 2
        if points[middle, 0] < value:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def _squared_distance(first: Floats, second: Floats, enough: float) -> float:
    """Squared distance of two points, or a partial sum of at least `enough`."""
    distance, axis = 0.0, 0
    while axis < len(first) and distance < enough:
        distance += (first[axis] - second[axis]) ** 2
        axis += 1
    return distance


@compiled
def _has_events(point: Floats, sample: SampleRows, lower: int, upper: int, h: float, least_events: int) -> bool:
    """Return True if at least `least_events` rows with observed demand lie within h of `point`."""
    points, is_event, clock = sample.points, sample.is_event, sample.clock
    count = 0
    if least_events <= 0:
        return True
    for at in range(_first_from(points, point[0] - h), len(points)):
        if points[at, 0] > point[0] + h:
            break
        if not is_event[at] or lower <= clock[at] < upper:
            continue
        distance = _squared_distance(points[at], point, h * h)
        if distance < h * h:
            count += 1
            if count == least_events:
                return True
    return False


@compiled
def _distance_of_events(point: Floats, sample: SampleRows, lower: int, upper: int, least_events: int) -> float:
    """Squared distance to the `least_events`-th nearest row with observed demand, infinite if there are fewer."""
    points, is_event, clock = sample.points, sample.is_event, sample.clock
    nearest = np.full(least_events, np.inf)
    for at in range(len(points)):
        if not is_event[at] or lower <= clock[at] < upper:
            continue
        distance = _squared_distance(points[at], point, nearest[-1])
        place = least_events - 1
        if distance < nearest[place]:
            while place > 0 and nearest[place - 1] > distance:
                nearest[place] = nearest[place - 1]
                place -= 1
            nearest[place] = distance
    return float(nearest[-1])


@compiled
def _near(point: Floats, sample: SampleRows, lower: int, upper: int, h: float, row: Ints, weight: Floats) -> int:
    """Fill `row` and `weight` with the rows within h of `point`."""
    points, clock = sample.points, sample.clock
    count = 0
    for at in range(_first_from(points, point[0] - h), len(points)):
        if points[at, 0] > point[0] + h:
            break
        if lower <= clock[at] < upper:
            continue
        distance = _squared_distance(points[at], point, h * h)
        if distance < h * h:
            row[count], weight[count] = at, 1.0 - distance / (h * h)
            count += 1
    return count


@compiled
def _rising(values: Floats) -> Ints:
    """Stable argsort by buckets, in linear time as most levels are tied or evenly spread."""
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
    # Within a bucket by insertion, which is stable; levels far out in a tail may crowd one bucket.
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
def neighbours(point: Floats, sample: SampleRows, lower: int, upper: int, kernel: LocalKernel, near: Neighbours) -> int:
    """Fill `near` with the neighbours of `point`, sorted by demand, and return their number.

    Rows with a clock in [lower, upper) are left out. Aligned, each demand is moved by the difference in expected demand
    to `point`, in whole units if demand is integer. Scaled, its residual takes the standard deviation of the row.
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
        if kernel.scaled:
            shift = kernel.mean + (demand[at] - sample.mean[at]) * kernel.sd / sample.sd[at] - demand[at]
            if kernel.integer:
                shift = np.rint(shift)
        elif kernel.aligned:
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
