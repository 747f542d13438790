"""What the law of a hidden demand may depend on, as a matrix, and the distance in which rows are neighbours."""

from dataclasses import dataclass

import numpy as np

from lostsales.data.encoding import attributes, feature_columns
from lostsales.data.log import SalesLog
from lostsales.demand.censoring.runs import Runs
from lostsales.demand.survival.curve import kaplan_meier
from lostsales.types import Bools, Floats, Ints

RIDGE = 1e-3
ROUNDS = 10


def market(log: SalesLog, rows: Ints) -> list[Floats]:
    """Features and price of each row."""
    return [*feature_columns(log.problem, log.features[rows].T), log.price[rows]]


def block_covariates(log: SalesLog, runs: Runs, rows: Ints, depth: int) -> Floats:
    """Covariates of rows at one depth (line 489).

    The anchor's demand, features and prices since the anchor, and what was available in the censored periods in
    between. Not today's order, stock or available: they are the censoring variable, or follow from it.
    """
    columns = [runs.anchor_demand[rows], *attributes(log, rows)]
    for back in range(depth + 1):
        columns += market(log, rows - back)
        if back:
            columns.append(runs.observed.available[rows - back])
    return np.column_stack(columns)


def market_covariates(log: SalesLog, rows: Ints) -> Floats:
    """Covariates where no history is known."""
    return np.column_stack([*attributes(log, rows), *market(log, rows)])


@dataclass(frozen=True, eq=False)
class Metric:
    """Coordinates in units of demand: each covariate times what demand changes with it."""

    slopes: Floats  # (covariates,)
    spread: float  # standard deviation of what the covariates leave open, 1 where they leave nothing
    columns: Ints  # covariates that matter, the one that moves demand most first

    def __call__(self, covariates: Floats) -> Floats:
        """Rows as points; the distance between two is a difference in expected demand, coordinate by coordinate."""
        return np.ascontiguousarray(covariates[:, self.columns] * self.slopes[self.columns])


def learn_metric(covariates: Floats, demand: Floats, known: Bools) -> Metric:
    """Slopes of demand by Buckley and James's censored least squares, lightly shrunk.

    Each round fills censored demands with their mean given the last slopes and Kaplan-Meier's law of the residuals,
    then fits again. A covariate that never varies gets slope 0.
    """
    centre, scale = covariates.mean(axis=0), covariates.std(axis=0)
    varies = scale > 1e-12 * (1 + np.abs(centre))
    design = np.where(varies, (covariates - centre) / np.where(varies, scale, 1.0), 0.0)
    design = np.column_stack([np.ones(len(design)), design])
    penalty = RIDGE * len(design) * np.diag(np.r_[0.0, np.ones(len(centre))]) + np.diag(np.r_[0.0, ~varies * 1.0])
    gram = design.T @ design + penalty
    filled = demand
    for _ in range(ROUNDS):
        fitted = design @ np.linalg.solve(gram, design.T @ filled)
        residual = demand - fitted
        filled = np.where(known, demand, np.maximum(demand, fitted + _mean_above(residual, known)))
    slopes = np.linalg.solve(gram, design.T @ filled)[1:]
    spread = float(np.sqrt(np.mean((filled - fitted) ** 2)))
    spread = spread if spread > 1e-9 * (1 + float(np.abs(demand).max())) else 1.0
    moves = np.where(varies, np.abs(slopes), 0.0)
    columns = np.argsort(-moves, kind="stable")[: max(1, np.count_nonzero(moves))]
    return Metric(np.where(varies, slopes / np.where(varies, scale, 1.0), 0.0), spread, columns)


def _mean_above(residual: Floats, known: Bools) -> Floats:
    """E[e | e > own value] under Kaplan-Meier's law of the residuals, the largest counted as known."""
    events = known | (residual == residual.max())
    curve = kaplan_meier(residual, events, integer=False)
    mass = -np.diff(np.r_[1.0, curve.survival])
    above_mass = np.r_[np.cumsum(mass[::-1])[::-1], 0.0]
    above_mean = np.r_[np.cumsum((mass * curve.times)[::-1])[::-1], 0.0]
    at = np.searchsorted(curve.times, residual, side="right")
    return np.where(above_mass[at] > 1e-12, above_mean[at] / np.maximum(above_mass[at], 1e-12), residual)
