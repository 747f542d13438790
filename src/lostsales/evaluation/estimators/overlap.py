"""Overlap in actions: whether the log shows what a policy would do."""

import numpy as np

from lostsales.evaluation.estimators.q_evaluation import RelativeRows
from lostsales.evaluation.results import Overlap
from lostsales.evaluation.task import EvaluationTask
from lostsales.types import Bools, Floats

NEAR = 0.5  # standard deviations of the log within which two prices, or two orders, count as the same
LEAST_ROWS = 5  # rows of the log that must agree with the policy


def agreement(task: EvaluationTask) -> Floats:
    """Share of the policy's draws that are near the logged action, in each row of known depth, (rows,)."""
    units = RelativeRows.of(task.prepared.log)
    policy, logged = (units.of_actions(each, task.rows) for each in (task.actions, task.logged_actions))
    return np.asarray(near(policy, logged).mean(axis=0))


def near(left: Floats, right: Floats, spread: Floats | None = None) -> Bools:
    """True for nearly equal actions (..., rows, 2), by default on the scale of `right`, else of `spread` (2,)."""
    spread = right.std(axis=0) if spread is None else spread
    return np.asarray((np.abs(left - right) <= NEAR * spread + 1e-9).all(axis=-1))


def overlap_of_actions(task: EvaluationTask) -> Overlap:
    """Overlap in (history, price, order): the rows whose logged action is near the policy's."""
    agrees = agreement(task)
    rows, share = float(agrees.sum()), float(agrees.mean())
    total = len(task.rows)
    enough = rows >= LEAST_ROWS
    sentence = f"in {rows:,.0f} of {total:,} rows the logged action is near that of the policy"
    if not enough:
        sentence += "; too few to evaluate it: try it on a few series first, or evaluate it with a demand model"
    return Overlap("history, price and order", share, rows, enough, sentence)
