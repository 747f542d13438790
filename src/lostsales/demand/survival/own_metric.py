"""The metric where series differ: covariates in shares of demand, around the level of each series."""

from dataclasses import dataclass, replace

import numpy as np

from lostsales.demand.survival.neighbour_loops import OwnRows
from lostsales.demand.survival.series_law import OWN_COLUMNS, CensoredFit, bounded_exp, ridge_step, standardised
from lostsales.types import Bools, Floats, Ints

ITERATIONS = 10
# A difference in relative standard deviation keeps rows of two series apart by so many times itself: residuals of rare
# demands are skewed, those of frequent ones are not.
DISPERSION_WEIGHT = 4.0


@dataclass(frozen=True, eq=False)
class OwnMetric:
    """Log-linear mean and standard deviation of demand given series and covariates; coordinates in shares of demand."""

    slopes: Floats  # (covariates,) of the logarithm of demand
    intercept: float
    noise: float  # factor on the variance of the series
    columns: Ints  # coordinates that differ between rows, the one of the largest effect first; without, all are alike

    @property
    def spread(self) -> float:
        """The bandwidth is in standard deviations of each row."""
        return 1.0

    def __call__(self, covariates: Floats) -> Floats:
        """Rows as points, whose distance is a difference in the logarithm of expected demand."""
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
        """The same with the mean and standard deviation of the series: rows of a series are not moved at all."""
        level, _, poisson, proportional, most = covariates[:, :OWN_COLUMNS].T
        level, spread = np.exp(level), np.sqrt(poisson + proportional)
        return OwnRows(level, level * spread, spread, most)

    def without_covariates(self) -> "OwnMetric":
        """All rows at one point, at the level of their series."""
        return replace(self, columns=self.columns[:0])


def _coordinates(covariates: Floats, slopes: Floats) -> Floats:
    _, effect, poisson, proportional, _ = covariates[:, :OWN_COLUMNS].T
    dispersion = DISPERSION_WEIGHT * np.sqrt(poisson + proportional)
    return np.column_stack([effect, dispersion, covariates[:, OWN_COLUMNS:] * slopes])


def learn_own_metric(covariates: Floats, demand: Floats, is_event: Bools) -> OwnMetric:
    """Slopes of the logarithm of demand that all series share, by Buckley and James's estimator."""
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
