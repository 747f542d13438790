"""The rows of a log by depth, ready for fitted Q-iteration (O_N^(i), Section 3.6)."""

from dataclasses import dataclass, field

import numpy as np

from lostsales.data.encoding import attribute_columns
from lostsales.data.log import SalesLog
from lostsales.demand.censoring.runs import Runs
from lostsales.policy.history import blocks_of_rows
from lostsales.policy.view import View
from lostsales.types import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class Partition:
    """The rows of one depth; at max_depth those of greater depth too."""

    rows: Ints  # (rows,) of the log
    block: Floats  # (rows, coordinates)
    action: Floats  # (rows, 2) price and order
    profit: Floats  # (rows,) R*, imputed where censored
    is_observed: Bools  # (rows,)
    next_observed: Floats  # (observed rows, coordinates at depth 0) W_{t+1}
    # After a stock-out; nothing where every demand is observed.
    next_censored: Floats = field(
        default_factory=lambda: np.zeros((0, 0))
    )  # (censored rows, coordinates at next_learned)
    next_depth: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # (censored rows,)
    next_learned: int = 0  # depth of the Q that goes on


def single_partition(log: SalesLog, profit: Floats) -> Partition:
    """All rows at depth 0, for independent demand: a stock-out censors profit but no state."""
    rows = np.flatnonzero(log.has_next)
    zero, known = np.zeros(len(rows)), attribute_columns(log)[1][log.series[rows]]
    return Partition(
        rows=rows,
        block=blocks_of_rows(log, zero, rows, 0, attributes=known),
        action=_actions(log, rows),
        profit=profit[rows],
        is_observed=np.ones(len(rows), dtype=bool),
        next_observed=blocks_of_rows(log, zero, rows + 1, 0, attributes=known),
    )


def partition(log: SalesLog, runs: Runs, profit: Floats, lags: int = 1) -> list[Partition]:
    """The usable rows of every depth up to `max_depth`, whose part has all deeper ones."""
    parts, observed = [], runs.observed
    for depth in range(runs.max_depth + 1):
        rows = np.flatnonzero(runs.usable & (runs.learned_depth == depth))
        is_observed = observed.is_observed[rows]
        ends, goes_on = rows[is_observed], rows[~is_observed]
        to = min(depth + 1, runs.max_depth)
        parts.append(
            Partition(
                rows=rows,
                block=blocks_at_depth(log, runs, rows, depth, lags),
                action=_actions(log, rows),
                profit=profit[rows],
                is_observed=is_observed,
                next_observed=blocks_at_depth(log, runs, ends + 1, 0, lags),
                next_censored=blocks_at_depth(log, runs, goes_on + 1, to, lags),
                next_depth=runs.depth[goes_on] + 1,
                next_learned=to,
            )
        )
    return parts


def blocks_at_depth(log: SalesLog, runs: Runs, rows: Ints, depth: int, lags: int = 1) -> Floats:
    """The histories of rows as the Q of a depth takes them, (rows, coordinates)."""
    known, length = attribute_columns(log)[1][log.series[rows]], runs.run_length(rows, depth)
    earlier = lags_of_rows(log, runs, rows, lags)
    more = np.hstack([known, earlier] if length is None else [known, earlier, length])
    return blocks_of_rows(log, runs.anchor_demand[rows], rows, depth, attributes=more)


def _actions(log: SalesLog, rows: Ints) -> Floats:
    """Price and order of rows, (rows, 2)."""
    return np.column_stack([log.price[rows], np.asarray(log.order)[rows]])


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
