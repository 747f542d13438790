"""Whether the log shows what a policy would do."""

import numpy as np

from lostsales.evaluation.results import Overlap
from lostsales.evaluation.task import EvaluationTask
from lostsales.types import Bools, Floats

NEAR = 0.5  # standard deviations of the log within which two prices, or two orders, count as the same
LEAST_ROWS = 5  # rows of the log that must agree with the policy


def agreement(case: EvaluationTask) -> Floats:
    """How often the policy would do what was done in each row whose depth is known, (known,) shares of its draws."""
    log = case.ledger.log
    done = np.column_stack([log.price[case.known], np.asarray(log.order)[case.known]])
    return np.asarray(near(case.decided, done).mean(axis=0))


def near(left: Floats, right: Floats) -> Bools:
    """Where two actions (..., rows, 2) count as the same, on the scale of `right`."""
    return np.asarray((np.abs(left - right) <= NEAR * right.std(axis=0) + 1e-9).all(axis=-1))


def overlap_of_actions(case: EvaluationTask) -> Overlap:
    """Overlap in (history, price, order): the rows in which the shop did what the policy would have done there."""
    agrees = agreement(case)
    rows, share = float(agrees.sum()), float(agrees.mean())
    total = len(case.known)
    enough = rows >= LEAST_ROWS
    sentence = f"in {rows:,.0f} of {total:,} rows the shop did about what the policy would have done there"
    if not enough:
        sentence += "; too few to judge it from: try it on a few series first, or evaluate it with a demand model"
    return Overlap("history, price and order", share, rows, enough, sentence)
