"""A fitted neighbourhood: rows of one law, the distance between them, and the bandwidth that predicts best."""

from dataclasses import dataclass, replace

import numpy as np

from lostsales.data.progress import Progress
from lostsales.data.splits import Holdout
from lostsales.demand.censoring.observed import Observed
from lostsales.demand.survival.beran import CensoredSample
from lostsales.demand.survival.covariates import Metric, learn_metric
from lostsales.demand.survival.curve import Bound, kaplan_meier
from lostsales.demand.survival.depth_groups import Group
from lostsales.types import Bools, Floats, Ints

# Bandwidths are scored on at most so many rows, unless told.
MOST_SCORED = 500
BANDWIDTHS = np.geomspace(0.1, 16, 11)  # in standard deviations of demand given the covariates
EVERYONE = 1e6  # a bandwidth that makes all rows neighbours

# A hidden demand is identified where rows within so many standard deviations show it as they stand: the tail rule
# places at most this share of the mass above the stock, and so many known demands lie there.
RADIUS = 2.0
MOST_TAIL = 0.1
LEAST_ABOVE = 5


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """Where to look for rows like a given one."""

    sample: CensoredSample
    metric: Metric
    bandwidth: float  # in units of demand

    def fill(
        self, counts: Floats, covariates: Floats, point: Floats, least: Floats, progress: Progress | None = None
    ) -> tuple[Floats, Floats]:
        """Mean excess and standard error of hidden demands, with resamples by `counts` (replicates, units)."""
        return self.sample.mean_excess(self.metric(covariates), point, least, self.bandwidth, counts, progress)

    def identified(self, covariates: Floats, point: Floats, least: Floats) -> Bools:
        """Rows whose demand above `point` the data show; elsewhere the metric's model or the tail rule stands in."""
        share, above = self.sample.support(self.metric(covariates), point, least, RADIUS * self.metric.spread)
        return (share <= MOST_TAIL) & (above >= LEAST_ABOVE)

    def as_one(self) -> "Neighbourhood":
        """All rows in one place, whatever their covariates: the marginal Kaplan-Meier curve."""
        sample = replace(self.sample, points=np.zeros_like(self.sample.points))
        return replace(self, sample=sample, metric=replace(self.metric, slopes=0.0 * self.metric.slopes))


def fit_neighbourhood(
    group: Group, observed: Observed, holdout: Holdout, bound: Bound, seed: int, most_scored: int = MOST_SCORED
) -> Neighbourhood:
    """Learn distance and bandwidth from a group.

    The bandwidth is chosen by cross-validation on what is held out together; with no rows scored it takes in everyone.
    """
    rows = group.learn
    covariates, demand, known = group.covariates(rows), observed.demand[rows], observed.is_observed[rows]
    metric = learn_metric(covariates, demand, known)
    points = metric(covariates)
    sample = CensoredSample.of(
        points, demand, known, holdout.clock[rows], holdout.unit[rows], observed.available[rows], bound
    )
    rng = np.random.default_rng(seed)
    scored = rng.choice(len(rows), min(len(rows), most_scored), replace=False)
    at = rows[scored]
    least = _could_be_seen(observed, at, bound.demand_max, rng)
    shown = np.where(
        observed.is_observed[at], observed.demand[at], least
    )  # a hidden demand is no less than what was there

    def score(bandwidth: float) -> float:
        where = points[scored], shown, least, holdout.lower[at], holdout.upper[at]
        return float(sample.brier_scores(*where, bandwidth).mean())

    # At a tie the widest wins: where covariates say nothing, everyone is a neighbour.
    candidates = metric.spread * np.r_[EVERYONE, BANDWIDTHS[::-1]]
    return Neighbourhood(sample, metric, float(min(candidates, key=score)) if most_scored else float(candidates[0]))


def _could_be_seen(observed: Observed, rows: Ints, demand_max: float, rng: np.random.Generator) -> Floats:
    """Levels of demand that each row could have shown.

    A demand-only log does not say what was available where there was no stock-out. It is drawn from Kaplan-Meier's law
    of the bounds (shown by a stock-out, censored by a known demand), so that it does not depend on the demand.
    """
    least, known = observed.available[rows], observed.is_observed[rows]
    unsaid = np.isinf(least)
    if unsaid.any():
        law = kaplan_meier(observed.demand[rows], ~known, demand_max=demand_max)
        left = np.r_[1.0, law.survival][np.searchsorted(law.times, observed.demand[rows][unsaid], side="right")]
        drawn = np.searchsorted(-law.survival, -left * rng.random(len(left)))
        least[unsaid] = np.r_[law.times, demand_max][drawn]
    return np.minimum(least, demand_max)
