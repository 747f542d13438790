"""Groups of rows that share one model of censored demand: those of a depth, with the covariates of that depth."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from lostsales.data.encoding import attributes, feature_columns
from lostsales.data.log import SalesLog
from lostsales.demand.censoring.runs import LEAST_ROWS, Runs
from lostsales.demand.survival.series_law import SeriesLaw
from lostsales.types import Bools, Floats, Ints


def market(log: SalesLog, rows: Ints) -> list[Floats]:
    """Features and price of each row."""
    return [*feature_columns(log.problem.features, log.features[rows].T), log.price[rows]]


def block_covariates(log: SalesLog, runs: Runs, rows: Ints, depth: int) -> Floats:
    """Covariates of rows at one depth (Lemma 4).

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
    """Covariates of rows without history."""
    return np.column_stack([*attributes(log, rows), *market(log, rows)])


def own_market_covariates(log: SalesLog, law: SeriesLaw, rows: Ints) -> Floats:
    """Covariates of rows without history if series differ: those of their series, and the market."""
    return np.column_stack([law.columns(log, rows), *_own_market(log, law, rows)])


def own_covariates(log: SalesLog, runs: Runs, law: SeriesLaw, rows: Ints, depth: int) -> Floats:
    """Covariates of rows at one depth if series differ: those of `block_covariates`, relative to the series."""
    columns = [law.columns(log, rows), law.log_quantity(log, rows, runs.anchor_demand[rows])]
    for back in range(depth + 1):
        columns += _own_market(log, law, rows - back)
        if back:
            columns.append(law.log_quantity(log, rows, runs.observed.available[rows - back]))
    return np.column_stack(columns)


def _own_market(log: SalesLog, law: SeriesLaw, rows: Ints) -> list[Floats]:
    return [*feature_columns(log.problem.features, log.features[rows].T), law.log_price(log, rows)]


ROWS_A_COVARIATE = 3  # rows per covariate that a depth needs for a model of its own
# Deeper rows share a model: older periods carry little information, and the covariates grow with the depth.
MOST_DEPTHS = 20
# Rows to learn from by default: more would not reduce an error that matters, and slow down every imputed row.
MOST_ROWS = 10_000
MOST_CELLS, LEAST_SAMPLED = 200_000, 2_000  # rows times covariates to learn from, but at least this many rows


@dataclass(frozen=True, eq=False)
class Group:
    """Rows to learn from and rows to impute; covariates are computed when needed, not for the whole log."""

    name: str
    learn: Ints  # (learn,) rows
    fill: Ints  # (fill,) rows, all censored
    covariates: Callable[[Ints], Floats]  # of rows
    has_history: bool
    own_units: bool = False  # covariates are those of `own_covariates`


def depth_groups(
    log: SalesLog,
    runs: Runs,
    only: Bools | None = None,
    seed: int = 0,
    most_rows: int = MOST_ROWS,
    law: SeriesLaw | None = None,
) -> list[Group]:
    """Split rows into one group per depth; depths with few rows share one, as do rows before the first observed demand.

    `only` restricts the rows to impute; `law` is the demand model of each series if series differ.
    """
    rng = np.random.default_rng(seed)
    whole = not_truncated(log, runs) & runs.observed.is_learnable
    hidden = ~runs.observed.is_observed if only is None else ~runs.observed.is_observed & only

    def group(name: str, rows: Bools, covariates: Callable[[Ints], Floats], learn: Bools, has_history: bool) -> Group:
        chosen = np.flatnonzero(learn if learn.any() else rows)
        # Deep histories have many covariates, and each one costs time in every comparison of two rows.
        most = min(most_rows, max(LEAST_SAMPLED, MOST_CELLS // max(covariates(chosen[:1]).shape[1], 1)))
        if len(chosen) > most:
            chosen = np.sort(rng.choice(chosen, most, replace=False))
        return Group(name, chosen, np.flatnonzero(rows & hidden), covariates, has_history, law is not None)

    groups = []
    own = _separate_depths(log, runs)
    for depth in range(own + 1):
        rows = runs.depth == depth if depth < own else runs.depth >= own
        name = str(depth) if depth < own else f"{own} and deeper"
        block = partial(block_covariates, log, runs) if law is None else partial(own_covariates, log, runs, law)
        groups.append(group(name, rows, partial(block, depth=depth), rows & whole, True))
    market = partial(market_covariates, log) if law is None else partial(own_market_covariates, log, law)
    groups.append(group("no history", runs.depth < 0, market, whole, False))
    return [each for each in groups if len(each.fill)]


def _separate_depths(log: SalesLog, runs: Runs) -> int:
    """Number of depths 0, 1, ... with enough rows of their own, such that the deeper ones together have enough too."""
    at_depth = np.bincount(runs.depth[(runs.depth >= 0) & runs.observed.is_learnable], minlength=1)
    width = len(market(log, np.zeros(1, dtype=np.int64))) + 1
    needed = np.maximum(LEAST_ROWS, ROWS_A_COVARIATE * width * np.arange(1, len(at_depth) + 1))
    own = 0
    while own < min(len(at_depth), MOST_DEPTHS) and at_depth[own] >= needed[own]:
        own += 1
    while own and 0 < at_depth[own:].sum() < needed[own]:
        own -= 1
    return own


def not_truncated(log: SalesLog, runs: Runs) -> Bools:
    """Mask of rows, except those where the longest-run rule may record a truncated demand as an observed one."""
    longest, observed = log.problem.longest_run, runs.observed
    if longest is None:
        return np.ones(len(log), dtype=bool)
    return ~((runs.depth >= longest) & observed.is_observed & (observed.demand >= observed.available))
