"""A fitted neighbourhood: rows of one law, the distance between them, and the bandwidth that predicts best."""

from dataclasses import dataclass

import numpy as np

from lostsales.arrays import Floats, Ints
from lostsales.demand.beran import Sample, brier_scores
from lostsales.demand.covariates import Metric, learn_metric
from lostsales.demand.holdout import Holdout
from lostsales.demand.observed import Observed

# Neighbours are sought among at most so many rows, and bandwidths are scored on at most so many.
MOST_ROWS = 60_000
MOST_SCORED = 2_000
BANDWIDTHS = np.geomspace(0.35, 16, 12)  # in standard deviations of demand given the covariates
EVERYONE = 1e6  # a bandwidth that makes all rows neighbours: the marginal curve


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """Where to look for rows like a given one."""

    rows: Ints  # (learn,) of the log
    points: Floats  # (learn, coordinates)
    sample: Sample
    metric: Metric
    bandwidth: float  # in units of demand


def fit_neighbourhood(
    rows: Ints,
    covariates: Floats,
    observed: Observed,
    holdout: Holdout,
    demand_max: float,
    *,
    marginal: bool,
    seed: int,
) -> Neighbourhood:
    """Learn distance and bandwidth from `rows`; the bandwidth by cross-validation on what is held out together."""
    rng = np.random.default_rng(seed)
    if len(rows) > MOST_ROWS:
        kept = np.sort(rng.choice(len(rows), MOST_ROWS, replace=False))
        rows, covariates = rows[kept], covariates[kept]
    demand, known = observed.demand[rows], observed.known[rows]
    metric = learn_metric(covariates, demand, known)
    points = metric(covariates)
    sample = Sample.of(points, demand, known, holdout.clock[rows], holdout.unit[rows], observed.least[rows])
    spread = metric.spread or 1.0
    bandwidth = spread * EVERYONE
    if not marginal and known.any():
        scored = rng.choice(len(rows), min(len(rows), MOST_SCORED), replace=False)
        at, least = rows[scored], np.minimum(observed.least[rows[scored]], demand_max)
        where = points[scored], observed.demand[at], least, holdout.lower[at], holdout.upper[at]
        candidates = spread * np.r_[BANDWIDTHS, EVERYONE]
        bandwidth = float(min(candidates, key=lambda each: float(brier_scores(sample, *where, each).mean())))
    return Neighbourhood(rows, points, sample, metric, bandwidth)
