"""Compiled loops of Beran's estimator: functionals of the product-limit curve of a row's neighbours."""

from typing import NamedTuple

import numpy as np

from lostsales._jit import compiled
from lostsales.demand.survival import tail as rule
from lostsales.demand.survival.neighbour_loops import (
    LocalKernel,
    Neighbours,
    OwnRows,
    SampleRows,
    kernel_of,
    neighbours,
    wider,
    work_arrays,
)
from lostsales.demand.survival.tail import TAIL_EXPONENTIAL, TAIL_LAST, TAIL_REFUSE
from lostsales.types import Bools, Floats, Ints

_tail_area, _tail_rate = compiled(rule.tail_area), compiled(rule.tail_rate)
_excess_without_mass = compiled(rule.excess_without_mass)

MOST_TAIL = 0.1  # largest share of the mass above a stock that the tail rule may place


class Excess(NamedTuple):
    """Output of `mean_excess_loop`, one entry per row."""

    mean: Floats  # E[D | D > point] - least
    tail_share: Floats  # of the mass above `point`, placed by the tail rule
    events_above: Ints  # neighbours with observed demand above `least`
    error: Floats  # standard deviation of the mean over resamples


@compiled
def tied(level: Floats, is_event: Bools, weight: Floats, count: int, i: int, at: float) -> tuple[int, float, float]:
    """First neighbour beyond the level `at`, weight of the events at it, and weight of all that leave the risk set."""
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
        if kernel.scaled and tail == TAIL_EXPONENTIAL:
            # The hazard below the point says little about that above; if little mass is left, the latter is observed.
            above = -np.log(share) / (last - point) if share <= MOST_TAIL and last > point else 0.0
            rate = above if above > 0.0 else max(rate, 1.0 / kernel.sd)
        area += _tail_area(survival, last, start, demand_max, rate, integer)
        if point > last:
            at_point *= np.exp(-rate * ((np.floor(point) if integer else point) - last))
    return area / at_point, share


@compiled
def excess_of(
    level: Floats, is_event: Bools, weight: Floats, count: int, point: float, least: float, kernel: LocalKernel
) -> tuple[float, float]:
    """Mean excess E[D | D > point] - least of sorted neighbours, and the tail rule's share of the mass above."""
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

    All curves advance together, level by level, so that the inner loops run over resamples, contiguous in memory.
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
        # A resample with nothing at risk carries no information: the row's own curve is used.
        value = 0.0
        if any_weight[r]:
            again, _ = _with_tail(survival[r], at_point[r], area[r], last, point, least, kernel)
            value = again - mean
        total += value
        square += value * value
    return float(np.sqrt(max(square - total * total / replicates, 0.0) / (replicates - 1)))


@compiled
def mean_excess_loop(
    points: Floats, point: Floats, least: Floats, own: OwnRows, sample: SampleRows, common: LocalKernel, drawn: Floats,
    out: Excess,
) -> None:  # fmt: skip
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
        kernel = kernel_of(common, own, row)
        count = neighbours(points[row], sample, 0, 0, kernel, near)
        out.mean[row], out.tail_share[row] = excess_of(level, is_event, weight, count, point[row], least[row], kernel)
        while kernel.scaled and kernel.aligned and out.tail_share[row] > MOST_TAIL and count < len(sample.points):
            # Moved and scaled residuals from distant rows are better than the tail rule.
            kernel = wider(kernel)
            count = neighbours(points[row], sample, 0, 0, kernel, near)
            out.mean[row], out.tail_share[row] = excess_of(
                level, is_event, weight, count, point[row], least[row], kernel
            )
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
    points: Floats, shown: Floats, least: Floats, lower: Ints, upper: Ints, own: OwnRows, sample: SampleRows,
    common: LocalKernel, scores: Floats,
) -> None:  # fmt: skip
    """Integral over c in [0, least) of (1{shown > c} - SF(c))^2, row by row."""
    near = work_arrays(len(sample.points))
    _, weight, level, is_event = near
    for row in range(len(points)):
        count = neighbours(points[row], sample, lower[row], upper[row], kernel_of(common, own, row), near)
        at_risk = weight[:count].sum()
        survival, last, score = 1.0, 0.0, 0.0
        i = 0
        while last < least[row]:
            edge = level[i] if i < count else least[row]
            here = max(min(edge, least[row]), last)
            passed = min(max(shown[row], last), here)
            score += (passed - last) * (1.0 - survival) ** 2 + (here - passed) * survival**2
            i, events, gone = tied(level, is_event, weight, count, i, edge)
            if events > 0.0:
                survival *= max(0.0, 1.0 - events / at_risk)
            at_risk = max(at_risk - gone, 1e-300)
            last = here
        scores[row] = score


@compiled
def hazard_loop(
    points: Floats, shown: Floats, lower: Ints, upper: Ints, own: OwnRows, sample: SampleRows, common: LocalKernel,
    hazard: Floats, supply: Floats,
) -> None:  # fmt: skip
    """Cumulative hazard up to `shown`, and the neighbours' mean available stock, row by row."""
    near = work_arrays(len(sample.points))
    row_of, weight, level, is_event = near
    for row in range(len(points)):
        count = neighbours(points[row], sample, lower[row], upper[row], kernel_of(common, own, row), near)
        at_risk, mean = weight[:count].sum(), 0.0
        for i in range(count):
            available = sample.available[row_of[i]]
            if common.scaled:
                available = own.mean[row] + (available - sample.mean[row_of[i]]) * own.sd[row] / sample.sd[row_of[i]]
            mean += weight[i] * available
        supply[row] = mean / at_risk if at_risk > 0.0 else np.nan
        cumulative = 0.0
        i = 0
        while i < count and level[i] <= shown[row]:
            here = level[i]
            i, events, gone = tied(level, is_event, weight, count, i, here)
            cumulative += events / at_risk
            at_risk = max(at_risk - gone, 1e-300)
        hazard[row] = cumulative
