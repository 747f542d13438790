"""Actions of the maximum in the targets of Q: those that the deployed policy is allowed."""

from dataclasses import replace

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.demand.censoring.runs import Runs
from lostsales.learn.cfqi.own_actions import OwnActions
from lostsales.learn.cfqi.partition import Partition
from lostsales.learn.cfqi.safe_actions import SafeActions
from lostsales.learn.cfqi.support import Support
from lostsales.policy.history import limits_of_rows
from lostsales.policy.own_range import OwnRange
from lostsales.policy.rules import Rules
from lostsales.types import Bools, Floats, Ints

CHUNK = 20_000


def allowed_actions(
    log: SalesLog,
    runs: Runs,
    part: Partition,
    actions: OwnActions,
    safe: SafeActions,
    rules: Rules,
    safe_boundary: bool,
    limits: OwnRange | None = None,  # by series
    supports: tuple[Support, ...] | None = None,  # by depth
) -> tuple[Bools | None, Bools | None]:
    """Masks (rows, actions) after the observed and after the censored rows of a depth; None where all are allowed."""
    unlimited = rules == Rules() and np.isinf(actions.room) and limits is None and supports is None
    unlimited &= limits_of_rows(log, part.rows[:0]) is None
    if unlimited and (not safe_boundary or runs.longest == 0):
        return None, None
    masks: list[Bools | None] = []
    observed, usual, scale = part.is_observed, np.asarray(part.usual_price), np.asarray(part.scale)
    at_0 = np.zeros(int(observed.sum()), dtype=np.int64)
    for chosen, next_depth, block, learned in (
        (observed, at_0, part.next_observed, 0),
        (~observed, part.next_depth, part.next_censored, max(part.next_learned, 1)),
    ):
        rows = part.rows[chosen]
        multiple = None if part.order_multiple is None else part.order_multiple[chosen]
        may = np.empty((len(rows), len(actions)), dtype=bool)
        for start in range(0, len(rows), CHUNK):
            some = slice(start, start + CHUNK)
            cases = None if multiple is None else multiple[some]
            units = usual[chosen][some], scale[chosen][some], cases
            may[some] = _feasible(log, rows[some], actions, rules, units, limits)
        for at, own in actions.groups(usual[chosen], scale[chosen], multiple):
            for start in range(0, len(at), CHUNK):
                here = at[start : start + CHUNK]
                if supports is not None:
                    may[here] = supports[learned].mask(block[here], may[here], own, actions.n_orders)[0]
                for each in np.unique(next_depth[here]) if safe_boundary else ():
                    there = here[next_depth[here] == each]
                    may[there] = safe.mask(int(each), block[there], may[there], own)[0]
        masks.append(None if may.all() else may)
    return masks[0], masks[1]


def _feasible(
    log: SalesLog,
    rows: Ints,
    actions: OwnActions,
    rules: Rules,
    units: tuple[Floats, Floats, Floats | None],  # usual price, scale and order multiple
    limits: OwnRange | None,
) -> Bools:
    """Actions that the rules allow in the periods after rows, (rows, actions)."""
    assert log.costs is not None  # or the log had been refused
    grid = actions.grid(*units, unit_cost=log.costs.at(rows + 1).order)
    own, seen = rules.of_names(log.names[log.series[rows]]), None if limits is None else limits.rows(log.series[rows])
    if seen is not None:
        grid = replace(grid, prices=seen.prices_within(grid.prices, own))
    most = limits_of_rows(log, rows + 1)
    may = own.feasible(grid, np.asarray(log.stock)[rows + 1], log.price[rows], log.features_by_name(rows + 1), most)
    return may if seen is None else seen.allowed(grid, may)
