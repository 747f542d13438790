"""Beran's conditional Kaplan-Meier: at every row, the product-limit estimator over its neighbours.

SF(c | x) = prod over z <= c of (1 - sum of w_j(x) of events at z / sum of w_j(x) at risk at z), with the weights
w_j(x) = (1 - |x_j - x|^2 / h^2)^+ . The loops run in compiled code, a chunk of rows a thread.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np

from lostsales.arrays import Array, Bools, Floats, Ints
from lostsales.data.gate import Progress
from lostsales.demand.curve import SurvivalCurve, Tail, kaplan_meier, tail_area

# The bandwidth of a row grows by this factor until it has so many neighbours with known demand.
LEAST_EVENTS = 10
GROWTH = 1.5
WIDEST = 1e4
THREADS = min(2, os.cpu_count() or 1)
CHUNK = 256

TAILS: dict[Tail, int] = {"to_max": 0, "exponential": 1, "refuse": 2}


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` in machine code, without the interpreter's lock, kept on disk for the next start."""
    decorated: Callable[..., Any] = numba.njit(nogil=True, cache=True)(function)
    return decorated


@dataclass(frozen=True, eq=False)
class Sample:
    """Right-censored demands with their points in covariate space, in order of demand."""

    points: Floats  # (rows, coordinates)
    demand: Floats  # (rows,) rising
    known: Bools  # (rows,)
    clock: Ints  # (rows,) see Holdout
    unit: Ints  # (rows,)
    least: Floats  # (rows,) units available

    @classmethod
    def of(cls, points: Floats, demand: Floats, known: Bools, clock: Ints, unit: Ints, least: Floats) -> "Sample":
        """Put into order."""
        order = np.argsort(demand, kind="stable")
        return cls(points[order], demand[order], known[order], clock[order], unit[order], least[order])

    def curve(self, point: Floats, bandwidth: float, demand_max: float, tail: Tail, integer: bool) -> SurvivalCurve:
        """The whole curve at one point of covariate space."""
        place, weight = np.empty(len(self.demand), dtype=np.int64), np.empty(len(self.demand))
        count = _neighbours(point, self.points, self.known, self.clock, 0, 0, bandwidth, place, weight)
        near = place[:count]
        return kaplan_meier(
            self.demand[near], self.known[near], weight[:count], demand_max=demand_max, tail=tail, integer=integer
        )


def mean_excess(
    sample: Sample,
    points: Floats,
    point: Floats,
    least: Floats,
    bandwidth: float,
    demand_max: float,
    tail: Tail,
    integer: bool,
    counts: Floats,
    progress: Progress | None = None,
) -> tuple[Floats, Floats, Ints, Floats]:
    """E[D | D > point] - least at every row, for hidden demands (line 489).

    Returns the excess, the share of the mass above `point` that only the tail rule places, the number of neighbours
    whose known demand lies above `least`, and the standard deviation of the excess over the resamples in `counts`
    (replicates, units).
    """
    rows = len(points)
    excess, share, above, error = np.empty(rows), np.empty(rows), np.empty(rows, dtype=np.int64), np.empty(rows)

    def run(part: slice) -> None:
        _mean_excess(
            points[part], point[part], least[part],
            sample.points, sample.demand, sample.known, sample.clock, sample.unit,
            bandwidth, demand_max, TAILS[tail], integer, counts, excess[part], share[part], above[part], error[part],
        )  # fmt: skip

    _in_chunks(run, rows, progress)
    return excess, share, above, error


def brier_scores(
    sample: Sample, points: Floats, demand: Floats, least: Floats, lower: Ints, upper: Ints, bandwidth: float
) -> Floats:
    """Integral over c in [0, least) of (1{D > c} - SF(c | x))^2, each row by neighbours that are not held out with it.

    Whether D > c is known for every c below what was available, stock-out or not, and what was available does not
    depend on demand given the rest. So this threshold-weighted CRPS is proper for censored data as it stands.
    """
    scores = np.empty(len(points))

    def run(part: slice) -> None:
        _brier(
            points[part], demand[part], least[part], lower[part], upper[part],
            sample.points, sample.demand, sample.known, sample.clock, bandwidth, scores[part],
        )  # fmt: skip

    _in_chunks(run, len(points), None)
    return scores


def hazard_and_supply(
    sample: Sample, points: Floats, demand: Floats, lower: Ints, upper: Ints, bandwidth: float
) -> tuple[Floats, Floats]:
    """Cumulated hazard up to each row's demand, and the neighbours' mean of what was available, both held out."""
    hazard, supply = np.empty(len(points)), np.empty(len(points))

    def run(part: slice) -> None:
        _hazard(
            points[part], demand[part], lower[part], upper[part],
            sample.points, sample.demand, sample.known, sample.clock, sample.least, bandwidth,
            hazard[part], supply[part],
        )  # fmt: skip

    _in_chunks(run, len(points), None)
    return hazard, supply


def _in_chunks(run: Callable[[slice], None], rows: int, progress: Progress | None) -> None:
    parts = [slice(start, min(start + CHUNK, rows)) for start in range(0, rows, CHUNK)]
    with ThreadPoolExecutor(THREADS) as pool:
        for done, _ in enumerate(pool.map(run, parts), start=1):
            if progress:
                progress(done, len(parts))


_tail_area = compiled(tail_area)


@compiled
def _neighbours(
    point: Array,
    points: Array,
    known: Array,
    clock: Array,
    lower: int,
    upper: int,
    h: float,
    place: Array,
    weight: Array,
) -> int:
    """Fill `place` and `weight` with the neighbours of `point` in order of demand; returns how many there are."""
    widest = WIDEST * h
    while True:
        count, events = 0, 0
        for row in range(len(points)):
            distance = 0.0
            for axis in range(points.shape[1]):
                distance += (points[row, axis] - point[axis]) ** 2
            near = 1.0 - distance / (h * h)
            if near > 0.0 and not lower <= clock[row] < upper:
                place[count], weight[count] = row, near
                count += 1
                events += known[row]
        if events >= LEAST_EVENTS or h > widest:
            return count
        h *= GROWTH


@compiled
def _excess_of(
    demand: Array, known: Array, place: Array, weight: Array, count: int, point: float, least: float,
    demand_max: float, tail: int, integer: bool,
) -> tuple[float, float]:  # fmt: skip
    """Mean excess and share of the tail for one weighted sample in order of demand."""
    at_risk = 0.0
    for i in range(count):
        at_risk += weight[i]
    survival, at_point, area, last = 1.0, 1.0, 0.0, 0.0
    i = 0
    while i < count:
        level = demand[place[i]]
        if level > least:
            area += survival * (level - max(last, least))
        died, gone = 0.0, 0.0
        while i < count and demand[place[i]] == level:
            gone += weight[i]
            if known[place[i]]:
                died += weight[i]
            i += 1
        if died > 0.0:
            survival *= max(0.0, 1.0 - died / at_risk)
            if survival < 1e-12:
                survival = 0.0
        at_risk = max(at_risk - gone, 1e-300)
        last = level
        if level <= point:
            at_point = survival
    if at_point <= 0.0:
        return (demand_max - least if tail != 2 else np.nan), 1.0
    start = max(last, least)
    if survival > 0.0 and start < demand_max:
        rate = -np.log(survival) / last if tail == 1 and survival < 1.0 and last > 0.0 else 0.0
        area += np.nan if tail == 2 else _tail_area(survival, last, start, demand_max, rate, integer)
    return area / at_point, survival / at_point


@compiled
def _mean_excess(
    points: Array, point: Array, least: Array, at: Array, demand: Array, known: Array, clock: Array, unit: Array,
    h: float, demand_max: float, tail: int, integer: bool, counts: Array,
    excess: Array, share: Array, above: Array, error: Array,
) -> None:  # fmt: skip
    place, weight, drawn = np.empty(len(at), dtype=np.int64), np.empty(len(at)), np.empty(len(at))
    for row in range(len(points)):
        count = _neighbours(points[row], at, known, clock, 0, 0, h, place, weight)
        excess[row], share[row] = _excess_of(
            demand, known, place, weight, count, point[row], least[row], demand_max, tail, integer
        )
        above[row] = 0
        for i in range(count):
            if known[place[i]] and demand[place[i]] > least[row]:
                above[row] += 1
        total, square = 0.0, 0.0
        for replicate in range(len(counts)):
            for i in range(count):
                drawn[i] = weight[i] * counts[replicate, unit[place[i]]]
            # A resample without anyone at risk says nothing new: the row's own curve stands in.
            value = excess[row]
            if drawn[:count].sum() > 0.0:
                value = _excess_of(
                    demand, known, place, drawn, count, point[row], least[row], demand_max, tail, integer
                )[0]
            total += value
            square += value * value
        replicates = len(counts)
        error[row] = np.nan
        if replicates > 1:
            error[row] = np.sqrt(max(square - total * total / replicates, 0.0) / (replicates - 1))


@compiled
def _brier(
    points: Array, own: Array, least: Array, lower: Array, upper: Array,
    at: Array, demand: Array, known: Array, clock: Array, h: float, scores: Array,
) -> None:  # fmt: skip
    place, weight = np.empty(len(at), dtype=np.int64), np.empty(len(at))
    for row in range(len(points)):
        count = _neighbours(points[row], at, known, clock, lower[row], upper[row], h, place, weight)
        at_risk = 0.0
        for i in range(count):
            at_risk += weight[i]
        survival, last, score = 1.0, 0.0, 0.0
        i = 0
        while last < least[row]:
            level = min(demand[place[i]], least[row]) if i < count else least[row]
            passed = min(max(own[row], last), level)
            score += (passed - last) * (1.0 - survival) ** 2 + (level - passed) * survival**2
            died, gone = 0.0, 0.0
            while i < count and demand[place[i]] <= level:
                gone += weight[i]
                if known[place[i]]:
                    died += weight[i]
                i += 1
            if died > 0.0:
                survival *= max(0.0, 1.0 - died / at_risk)
            at_risk = max(at_risk - gone, 1e-300)
            last = level
        scores[row] = score


@compiled
def _hazard(
    points: Array, own: Array, lower: Array, upper: Array,
    at: Array, demand: Array, known: Array, clock: Array, least: Array, h: float, hazard: Array, supply: Array,
) -> None:  # fmt: skip
    place, weight = np.empty(len(at), dtype=np.int64), np.empty(len(at))
    for row in range(len(points)):
        count = _neighbours(points[row], at, known, clock, lower[row], upper[row], h, place, weight)
        at_risk, mean = 0.0, 0.0
        for i in range(count):
            at_risk += weight[i]
            mean += weight[i] * least[place[i]]
        supply[row] = mean / at_risk if at_risk > 0.0 else np.nan
        cumulated = 0.0
        i = 0
        while i < count and demand[place[i]] <= own[row]:
            level = demand[place[i]]
            died, gone = 0.0, 0.0
            while i < count and demand[place[i]] == level:
                gone += weight[i]
                if known[place[i]]:
                    died += weight[i]
                i += 1
            cumulated += died / at_risk
            at_risk = max(at_risk - gone, 1e-300)
        hazard[row] = cumulated
