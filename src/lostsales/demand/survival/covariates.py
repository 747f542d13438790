"""Covariates of a censored demand, as matrices."""

import numpy as np

from lostsales.data.encoding import attributes, feature_columns
from lostsales.data.log import SalesLog
from lostsales.demand.censoring.runs import Runs
from lostsales.demand.survival.series_law import SeriesLaw
from lostsales.types import Floats, Ints


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
