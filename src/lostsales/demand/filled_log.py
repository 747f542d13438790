"""Imputed log as a table, and its summary."""

from pathlib import Path
from typing import Any, get_args

import numpy as np

from lostsales.data.labels import beside
from lostsales.data.log import SalesLog
from lostsales.data.writing import write_table
from lostsales.demand.imputing import MODEL
from lostsales.demand.stockout_loss import StockoutLoss
from lostsales.demand.survival.imputation import Imputation
from lostsales.demand.survival.imputers import IMPUTERS
from lostsales.demand.survival.tail import Tail
from lostsales.errors import SettingError
from lostsales.types import Array


def check_choice(estimator: str | None, tail: str | None) -> tuple[str | None, Tail | None]:
    """Check the names of an estimator and a tail rule (None for the default); an error lists the valid ones."""
    tails: dict[str | None, Tail | None] = {None: None} | {each: each for each in get_args(Tail)}
    for what, name, names in (("estimator", estimator, (MODEL, *IMPUTERS.names)), ("tail", tail, get_args(Tail))):
        if name is not None and name not in names:
            raise SettingError(f"{what} must be one of {', '.join(names)}, but {name!r} came")
    return estimator, tails[tail]


def filled_columns(log: SalesLog, filled: Imputation) -> dict[str, Array]:
    """Columns of the log and the imputed ones; `tail` names the rule used for rows that are not identified.

    An imputed column whose name is taken by a column of the log gets the prefix `imputed_`.
    """
    unknown, own = np.full(len(log), np.nan), log.table_columns
    filled_in: dict[str, Array] = {
        "expected_demand": filled.expected_demand,
        "expected_lost": filled.expected_lost,
        "profit_filled": unknown if filled.profit_filled is None else filled.profit_filled,
        "profit_filled_se": unknown if filled.profit_filled_se is None else filled.profit_filled_se,
        "identified": filled.identified,
        "tail": np.where(filled.identified, "", filled.tail).astype(object),
    }
    return own | beside(filled_in, own, "imputed_")


def write_filled(log: SalesLog, filled: Imputation, path: str | Path) -> None:
    """Write the imputed log as Parquet or CSV."""
    write_table(filled_columns(log, filled), path)


def summary(
    log: SalesLog, filled: Imputation, earned: float | None = None, loss: StockoutLoss | None = None
) -> dict[str, Any]:
    """Summary for `lostsales impute`; `earned` is the mean profit under a demand model, as in `evaluate`."""
    hidden = filled.hidden
    column = None if filled.profit_filled is None else float(filled.profit_filled.mean())
    return {
        "stockout_loss": None if loss is None else loss.as_json(),
        "rows": len(log),
        "censored_rows": int(hidden.sum()),
        "identified_rows": int((hidden & filled.identified).sum()),
        "mean_expected_lost": float(filled.expected_lost[hidden].mean()) if hidden.any() else 0.0,
        "mean_cash": None if filled.profit_filled is None else float(log.cash.mean()),
        "mean_profit_filled": column if earned is None else earned,
        "mean_profit_column": column,
        "demand_max": filled.demand_max,
        "tail": filled.tail,
        "bandwidths": filled.bandwidths,
        "resampled": filled.resampled,
    }
