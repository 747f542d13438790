"""Demands before the anchor as coordinates of a history, where demand depends on more than the last one (Appendix G.1).

A censored one is the least that it was, and one before the first period as the anchor's.
"""

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.demand.censoring.runs import Runs
from lostsales.policy.view import View
from lostsales.types import Floats, Ints


def lags_of_rows(log: SalesLog, runs: Runs, rows: Ints, lags: int) -> Floats:
    """The lags - 1 demands before the anchor of rows of a log, the newest first, (rows, lags - 1)."""
    anchor, first = rows - 1 - runs.depth[rows], log.starts[log.series[rows]]
    columns = [
        np.where(anchor - back >= first, runs.observed.least[np.maximum(anchor - back, 0)], runs.anchor_demand[rows])
        for back in range(1, lags)
    ]
    return np.column_stack(columns) if columns else np.zeros((len(rows), 0))


def lags_of_view(view: View, lags: int) -> Floats:
    """The same of the open periods of a view, (rows, lags - 1)."""
    rows, depth = np.arange(len(view.stock)), view.depth.astype(np.int64)
    if lags == 1:
        return np.zeros((len(rows), 0))
    seen = [view.last_sales, *(each.view.last_sales for each in reversed(view.past))]
    anchor_demand = np.stack(seen)[np.minimum(depth, len(seen) - 1), rows]
    shown = np.zeros((len(rows), 0))
    if view.recent is not None:
        shown = view.recent.table(int(depth.max(initial=0)) + lags).shown
    columns = []
    for back in range(1, lags):
        at = shown.shape[1] - 1 - depth - back
        found = shown[rows, np.maximum(at, 0)] if shown.shape[1] else np.full(len(rows), np.nan)
        columns.append(np.where((at >= 0) & ~np.isnan(found), found, anchor_demand))
    return np.column_stack(columns)
