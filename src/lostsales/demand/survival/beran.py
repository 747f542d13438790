"""Beran's conditional Kaplan-Meier estimator: at every row, the product-limit estimator over its neighbours.

SF(c | x) = prod over z <= c of (1 - sum of w_j(x) of events at z / sum of w_j(x) at risk at z), with the weights
w_j(x) = (1 - |x_j - x|^2 / h^2)^+ . Coordinates are in units of demand, so that the sum of x - x_j is how much more
demand is expected at x than at x_j: aligned neighbours are moved by it, which removes the first order of the bias
(as a local linear fit does for a mean). If series differ, a neighbour is also scaled: its residual takes the
standard deviation of the row, and the bandwidth is in these. The loops run in compiled code, one chunk per thread.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from lostsales.data.parallel import current_workers
from lostsales.data.progress import Progress
from lostsales.data.splits import Holdout
from lostsales.demand.censoring.observed import Observed
from lostsales.demand.survival import beran_loops as loops
from lostsales.demand.survival.beran_loops import MOST_TAIL
from lostsales.demand.survival.curve import SurvivalCurve, kaplan_meier
from lostsales.demand.survival.depth_groups import Group
from lostsales.demand.survival.metric import Metric, OwnMetric, learn_metric, learn_own_metric
from lostsales.demand.survival.neighbour_loops import LocalKernel, OwnRows, SampleRows, neighbours, work_arrays
from lostsales.demand.survival.tail import TAIL_CODES, Bound
from lostsales.types import Bools, Floats, Ints

LEAST_EVENTS = 10  # neighbours with observed demand; the bandwidth of a row grows until it has as many
THREADS = min(2, os.cpu_count() or 1)
CHUNK = 256  # rows per task of a thread
NO_RESAMPLES = np.zeros((1, 0))


@dataclass(frozen=True, eq=False)
class CensoredSample:
    """Right-censored demands with their points in covariate space, and the bound on demand."""

    rows: SampleRows  # sorted by the first coordinate, so that the neighbours of a point lie close together
    bound: Bound
    order: Ints  # (rows,) original order of the rows
    scaled: bool = False  # series differ: rows have a mean and a standard deviation of their own

    @classmethod
    def of(
        cls,
        points: Floats,
        demand: Floats,
        is_event: Bools,
        clock: Ints,
        unit: Ints,
        available: Floats,
        bound: Bound,
        own: OwnRows | None = None,
    ) -> "CensoredSample":
        """Sort rows given in any order."""
        order = np.argsort(points[:, 0], kind="stable")
        mean, sd = (np.zeros(len(demand)), np.ones(len(demand))) if own is None else (own.mean, own.sd)
        columns = (points, demand, is_event, clock, unit, available, mean, sd)
        return cls(SampleRows._make(column[order] for column in columns), bound, order, own is not None)

    def unmoved(self, own: OwnRows) -> "CensoredSample":
        """Copy with means and standard deviations of the series, given in the original order of the rows."""
        return replace(self, rows=self.rows._replace(mean=own.mean[self.order], sd=own.sd[self.order]))

    def _kernel(self, bandwidth: float, least_events: int = LEAST_EVENTS, aligned: bool = True) -> LocalKernel:
        bound = self.bound
        return LocalKernel(
            float(bandwidth),
            least_events,
            aligned,
            bound.integer,
            float(bound.demand_max),
            TAIL_CODES[bound.tail],
            self.scaled,
        )

    def _own(self, own: OwnRows | None, rows: int) -> OwnRows:
        """Statistics of rows: as given, or standard ones if series do not differ."""
        ones = np.ones(rows)
        return OwnRows(0.0 * ones, ones, ones, self.bound.demand_max * ones) if own is None else own

    def curve(self, point: Floats, bandwidth: float, *, aligned: bool = True) -> SurvivalCurve:
        """Survival curve at one point of covariate space."""
        near, bound = work_arrays(len(self.rows.demand)), self.bound
        count = neighbours(point, self.rows, 0, 0, self._kernel(bandwidth, aligned=aligned), near)
        return kaplan_meier(
            near.level[:count],
            near.is_event[:count],
            near.weight[:count],
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
        own: OwnRows | None = None,
    ) -> tuple[Floats, Floats]:
        """Mean excess E[D | D > point] - least at every row (Lemma 4), and its standard error.

        The error is the standard deviation over the resamples in `counts` (replicates, units).
        """
        drawn = np.ascontiguousarray(counts.T)
        found = self._over_rows(points, point, least, self._kernel(bandwidth), drawn, progress, own)
        return found.mean, found.error

    def support(
        self, points: Floats, point: Floats, least: Floats, radius: float, own: OwnRows | None = None
    ) -> tuple[Floats, Ints]:
        """Support of demand above `point` by unaligned neighbours within `radius`, at every row.

        Returns the share of that mass which the tail rule places, and the number of observed demands above `least`.
        """
        found = self._over_rows(points, point, least, self._kernel(radius, 0, False), NO_RESAMPLES, None, own)
        return found.tail_share, found.events_above

    def _over_rows(
        self,
        points: Floats,
        point: Floats,
        least: Floats,
        kernel: LocalKernel,
        drawn: Floats,
        progress: Progress | None,
        own: OwnRows | None,
    ) -> loops.Excess:
        rows = len(points)
        of_rows = self._own(own, rows)
        out = loops.Excess(np.empty(rows), np.empty(rows), np.empty(rows, dtype=np.int64), np.empty(rows))

        def run(part: slice) -> None:
            chunk = loops.Excess._make(column[part] for column in out)
            here = OwnRows._make(column[part] for column in of_rows)
            loops.mean_excess_loop(points[part], point[part], least[part], here, self.rows, kernel, drawn, chunk)

        _in_chunks(run, rows, progress)
        return out

    def brier_scores(
        self,
        points: Floats,
        demand: Floats,
        least: Floats,
        lower: Ints,
        upper: Ints,
        bandwidth: float,
        own: OwnRows | None = None,
    ) -> Floats:
        """Integral over c in [0, least) of (1{D > c} - SF(c | x))^2, by neighbours that are not held out with the row.

        For every c below the available stock, 1{D > c} is known, stock-out or not, and the available stock does not
        depend on demand given the rest. So this threshold-weighted CRPS is proper for censored data.
        """
        scores, kernel, of_rows = np.empty(len(points)), self._kernel(bandwidth), self._own(own, len(points))

        def run(part: slice) -> None:
            rows = points[part], demand[part], least[part], lower[part], upper[part]
            loops.brier_loop(*rows, OwnRows._make(column[part] for column in of_rows), self.rows, kernel, scores[part])

        _in_chunks(run, len(points), None)
        return scores

    def hazard_and_supply(
        self,
        points: Floats,
        demand: Floats,
        lower: Ints,
        upper: Ints,
        bandwidth: float,
        own: OwnRows | None = None,
    ) -> tuple[Floats, Floats]:
        """Cumulative hazard up to each row's demand, and the neighbours' mean available stock, both held out."""
        hazard, supply, kernel = np.empty(len(points)), np.empty(len(points)), self._kernel(bandwidth)
        of_rows = self._own(own, len(points))

        def run(part: slice) -> None:
            rows = points[part], demand[part], lower[part], upper[part]
            here = OwnRows._make(column[part] for column in of_rows)
            loops.hazard_loop(*rows, here, self.rows, kernel, hazard[part], supply[part])

        _in_chunks(run, len(points), None)
        return hazard, supply


def _in_chunks(run: Callable[[slice], None], rows: int, progress: Progress | None) -> None:
    chunks = [slice(start, min(start + CHUNK, rows)) for start in range(0, rows, CHUNK)]
    if len(chunks) == 1:  # a thread would take longer to start
        run(chunks[0])
        if progress:
            progress(1, 1)
        return
    with ThreadPoolExecutor(min(THREADS, current_workers())) as pool:
        for done, _ in enumerate(pool.map(run, chunks), start=1):
            if progress:
                progress(done, len(chunks))


MOST_SCORED = 500  # rows on which bandwidths are scored by default
BANDWIDTHS = np.geomspace(0.1, 16, 11)  # candidates, in standard deviations of demand given the covariates
ALL_ROWS = 1e6  # a bandwidth that makes all rows neighbours

# A censored demand is identified if among the unaligned rows within RADIUS standard deviations the tail rule places at
# most a share MOST_TAIL of the mass above the stock, and at least LEAST_ABOVE observed demands lie there.
RADIUS = 2.0
LEAST_ABOVE = 5


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """Sample, metric and bandwidth of Beran's estimator."""

    sample: CensoredSample
    metric: Metric | OwnMetric
    bandwidth: float  # in units of demand; if series differ, in standard deviations of each row
    unmoved: CensoredSample  # unaligned neighbours, by which identification is judged

    def fill(
        self, counts: Floats, covariates: Floats, point: Floats, least: Floats, progress: Progress | None = None
    ) -> tuple[Floats, Floats]:
        """Mean excess and standard error of censored demands, with resamples by `counts` (replicates, units)."""
        own = self.own_rows(covariates)
        return self.sample.mean_excess(self.metric(covariates), point, least, self.bandwidth, counts, progress, own)

    def identified(self, covariates: Floats, point: Floats, least: Floats) -> Bools:
        """Mask of rows whose demand above `point` is identified; elsewhere the metric or the tail rule extrapolates."""
        own = self.metric.unmoved(covariates) if isinstance(self.metric, OwnMetric) else None
        share, above = self.unmoved.support(self.metric(covariates), point, least, RADIUS * self.metric.spread, own)
        return (share <= MOST_TAIL) & (above >= LEAST_ABOVE)

    def own_rows(self, covariates: Floats) -> OwnRows | None:
        """Mean, standard deviation and largest demand of rows; None if series do not differ."""
        return self.metric.rows(covariates) if isinstance(self.metric, OwnMetric) else None

    def marginal(self) -> "Neighbourhood":
        """Neighbourhood without covariates: the marginal Kaplan-Meier curve."""
        rows = self.sample.rows._replace(points=np.zeros_like(self.sample.rows.points))
        if isinstance(self.metric, OwnMetric):
            # Rows are scaled from the level of their series to that of others, whatever their covariates.
            rows = self.unmoved.rows._replace(points=rows.points[:, :1])
            return replace(self, sample=replace(self.sample, rows=rows), metric=self.metric.without_covariates())
        metric = replace(self.metric, slopes=0.0 * self.metric.slopes)
        return replace(self, sample=replace(self.sample, rows=rows), metric=metric)


def fit_neighbourhood(
    group: Group, observed: Observed, holdout: Holdout, bound: Bound, seed: int, most_scored: int = MOST_SCORED
) -> Neighbourhood:
    """Learn metric and bandwidth from a group, in units of each series if these differ.

    The bandwidth has the least cross-validated score; with `most_scored` 0 all rows are neighbours.
    """
    rows = group.learn
    covariates = group.covariates(rows)
    demand, is_event = observed.sample[0][rows], observed.sample[1][rows]
    metric = (learn_own_metric if group.own_units else learn_metric)(covariates, demand, is_event)
    points, own = metric(covariates), metric.rows(covariates) if isinstance(metric, OwnMetric) else None
    columns = points, demand, is_event, holdout.clock[rows], holdout.unit[rows], observed.available[rows]
    sample = CensoredSample.of(*columns, bound, own)
    unmoved = sample.unmoved(metric.unmoved(covariates)) if isinstance(metric, OwnMetric) else sample
    rng = np.random.default_rng(seed)
    # If the shelf was empty for part of a period, the censoring point depends on demand: no score is proper there.
    whole = np.flatnonzero(~observed.is_partial[rows])
    scored = whole[rng.choice(len(whole), min(len(whole), most_scored), replace=False)]
    at = rows[scored]
    least = _observable_levels(observed, at, bound.demand_max if own is None else own.most[scored], rng)
    of_scored = None if own is None else OwnRows._make(column[scored] for column in own)
    # A censored demand is at least the available stock.
    shown = np.where(observed.is_observed[at], observed.demand[at], least)

    def score(bandwidth: float) -> float:
        where = points[scored], shown, least, holdout.lower[at], holdout.upper[at]
        scores = sample.brier_scores(*where, bandwidth, of_scored)
        return float(np.mean(scores if of_scored is None else scores / of_scored.sd))

    # At a tie the widest wins: if covariates carry no information, all rows are neighbours.
    candidates = metric.spread * np.r_[ALL_ROWS, BANDWIDTHS[::-1]]
    best = float(min(candidates, key=score)) if len(scored) else float(candidates[0])
    return Neighbourhood(sample, metric, best, unmoved)


def _observable_levels(observed: Observed, rows: Ints, demand_max: Floats | float, rng: np.random.Generator) -> Floats:
    """Largest demand that each row could have shown.

    A demand-only log does not record the available stock if there was no stock-out. It is drawn from the Kaplan-Meier
    curve of the stock (observed in a stock-out, censored by an observed demand), so that it is independent of demand.
    """
    least, is_observed = observed.available[rows], observed.is_observed[rows]
    is_missing = np.isinf(least)
    if is_missing.any():
        most = float(np.max(demand_max))
        law = kaplan_meier(observed.demand[rows], ~is_observed, demand_max=most)
        left = np.r_[1.0, law.survival][np.searchsorted(law.times, observed.demand[rows][is_missing], side="right")]
        drawn = np.searchsorted(-law.survival, -left * rng.random(len(left)))
        least[is_missing] = np.r_[law.times, most][drawn]
    return np.minimum(least, demand_max)
