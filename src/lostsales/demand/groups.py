"""Rows whose hidden demand follows one law: those of a depth, with the covariates of that depth."""

from dataclasses import dataclass

import numpy as np

from lostsales.arrays import Floats, Ints
from lostsales.data.log import SalesLog
from lostsales.demand.covariates import block_covariates, market, market_covariates
from lostsales.demand.runs import LEAST_ROWS, Runs

# A depth needs so many rows for each of its covariates to have a law of its own.
ROWS_A_COVARIATE = 3


@dataclass(frozen=True, eq=False)
class Group:
    """Rows to learn from and rows to fill, with their covariates."""

    name: str
    learn: Ints  # (learn,) rows
    learn_covariates: Floats  # (learn, covariates)
    fill: Ints  # (fill,) rows, all censored
    fill_covariates: Floats  # (fill, covariates)
    known_history: bool


def depth_groups(log: SalesLog, runs: Runs) -> list[Group]:
    """One group a depth; depths with too few rows share one, and so do rows before the first known demand."""
    at_depth = np.bincount(runs.depth[runs.depth >= 0], minlength=1)
    width = len(market(log, np.zeros(1, dtype=np.int64))) + 1
    enough = at_depth >= np.maximum(LEAST_ROWS, ROWS_A_COVARIATE * width * np.arange(1, len(at_depth) + 1))
    own = len(enough) if enough.all() else int(np.argmin(enough))
    groups = []
    for depth in range(own + 1):
        rows = np.flatnonzero(runs.depth == depth if depth < own else runs.depth >= own)
        name = str(depth) if depth < own else f"{own} and deeper"
        groups.append(_group(name, rows, block_covariates(log, runs, rows, depth), log, runs))
    adrift = np.flatnonzero((runs.depth < 0) & ~runs.observed.known)
    if len(adrift):
        learn = not_truncated(log, runs, np.arange(len(log)))
        covariates = market_covariates(log, learn)
        groups.append(Group("no history", learn, covariates, adrift, market_covariates(log, adrift), False))
    return [group for group in groups if len(group.fill)]


def not_truncated(log: SalesLog, runs: Runs, rows: Ints) -> Ints:
    """Those of `rows` that the rule of the longest run cannot have touched, which shows a cut demand as a known one."""
    longest = log.problem.longest_run
    if longest is None:
        return rows
    sold_out = runs.observed.demand[rows] >= runs.observed.least[rows]
    return rows[~((runs.depth[rows] >= longest) & sold_out)]


def _group(name: str, rows: Ints, covariates: Floats, log: SalesLog, runs: Runs) -> Group:
    learn = np.isin(rows, not_truncated(log, runs, rows), assume_unique=True)
    hidden = ~runs.observed.known[rows]
    return Group(name, rows[learn], covariates[learn], rows[hidden], covariates[hidden], True)
