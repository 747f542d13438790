"""Beran's conditional Kaplan-Meier: at every row, the product-limit estimator over its neighbours.

SF(c | x) = prod over z <= c of (1 - sum of w_j(x) of events at z / sum of w_j(x) at risk at z), with the weights
w_j(x) = (1 - |x_j - x|^2 / h^2)^+ . Coordinates are in units of demand, so that the sum of x - x_j is how much more
demand is expected at x than at x_j: aligned neighbours are moved by it, which takes away the first order of the bias
that unequal neighbours bring (as a local line does for a mean). The loops run in compiled code, a chunk a thread.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from lostsales.data.progress import Progress
from lostsales.demand.survival import beran_loops as loops
from lostsales.demand.survival.curve import Bound, SurvivalCurve, Tail, kaplan_meier
from lostsales.types import Bools, Floats, Ints

# The bandwidth of a row grows until it has so many neighbours with known demand.
LEAST_EVENTS = 10
THREADS = min(2, os.cpu_count() or 1)
CHUNK = 256

TAILS: dict[Tail, int] = {"to_max": 0, "exponential": 1, "refuse": 2, "last": 3}


@dataclass(frozen=True, eq=False)
class CensoredSample:
    """Right-censored demands with their points in covariate space, in order of the first coordinate."""

    points: Floats  # (rows, coordinates) in units of demand
    demand: Floats  # (rows,)
    known: Bools  # (rows,)
    clock: Ints  # (rows,) see Holdout
    unit: Ints  # (rows,)
    least: Floats  # (rows,) units available
    bound: Bound

    @classmethod
    def of(
        cls, points: Floats, demand: Floats, known: Bools, clock: Ints, unit: Ints, least: Floats, bound: Bound
    ) -> "CensoredSample":
        """Put into order, in which the neighbours of a point lie close together."""
        order = np.argsort(points[:, 0], kind="stable")
        return cls(points[order], demand[order], known[order], clock[order], unit[order], least[order], bound)

    @property
    def _data(self) -> tuple[Floats, Floats, Bools, Ints]:
        return self.points, self.demand, self.known, self.clock

    def curve(self, point: Floats, bandwidth: float, *, aligned: bool = True) -> SurvivalCurve:
        """The whole curve at one point of covariate space."""
        rows, bound = len(self.demand), self.bound
        place, weight = np.empty(rows, dtype=np.int64), np.empty(rows)
        level, event = np.empty(rows), np.empty(rows, dtype=bool)
        count = loops.neighbours(
            point, *self._data, 0, 0, bandwidth, LEAST_EVENTS, aligned, bound.integer, bound.demand_max,
            place, weight, level, event,
        )  # fmt: skip
        return kaplan_meier(
            level[:count],
            event[:count],
            weight[:count],
            demand_max=bound.demand_max,
            tail=bound.tail,
            integer=bound.integer,
        )

    def mean_excess(
        self,
        points: Floats,
        point: Floats,
        least: Floats,
        bandwidth: float,
        counts: Floats,
        progress: Progress | None = None,
    ) -> tuple[Floats, Floats]:
        """E[D | D > point] - least at every row (line 489), and its standard error.

        The error is the standard deviation over the resamples in `counts` (replicates, units).
        """
        excess, _, _, error = self._over_rows(points, point, least, bandwidth, LEAST_EVENTS, True, counts, progress)
        return excess, error

    def support(self, points: Floats, point: Floats, least: Floats, radius: float) -> tuple[Floats, Ints]:
        """What rows within `radius` show as they stand of demand above `point`, at every row.

        Returns the share of that mass which only the tail rule places, and how many known demands lie above `least`.
        """
        _, share, above, _ = self._over_rows(points, point, least, radius, 0, False, np.zeros((0, 1)), None)
        return share, above

    def _over_rows(
        self,
        points: Floats,
        point: Floats,
        least: Floats,
        bandwidth: float,
        least_events: int,
        aligned: bool,
        counts: Floats,
        progress: Progress | None,
    ) -> tuple[Floats, Floats, Ints, Floats]:
        rows, bound = len(points), self.bound
        excess, share, above, error = np.empty(rows), np.empty(rows), np.empty(rows, dtype=np.int64), np.empty(rows)

        def run(part: slice) -> None:
            loops.mean_excess_loop(
                points[part], point[part], least[part], *self._data, self.unit,
                bandwidth, least_events, aligned, bound.integer, bound.demand_max, TAILS[bound.tail], counts,
                excess[part], share[part], above[part], error[part],
            )  # fmt: skip

        _in_chunks(run, rows, progress)
        return excess, share, above, error

    def brier_scores(
        self, points: Floats, demand: Floats, least: Floats, lower: Ints, upper: Ints, bandwidth: float
    ) -> Floats:
        """Integral over c in [0, least) of (1{D > c} - SF(c | x))^2, by neighbours that are not held out with the row.

        Whether D > c is known for every c below what was available, stock-out or not, and what was available does not
        depend on demand given the rest. So this threshold-weighted CRPS is proper for censored data as it stands.
        """
        scores, bound = np.empty(len(points)), self.bound

        def run(part: slice) -> None:
            loops.brier_loop(
                points[part], demand[part], least[part], lower[part], upper[part], *self._data,
                bandwidth, LEAST_EVENTS, True, bound.integer, bound.demand_max, scores[part],
            )  # fmt: skip

        _in_chunks(run, len(points), None)
        return scores

    def hazard_and_supply(
        self, points: Floats, demand: Floats, lower: Ints, upper: Ints, bandwidth: float
    ) -> tuple[Floats, Floats]:
        """Cumulated hazard up to each row's demand, and the neighbours' mean of what was available, both held out."""
        hazard, supply, bound = np.empty(len(points)), np.empty(len(points)), self.bound

        def run(part: slice) -> None:
            loops.hazard_loop(
                points[part], demand[part], lower[part], upper[part], *self._data, self.least,
                bandwidth, LEAST_EVENTS, True, bound.integer, bound.demand_max, hazard[part], supply[part],
            )  # fmt: skip

        _in_chunks(run, len(points), None)
        return hazard, supply


def _in_chunks(run: Callable[[slice], None], rows: int, progress: Progress | None) -> None:
    parts = [slice(start, min(start + CHUNK, rows)) for start in range(0, rows, CHUNK)]
    with ThreadPoolExecutor(THREADS) as pool:
        for done, _ in enumerate(pool.map(run, parts), start=1):
            if progress:
                progress(done, len(parts))
