"""Actions of the maximum in the targets of Q: those that the deployed policy is allowed."""

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.demand.censoring.runs import Runs
from lostsales.learn.cfqi.partition import Partition
from lostsales.learn.cfqi.safe_actions import SafeActions
from lostsales.learn.cfqi.targets import CHUNK
from lostsales.policy.action_grid import ActionGrid
from lostsales.policy.rules import Rules
from lostsales.types import Bools, Floats


def allowed_actions(
    log: SalesLog,
    runs: Runs,
    part: Partition,
    depth: int,
    grid: ActionGrid,
    safe: SafeActions,
    rules: Rules,
    safe_boundary: bool,
) -> tuple[Bools | None, Bools | None]:
    """Masks (rows, actions) after the observed and after the censored rows of a depth; None where all are allowed."""
    if rules == Rules() and np.isinf(grid.room) and (not safe_boundary or runs.max_depth == 0):
        return None, None
    masks: list[Bools | None] = []
    observed = part.is_observed
    for chosen, next_depth, block in ((observed, 0, part.next_observed), (~observed, depth + 1, part.next_censored)):
        if block is None:
            masks.append(None)
            continue
        rows = part.rows[chosen]
        features = log.features_by_name(rows + 1)
        may = rules.feasible(grid, np.asarray(log.stock)[rows + 1], log.price[rows], features)
        if safe_boundary:
            may = _safe_mask(safe, next_depth, block, may, grid, np.asarray(part.scale)[chosen])
        masks.append(None if may.all() else may)
    return masks[0], masks[1]


def _safe_mask(safe: SafeActions, depth: int, block: Floats, may: Bools, grid: ActionGrid, scale: Floats) -> Bools:
    """Feasible and safe actions, by scale and in chunks of rows."""
    found = may.copy()
    for each in np.unique(scale):
        at = np.flatnonzero(scale == each)
        for start in range(0, len(at), CHUNK):
            some = at[start : start + CHUNK]
            found[some] = safe.mask(depth, block[some], may[some], grid, float(each))[0]
    return found
