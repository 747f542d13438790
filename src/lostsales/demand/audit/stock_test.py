"""A test of Assumption 4: given the rest, demand does not depend on stock."""

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import ndtr

from lostsales.data.log import SalesLog
from lostsales.data.splits import hold_out
from lostsales.demand.censoring.runs import LEAST_ROWS, Runs
from lostsales.demand.survival.beran import fit_neighbourhood
from lostsales.demand.survival.depth_groups import Group, block_covariates, not_truncated, own_covariates
from lostsales.demand.survival.series_law import ProductCounts
from lostsales.demand.survival.tail import Bound

MOST_ROWS = 5_000  # of the test; of more rows a random sample is used


@dataclass(frozen=True)
class StockTest:
    """Test of the dependence of demand on available units; z above 0: demand is higher if more was available."""

    z: float  # NaN where it cannot be tested
    p_value: float
    rows: int
    why_not: str = ""  # why it cannot be tested


def stock_independence(log: SalesLog, runs: Runs, seed: int = 0) -> StockTest:
    """Covariance of two residuals, given features, price and the last demand (generalised covariance measure).

    One is the martingale residual of demand, is_observed_t - H(demand_t | x_t), with mean 0 whatever was available if
    demand does not depend on it; the other is what was available less its mean among the neighbours. Curves and means
    leave out the series of the row; the variance is taken over series.
    """
    if log.demand_only:
        return StockTest(np.nan, np.nan, 0, "the log has no stock")
    own = ProductCounts.of(log, runs)
    log, runs = own.log, own.runs
    rows = np.flatnonzero((runs.depth == 0) & not_truncated(log, runs) & ~runs.observed.is_partial)
    if len(rows) < 2 * LEAST_ROWS or not runs.observed.is_observed[rows].any():
        return StockTest(np.nan, np.nan, len(rows), "too few rows follow a known demand")
    if len(rows) > MOST_ROWS:
        rows = np.sort(np.random.default_rng(seed).choice(rows, MOST_ROWS, replace=False))
    observed, holdout, law = runs.observed, hold_out(log, gap=1, by_blocks=own.differ), own.law(None, seed)
    bound = Bound(float(observed.available[rows].max()), "to_max", observed.integer)
    block = partial(block_covariates, log, runs) if law is None else partial(own_covariates, log, runs, law)
    group = Group("0", rows, rows, partial(block, depth=0), True, own.differ)
    near = fit_neighbourhood(group, observed, holdout, bound, seed)
    covariates = group.covariates(rows)
    of_rows = near.own_rows(covariates)
    hazard, supply = near.sample.hazard_and_supply(
        near.metric(covariates),
        observed.demand[rows],
        holdout.lower[rows],
        holdout.upper[rows],
        near.bandwidth,
        of_rows,
    )
    extra = np.nan_to_num(observed.available[rows] - supply) / (1.0 if of_rows is None else of_rows.sd)
    if not extra.std() > 1e-9:
        return StockTest(np.nan, np.nan, len(rows), "what was available never varied")
    product = (observed.is_observed[rows] - hazard) * extra
    by_unit = np.bincount(holdout.unit[rows], weights=product, minlength=holdout.units)
    spread = np.sqrt(np.sum(by_unit**2))
    if not spread > 0:
        return StockTest(np.nan, np.nan, len(rows), "demand never varied")
    z = float(-by_unit.sum() / spread)
    return StockTest(z, float(2 * ndtr(-abs(z))), len(rows))
