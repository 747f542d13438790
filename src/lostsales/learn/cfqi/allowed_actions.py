"""Actions of the maximum in the targets of Q: those that the deployed policy is allowed."""

from dataclasses import replace

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.demand.censoring.runs import Runs
from lostsales.learn.cfqi.partition import Partition
from lostsales.learn.cfqi.safe_actions import SafeActions
from lostsales.learn.cfqi.support import Support
from lostsales.policy.action_grid import ActionGrid
from lostsales.policy.history import limits_of_rows
from lostsales.policy.rules import Rules
from lostsales.types import Bools, Ints

CHUNK = 20_000


def allowed_actions(
    log: SalesLog,
    runs: Runs,
    part: Partition,
    grid: ActionGrid,
    safe: SafeActions,
    rules: Rules,
    safe_boundary: bool,
    supports: tuple[Support, ...] | None = None,  # by depth
) -> tuple[Bools | None, Bools | None]:
    """Masks (rows, actions) after the observed and after the censored rows of a depth; None where all are allowed."""
    unlimited = rules == Rules() and np.isinf(grid.room) and supports is None
    unlimited &= limits_of_rows(log, part.rows[:0]) is None
    if unlimited and (not safe_boundary or runs.longest == 0):
        return None, None
    masks: list[Bools | None] = []
    observed, actions, n_orders = part.is_observed, grid.pairs, len(grid.orders)
    at_0 = np.zeros(int(observed.sum()), dtype=np.int64)
    for chosen, next_depth, block, learned in (
        (observed, at_0, part.next_observed, 0),
        (~observed, part.next_depth, part.next_censored, max(part.next_learned, 1)),
    ):
        rows = part.rows[chosen]
        may = np.empty((len(rows), len(grid)), dtype=bool)
        for start in range(0, len(rows), CHUNK):
            here = np.arange(start, min(start + CHUNK, len(rows)))
            may[here] = _feasible(log, rows[here], grid, rules)
            if supports is not None:
                may[here] = supports[learned].mask(block[here], may[here], actions, n_orders)[0]
            for each in np.unique(next_depth[here]) if safe_boundary else ():
                there = here[next_depth[here] == each]
                may[there] = safe.mask(int(each), block[there], may[there], actions)[0]
        masks.append(None if may.all() else may)
    return masks[0], masks[1]


def _feasible(log: SalesLog, rows: Ints, grid: ActionGrid, rules: Rules) -> Bools:
    """Actions that the rules allow in the periods after rows, (rows, actions)."""
    assert log.costs is not None  # or the log had been refused
    own, most = rules.of_names(log.names[log.series[rows]]), limits_of_rows(log, rows + 1)
    grid = replace(grid, unit_cost=log.costs.at(rows + 1).order)
    return own.feasible(grid, np.asarray(log.stock)[rows + 1], log.price[rows], log.features_by_name(rows + 1), most)
