"""Explanatory variables of prices and orders, and the share of each price that they leave unexplained."""

from dataclasses import dataclass

import numpy as np

from lostsales.data.splits import folds_of, hold_out
from lostsales.demand.audit.decision_panel import DecisionPanel
from lostsales.demand.audit.identifiability import by_price
from lostsales.types import Floats


@dataclass(frozen=True)
class Explained:
    """Share of the variance of prices and orders that a group of columns predicts in held-out rows."""

    by: str
    price: float
    order: float | None  # None in a demand-only log


@dataclass(frozen=True)
class FreePrice:
    """Frequency of a price, and the unexplained share of its variance."""

    what: str
    rows: int
    free: float  # share of the variance of "this price was set" that is not predicted; 1 if it is random


def explained_by(panel: DecisionPanel) -> tuple[Explained, ...]:
    """Explained shares by every group of columns alone, and by all together (the last)."""
    groups = _groups(panel)
    groups["all together"] = np.column_stack(list(groups.values()))
    return tuple(
        Explained(
            by=name,
            price=predicted_share(panel, panel.price, columns),
            order=None if panel.order is None else predicted_share(panel, panel.order, columns),
        )
        for name, columns in groups.items()
        if columns.shape[1]
    )


def free_prices(panel: DecisionPanel) -> tuple[FreePrice, ...]:
    """Unexplained variation of every price, or of groups of prices if they are many."""
    columns = np.column_stack(list(_groups(panel).values()))
    found = []
    for what, is_set in by_price(panel.log):
        own = is_set[panel.rows].astype(np.float64)
        share = predicted_share(panel, own, columns) if 0 < own.mean() < 1 else 1.0
        found.append(FreePrice(what, int(is_set.sum()), 1 - share))
    return tuple(found)


def predicted_share(panel: DecisionPanel, column: Floats, by: Floats) -> float:
    """Share of the variance of a column that least squares on others predicts out of fold, 0 where none."""
    kept = np.isfinite(column) & np.isfinite(by).all(axis=1)
    rows, y, design = panel.rows[kept], column[kept], np.column_stack([np.ones(kept.sum()), by[kept]])
    if len(y) < 2 * design.shape[1] or not np.var(y) > 0:
        return 0.0
    left = y - y.mean()
    for out, used in folds_of(hold_out(panel.log, gap=1), rows):
        if np.count_nonzero(used) > design.shape[1]:
            left[out] = y[out] - design[out] @ np.linalg.lstsq(design[used], y[used], rcond=1e-10)[0]
    return float(np.clip(1 - np.mean(left**2) / np.var(y), 0.0, 1.0))


def _groups(panel: DecisionPanel) -> dict[str, Floats]:
    nothing = np.zeros((len(panel.rows), 0))
    stock = nothing if panel.stock is None else panel.stock[:, None]
    return {
        "features": panel.features,
        "instruments": panel.instruments,
        "last sales": np.column_stack([panel.sales_at(-1), panel.sales_at(-2)]),
        "last price": panel.price_at(-1)[:, None],
        "stock": stock,
        "day of the week": panel.calendar,
    }
