"""Actions of the maximum in the targets of Q: those that the deployed policy is allowed."""

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.demand.censoring.runs import Runs
from lostsales.learn.cfqi.own_actions import OwnActions
from lostsales.learn.cfqi.partition import Partition
from lostsales.learn.cfqi.safe_actions import SafeActions
from lostsales.policy.history import limits_of_rows
from lostsales.policy.own_range import OwnRange
from lostsales.policy.rules import Rules
from lostsales.types import Bools, Floats, Ints

CHUNK = 20_000


def allowed_actions(
    log: SalesLog,
    runs: Runs,
    part: Partition,
    depth: int,
    actions: OwnActions,
    safe: SafeActions,
    rules: Rules,
    safe_boundary: bool,
    limits: OwnRange | None = None,  # by series
) -> tuple[Bools | None, Bools | None]:
    """Masks (rows, actions) after the observed and after the censored rows of a depth; None where all are allowed."""
    unlimited = rules == Rules() and np.isinf(actions.room) and limits is None
    unlimited &= limits_of_rows(log, part.rows[:0]) is None
    if unlimited and (not safe_boundary or runs.max_depth == 0):
        return None, None
    masks: list[Bools | None] = []
    observed, usual, scale = part.is_observed, np.asarray(part.usual_price), np.asarray(part.scale)
    for chosen, next_depth, block in ((observed, 0, part.next_observed), (~observed, depth + 1, part.next_censored)):
        if block is None:
            masks.append(None)
            continue
        rows = part.rows[chosen]
        may = np.empty((len(rows), len(actions)), dtype=bool)
        for start in range(0, len(rows), CHUNK):
            some = slice(start, start + CHUNK)
            may[some] = _feasible(log, rows[some], actions, rules, usual[chosen][some], scale[chosen][some], limits)
        if safe_boundary:
            for at, own in actions.groups(usual[chosen], scale[chosen]):
                for start in range(0, len(at), CHUNK):
                    some_rows = at[start : start + CHUNK]
                    may[some_rows] = safe.mask(next_depth, block[some_rows], may[some_rows], own)[0]
        masks.append(None if may.all() else may)
    return masks[0], masks[1]


def _feasible(
    log: SalesLog,
    rows: Ints,
    actions: OwnActions,
    rules: Rules,
    usual_price: Floats,
    scale: Floats,
    limits: OwnRange | None,
) -> Bools:
    """Actions that the rules allow in the periods after rows, (rows, actions)."""
    assert log.costs is not None  # or the log had been refused
    grid = actions.grid(usual_price, scale, log.costs.at(rows + 1).order)
    own = rules.of_names(log.names[log.series[rows]])
    most = limits_of_rows(log, rows + 1)
    may = own.feasible(grid, np.asarray(log.stock)[rows + 1], log.price[rows], log.features_by_name(rows + 1), most)
    return may if limits is None else limits.rows(log.series[rows]).allowed(grid, may)
