"""Fitted neighbourhood: the sample of a depth, its metric, and the bandwidth chosen by cross-validation."""

from dataclasses import dataclass, replace

import numpy as np

from lostsales.data.progress import Progress
from lostsales.data.splits import Holdout
from lostsales.demand.censoring.observed import Observed
from lostsales.demand.survival.beran import CensoredSample
from lostsales.demand.survival.beran_loops import MOST_TAIL
from lostsales.demand.survival.curve import kaplan_meier
from lostsales.demand.survival.depth_groups import Group
from lostsales.demand.survival.metric import Metric, OwnMetric, learn_metric, learn_own_metric
from lostsales.demand.survival.neighbour_loops import OwnRows
from lostsales.demand.survival.tail import Bound
from lostsales.types import Bools, Floats, Ints

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
