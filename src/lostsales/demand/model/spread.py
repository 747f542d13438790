"""Spread of demand around its forecast, chosen by the quantile loss on earlier origins."""

from dataclasses import dataclass, replace
from itertools import product
from typing import Annotated

import numpy as np
from pydantic import Field

from lostsales.demand.model.counts import log_scores, quantiles
from lostsales.demand.model.pooling import Variances, pool, updated_variances
from lostsales.saved_fields import NonNegative
from lostsales.types import Bools, Floats, Ints

SCORED_LEVELS = (0.1, 0.3, 0.5, 0.7, 0.9)  # probabilities of the scored quantiles
# Forecasts and series on which a spread is chosen.
MOST_SCORED = 4_000
MOST_SERIES = 1_000
MOST_ROWS = 10_000  # rows on which a spread is chosen by likelihood
# Grid of the search: factors of mean and squared mean in the variance beyond Poisson's.
LINEAR = (0.02, 0.1, 0.3, 1.0, 3.0, 10.0)
QUADRATIC = (1e-4, 1e-3, 0.003, 0.01, 0.03, 0.07, 0.15, 0.3, 0.6, 1.2)
FINER = np.array([0.3, 0.55, 0.75, 1.0, 1.35, 1.8])  # factors of the best values in a second search by likelihood
FINEST = np.array([0.87, 0.93, 1.0, 1.07, 1.15])  # ... and in a third
PRIORS = (5.0, 20.0, 100.0)  # grid of the weight of the common spread in that of a series, in forecasts
LARGEST_ERROR = 10.0  # bound of a squared error relative to the common variance: one outlier makes no series noisy
OWN_RANGE = (0.1, 10.0)  # bounds of the factor of a series
DEFAULT_PRIOR = 20.0  # weight of the common spread before one was chosen, in forecasts
MOST_OWN_ROWS = 1_000_000  # rows from which the factors of series are learned, spread evenly over all
OWN_STEPS = 8  # of Newton's method for the factors of series
OWN_STEP = 0.2  # of a logarithm, by which likelihoods are differentiated
OWN_VARIANCE = 0.1  # of logarithms of factors between groups and between series before it is estimated
USUAL = 0.1, 0.15  # linear and quadratic factor if there are too few observations to choose them

# Variance beyond that of a count, as a share of it: less is lost in rounding, and then divided by.
Excess = Annotated[float, Field(ge=1e-6, le=1e6)]


@dataclass(frozen=True)
class Spread:
    """Variance function of demand with mean m: own (linear m + quadratic m^2), plus m for counts."""

    linear: Excess
    quadratic: Excess
    integer: bool
    prior: NonNegative = DEFAULT_PRIOR

    @property
    def factors(self) -> tuple[float, float]:
        """Factors of mean and squared mean in the variance."""
        return self.linear, self.quadratic

    def variance(self, mean: Floats, own: Floats | float) -> Floats:
        """Variance of demands with these means; `own` are the factors of their series."""
        return np.asarray(own * self._excess(mean) + (mean if self.integer else 0.0))

    def _excess(self, mean: Floats) -> Floats:
        return self.linear * mean + self.quadratic * mean * mean + 1e-12

    def own(self, mean: Floats, demand: Floats, seen: Bools) -> Floats:
        """Factor of each series, (series,), from forecasts (origins, series): excess variance over the common one.

        A forecast is weighted by the share of the excess in its variance; `prior` forecasts with factor 1 are added.
        """
        excess = self._excess(mean)
        known = np.where(seen, excess / self.variance(mean, 1.0), 0.0)
        squares = ((demand - mean) ** 2 - (mean if self.integer else 0.0)) / excess
        ratio = np.clip(squares, -0.5 * LARGEST_ERROR, LARGEST_ERROR)
        found = (self.prior + (known * ratio).sum(axis=0)) / (self.prior + known.sum(axis=0))
        return np.asarray(np.clip(found, *OWN_RANGE))


def choose_spread(mean: Floats, demand: Floats, seen: Bools, integer: bool, rng: np.random.Generator) -> Spread:
    """Spread with the least quantile loss, from forecasts (origins, series) of one horizon.

    Factors of series are estimated on the first half of the origins and scored on the second.
    """
    first = Spread(*USUAL, integer)
    half, n = (len(mean) + 1) // 2, mean.shape[1]
    kept = np.sort(rng.choice(n, MOST_SERIES, replace=False)) if n > MOST_SERIES else np.arange(n)
    mean, demand, seen = mean[:, kept], demand[:, kept], seen[:, kept]
    rows = np.flatnonzero(seen[half:])
    if not len(rows):
        return first
    rows = np.sort(rng.choice(rows, MOST_SCORED, replace=False)) if len(rows) > MOST_SCORED else rows
    series = rows % len(kept)
    centre, value = mean[half:].reshape(-1)[rows], demand[half:].reshape(-1)[rows]

    def loss(spread: Spread) -> float:
        own = spread.own(mean[:half], demand[:half], seen[:half])[series]
        return quantile_loss(value, centre, spread.variance(centre, own), integer)

    best = min((Spread(*factors, integer) for factors in product(LINEAR, QUADRATIC)), key=loss)
    return min((replace(best, prior=prior) for prior in PRIORS), key=loss)


def spread_around(
    mean: Floats, demand: Floats, censored: Bools, seen: Bools, wider: Floats, first: Spread, seed: int = 0
) -> Spread:
    """Maximum likelihood spread of demands and bounds around means, each (series, periods), on a sample of the rows.

    `wider` are factors by which errors of the means raise the variance.
    """
    rows = np.flatnonzero(seen)
    if len(rows) > MOST_ROWS:
        rows = np.sort(np.random.default_rng(seed).choice(rows, MOST_ROWS, replace=False))
    mean, demand, wider = (each.reshape(-1)[rows] for each in (mean, demand, wider))
    return likeliest_spread(mean, demand, censored.reshape(-1)[rows], first.integer, first, wider)


def own_spreads(
    mean: Floats, demand: Floats, censored: Bools, seen: Bools, wider: Floats, spread: Spread, group: Ints
) -> Floats:
    """Factor of each series in the variance beyond a count's, (series, 1), drawn to those of its group and of all.

    For the arrays see `spread_around`. Logarithms of factors are normal around those of groups; likelihoods are taken
    as quadratic, and the variances are estimated.
    """
    rows = np.nonzero(seen)
    step = max(-(-len(rows[0]) // MOST_OWN_ROWS), 1)
    rows = rows[0][::step], rows[1][::step]
    at, n = rows[0], len(mean)
    mean, demand, censored, wider = mean[rows], demand[rows], censored[rows], wider[rows]
    known, logs = np.ones(len(at), dtype=bool), np.zeros(n)
    variances = Variances(np.full(1, OWN_VARIANCE), np.full(1, OWN_VARIANCE))
    for _ in range(OWN_STEPS):
        below, here, above = (
            np.bincount(at, log_scores(demand, mean, variance * wider, known, censored, spread.integer), n)
            for variance in (spread.variance(mean, np.exp(logs + step)[at]) for step in (-OWN_STEP, 0.0, OWN_STEP))
        )
        information = np.maximum(2 * here - above - below, 0.0) / OWN_STEP**2
        score = (above - below) / (2 * OWN_STEP) + information * logs
        found = pool(information[:, None, None], score[:, None], group, variances, (1.0, 1.0))
        variances = updated_variances(found, group)
        logs = np.clip(found.by_series[:, 0], logs - 1.0, logs + 1.0)
    return np.clip(np.exp(logs), *OWN_RANGE)[:, None]


def likeliest_spread(
    mean: Floats, demand: Floats, censored: Bools, integer: bool, otherwise: Spread, wider: Floats | float = 1.0
) -> Spread:
    """Maximum likelihood spread of demands and lower bounds, (rows,)."""
    if not len(mean):
        return otherwise
    seen = np.ones(len(mean), dtype=bool)

    def score(spread: Spread) -> float:
        return float(log_scores(demand, mean, wider * spread.variance(mean, 1.0), seen, censored, integer).sum())

    best = max((Spread(*factors, integer) for factors in product(LINEAR, QUADRATIC)), key=score)
    for steps in (FINER, FINEST):
        nearby = product(best.linear * steps, best.quadratic * steps)
        best = max((Spread(float(linear), float(quadratic), integer) for linear, quadratic in nearby), key=score)
    return best


def quantile_loss(demand: Floats, mean: Floats, variance: Floats, integer: bool) -> float:
    """Pinball loss of quantiles at several probabilities, approximately the continuous ranked probability score.

    Errors are divided by the root of the mean; otherwise large series would decide alone.
    """
    if not len(demand):
        return 0.0
    loss, weight = 0.0, 1.0 / np.sqrt(1.0 + mean)
    for level in SCORED_LEVELS:
        error = demand - quantiles(level, mean, variance, integer)
        loss += float(np.mean(weight * np.maximum(level * error, (level - 1.0) * error)))
    return loss
