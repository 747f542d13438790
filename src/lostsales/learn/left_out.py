"""Rows that a learner does not learn from, by reason, counted before it begins."""

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.demand.censoring.evidence import MOST_HIDDEN
from lostsales.demand.censoring.runs import find_runs
from lostsales.learn.baselines.last_observation import FQIObserved
from lostsales.learn.cfqi.settings import CFQI
from lostsales.learn.learner import Learner
from lostsales.learn.planner.planner import Planner


def left_out(log: SalesLog, learner: Learner) -> dict[str, int]:
    """Rows by reason, of the planner, of C-FQI and its like, and of one Q on the last observation.

    The planner learns from last rows and from every depth; threshold rules use every row.

    >>> import lostsales
    >>> log, _ = lostsales.simulate("steady", episodes=12, seed=1)
    >>> left_out(log, lostsales.Planner()), left_out(log, lostsales.CFQI())["last row of its series"]
    ({}, 12)
    """
    if isinstance(learner, CFQI):
        found = find_runs(log, learner.max_depth, pool=learner.deeper == "pooled").left_out
        return {reason: rows for reason, rows in found.items() if rows}
    runs, found = find_runs(log), {}
    if isinstance(learner, Planner):
        found["no earlier demand is known"] = int(np.count_nonzero(runs.depth < 0))
        found[f"after more than {MOST_HIDDEN} stock-outs in a row"] = int(np.count_nonzero(runs.depth > MOST_HIDDEN))
    elif isinstance(learner, FQIObserved):
        found = runs.left_out
    return {reason: rows for reason, rows in found.items() if rows}
