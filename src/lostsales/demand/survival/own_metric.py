"""Metric if series differ: covariates by their relative effect on demand, around the level of each series."""

from dataclasses import dataclass, replace

import numpy as np

from lostsales.demand.survival.neighbour_loops import OwnRows
from lostsales.demand.survival.series_law import OWN_COLUMNS, CensoredFit, bounded_exp, ridge_step, standardised
from lostsales.types import Bools, Floats, Ints

ITERATIONS = 10  # of Buckley and James's estimator
# Weight of a difference in relative standard deviation in the distance of two rows: residuals of intermittent demand
# are skewed, those of frequent demand are not.
DISPERSION_WEIGHT = 4.0


@dataclass(frozen=True, eq=False)
class OwnMetric:
    """Log-linear model of mean and standard deviation given series and covariates; coordinates are relative demand."""

    slopes: Floats  # (covariates,) of the logarithm of demand
    intercept: float
    noise: float  # factor on the variance of the series
    columns: Ints  # coordinates that differ between rows, the largest effect first; empty: one point for all rows

    @property
    def spread(self) -> float:
        """Scale of the bandwidth: 1, as it is in standard deviations of each row."""
        return 1.0

    def __call__(self, covariates: Floats) -> Floats:
        """Points of rows; their distance is a difference in the logarithm of expected demand."""
        if not len(self.columns):
            return np.zeros((len(covariates), 1))
        return np.ascontiguousarray(_coordinates(covariates, self.slopes)[:, self.columns])

    def rows(self, covariates: Floats) -> OwnRows:
        """Mean, standard deviation, bandwidth and largest demand of rows."""
        if not len(self.columns):
            return self.unmoved(covariates)
        level, effect, poisson, proportional, most = covariates[:, :OWN_COLUMNS].T
        relative = bounded_exp(effect + self.intercept + covariates[:, OWN_COLUMNS:] @ self.slopes)
        level, spread = np.exp(level), np.sqrt(poisson + proportional)
        sd = np.sqrt(self.noise * (poisson * relative + proportional * relative**2))
        return OwnRows(level * relative, level * sd, spread, most)

    def unmoved(self, covariates: Floats) -> OwnRows:
        """Mean and standard deviation of the series instead of the row, so that rows of one series are not moved."""
        level, _, poisson, proportional, most = covariates[:, :OWN_COLUMNS].T
        level, spread = np.exp(level), np.sqrt(poisson + proportional)
        return OwnRows(level, level * spread, spread, most)

    def without_covariates(self) -> "OwnMetric":
        """Metric with all rows at one point, at the level of their series."""
        return replace(self, columns=self.columns[:0])


def _coordinates(covariates: Floats, slopes: Floats) -> Floats:
    _, effect, poisson, proportional, _ = covariates[:, :OWN_COLUMNS].T
    dispersion = DISPERSION_WEIGHT * np.sqrt(poisson + proportional)
    return np.column_stack([effect, dispersion, covariates[:, OWN_COLUMNS:] * slopes])


def learn_own_metric(covariates: Floats, demand: Floats, is_event: Bools) -> OwnMetric:
    """Slopes of log demand common to all series, by Buckley and James's estimator."""
    log_level, effect, poisson, proportional, _ = covariates[:, :OWN_COLUMNS].T
    level = np.exp(log_level)
    design, centre, scale, varies = standardised(covariates[:, OWN_COLUMNS:])
    fit = CensoredFit.of(demand / level, is_event, poisson)
    beta, noise = np.zeros(design.shape[1]), 1.0
    for _ in range(ITERATIONS):
        mean = bounded_exp(effect + design @ beta)
        usual = poisson * mean + proportional * mean**2 + 1e-12
        filled, square = fit.filled(mean, noise * usual, poisson + proportional)
        beta += ridge_step(design, mean**2 / usual, mean**2 / usual * (filled / mean - 1))
        noise = float(np.clip(np.mean(square / usual), 1e-2, 1e2))
    slopes = np.where(varies, beta[1:] / scale, 0.0)
    moves = _coordinates(covariates, slopes).std(axis=0)
    columns = np.argsort(-moves, kind="stable")[: np.count_nonzero(moves > 1e-12)]
    return OwnMetric(slopes, float(beta[0] - centre @ slopes), noise, columns)
