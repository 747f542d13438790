"""Metric that defines neighbours: covariates in units of demand, by censored least squares."""

from dataclasses import dataclass

import numpy as np

from lostsales.demand.survival.curve import kaplan_meier
from lostsales.types import Bools, Floats, Ints

RIDGE = 1e-3  # penalty on standardised slopes, per row
ITERATIONS = 10  # of Buckley and James's estimator


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
