"""Metrics that define neighbours: covariates by their effect on demand, in units of it or relative to each product."""

from dataclasses import dataclass, replace

import numpy as np

from lostsales.demand.survival.curve import kaplan_meier
from lostsales.demand.survival.neighbour_loops import OwnRows
from lostsales.demand.survival.series_law import OWN_COLUMNS, CensoredFit, bounded_exp, ridge_step, standardised
from lostsales.types import Bools, Floats, Ints

RIDGE = 1e-3  # penalty on standardised slopes, per row
ITERATIONS = 10  # of Buckley and James's estimator
# Weight of a difference in relative standard deviation in the distance of two rows: residuals of intermittent demand
# are skewed, those of frequent demand are not.
DISPERSION_WEIGHT = 4.0


@dataclass(frozen=True, eq=False)
class Metric:
    """Coordinates in units of demand: each covariate times its slope."""

    slopes: Floats  # (covariates,)
    spread: float  # residual standard deviation, 1 if it is 0
    columns: Ints  # covariates with a slope, the largest effect first

    def __call__(self, covariates: Floats) -> Floats:
        """Points of rows; each coordinate of their difference is a difference in expected demand."""
        return np.ascontiguousarray(covariates[:, self.columns] * self.slopes[self.columns])


def learn_metric(covariates: Floats, demand: Floats, is_event: Bools) -> Metric:
    """Slopes of demand by the estimator of Buckley and James (1979), with a small ridge penalty.

    Each iteration imputes censored demands by their mean given the last slopes and the Kaplan-Meier curve of the
    residuals, then fits again. A constant covariate has slope 0.
    """
    centre, scale = covariates.mean(axis=0), covariates.std(axis=0)
    varies = scale > 1e-12 * (1 + np.abs(centre))
    design = np.where(varies, (covariates - centre) / np.where(varies, scale, 1.0), 0.0)
    design = np.column_stack([np.ones(len(design)), design])
    penalty = RIDGE * len(design) * np.diag(np.r_[0.0, np.ones(len(centre))]) + np.diag(np.r_[0.0, ~varies * 1.0])
    gram = design.T @ design + penalty
    filled = demand
    for _ in range(ITERATIONS):
        fitted = design @ np.linalg.solve(gram, design.T @ filled)
        residual = demand - fitted
        filled = np.where(is_event, demand, np.maximum(demand, fitted + _mean_above(residual, is_event)))
    slopes = np.linalg.solve(gram, design.T @ filled)[1:]
    spread = float(np.sqrt(np.mean((filled - fitted) ** 2)))
    spread = spread if spread > 1e-9 * (1 + float(np.abs(demand).max())) else 1.0
    moves = np.where(varies, np.abs(slopes), 0.0)
    columns = np.argsort(-moves, kind="stable")[: max(1, np.count_nonzero(moves))]
    return Metric(np.where(varies, slopes / np.where(varies, scale, 1.0), 0.0), spread, columns)


def _mean_above(residual: Floats, is_event: Bools) -> Floats:
    """Conditional means E[e | e > own value] under the Kaplan-Meier curve of the residuals; the largest is an event."""
    is_event = is_event | (residual == residual.max())
    curve = kaplan_meier(residual, is_event, integer=False)
    mass = -np.diff(np.r_[1.0, curve.survival])
    above_mass = np.r_[np.cumsum(mass[::-1])[::-1], 0.0]
    above_mean = np.r_[np.cumsum((mass * curve.times)[::-1])[::-1], 0.0]
    at = np.searchsorted(curve.times, residual, side="right")
    return np.where(above_mass[at] > 1e-12, above_mean[at] / np.maximum(above_mass[at], 1e-12), residual)


@dataclass(frozen=True, eq=False)
class OwnMetric:
    """Log-linear model of mean and standard deviation given series and covariates; coordinates are relative demand."""

    slopes: Floats  # (covariates,) of the logarithm of demand
    intercept: float
    noise: float  # factor on the variance of the series
    columns: Ints  # coordinates that differ between rows, the largest effect first; empty: one point for all rows

    @property
    def spread(self) -> float:
        """Scale of the bandwidth: 1, in standard deviations of each row."""
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
