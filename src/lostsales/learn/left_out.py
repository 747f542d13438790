"""Rows that a learner learns from, and those that it leaves out by reason, counted before it begins."""

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.demand.censoring.evidence import MOST_HIDDEN
from lostsales.demand.censoring.runs import Runs, find_runs
from lostsales.learn.baselines.last_observation import FQIObserved
from lostsales.learn.cfqi.settings import CFQI
from lostsales.learn.learner import Learner
from lostsales.learn.planner.planner import Planner


def rows_learned(log: SalesLog, learner: Learner) -> dict[str, int]:
    """How many rows C-FQI and its like keep, and how many of them, deeper than the deepest Q, share it.

    >>> import lostsales
    >>> log, _ = lostsales.simulate("released", episodes=12, seed=1)
    >>> rows_learned(log, lostsales.CFQI(max_depth=2)), rows_learned(log, lostsales.Planner())
    ({'rows_kept': 588, 'rows_pooled': 239}, {})
    """
    if not isinstance(learner, CFQI):
        return {}
    kept = len(log) - sum(left_out(log, learner).values())
    return {"rows_kept": kept, "rows_pooled": 0 if learner.independent else _runs(log, learner).pooled}


def left_out(log: SalesLog, learner: Learner) -> dict[str, int]:
    """Rows by reason, of the planner, of C-FQI and its like, and of one Q on the last observation.

    The planner learns from last rows and from every depth; threshold rules use every row.

    >>> import lostsales
    >>> log, _ = lostsales.simulate("steady", episodes=12, seed=1)
    >>> left_out(log, lostsales.Planner()), left_out(log, lostsales.CFQI())["last row of its series"]
    ({}, 12)
    """
    if isinstance(learner, CFQI):
        last_rows = {"last row of its series": int(np.count_nonzero(~log.has_next))}
        found = last_rows if learner.independent else _runs(log, learner).left_out
        return {reason: rows for reason, rows in found.items() if rows}
    runs, found = find_runs(log), {}
    if isinstance(learner, Planner):
        found["no earlier demand is known"] = int(np.count_nonzero(runs.depth < 0))
        found[f"after more than {MOST_HIDDEN} stock-outs in a row"] = int(np.count_nonzero(runs.depth > MOST_HIDDEN))
    elif isinstance(learner, FQIObserved):
        found = runs.left_out
    return {reason: rows for reason, rows in found.items() if rows}


def _runs(log: SalesLog, learner: CFQI) -> Runs:
    """As C-FQI finds them."""
    pool = learner.deeper == "pooled"
    return find_runs(log, learner.max_depth, pool=pool, a_coordinate=learner.depth_rows if pool else 0.0)
