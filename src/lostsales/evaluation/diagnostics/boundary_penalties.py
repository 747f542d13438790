"""Terms of the safe action at max_depth: boundary and termination action penalties (BAP, TAP)."""

import numpy as np

from lostsales.evaluation.diagnostics.diagnostic import Diagnostic
from lostsales.evaluation.task import EvaluationTask
from lostsales.learn.cfqi.policy import boundary_depth, boundary_loss
from lostsales.policy.history import view_of_rows
from lostsales.types import Floats


def action_discrepancy(task: EvaluationTask) -> Floats | None:
    """AD of every row of the log (Definition 13): the Q given up by the action at max_depth, 0 elsewhere."""
    log, runs, deepest = task.prepared.log, task.prepared.runs, boundary_depth(task.policy)
    if deepest is None:
        return None  # series of different scale have no one Q to compare actions by
    discrepancy = np.zeros(len(log))
    at = np.flatnonzero(runs.depth[task.rows] == deepest)
    rows = task.rows[at]
    if deepest and len(rows):
        discrepancy[rows] = boundary_loss(task.policy, view_of_rows(log, runs, rows), task.actions[0][at])
    return discrepancy


def boundary_penalty(task: EvaluationTask, discrepancy: Floats | None) -> Diagnostic:
    """BAP, from the mean discrepancy of a row."""
    mean = None if discrepancy is None else float(discrepancy[task.rows].mean())
    return _penalty(
        task, "bap", "boundary action penalty", mean,
        "the safe action costs little", "another safe action, or a larger eps: the present one costs much",
    )  # fmt: skip


def termination_penalty(task: EvaluationTask, discrepancy: Floats | None) -> Diagnostic:
    """TAP, from the mean sum of discounted discrepancies that follow a row in the log."""
    mean = None
    if discrepancy is not None:
        log, discount = task.prepared.log, task.prepared.log.problem.discount
        # A discrepancy k periods into its series is ahead of k rows: discounted, discount + ... + discount^k in all.
        place = np.arange(len(log)) - log.starts[log.series]
        ahead = discrepancy * discount * (1 - discount**place) / (1 - discount)
        mean = float(ahead.sum() / len(task.rows))
    return _penalty(
        task, "tap", "termination action penalty", mean,
        "runs seldom reach the boundary", "end runs earlier: dearer prices or larger orders during stock-outs",
    )  # fmt: skip


def _penalty(task: EvaluationTask, key: str, title: str, mean: float | None, good: str, bad: str) -> Diagnostic:
    """(1 - discount^n) / (1 - discount)^2 times a mean discrepancy (Corollaries 2 and 3)."""
    if mean is None:
        meaning = "only a policy with one Q per depth, for series of one scale, has this term"
        return Diagnostic(key, title, None, None, True, meaning, "nothing")
    discount = task.prepared.log.problem.discount
    value = (1 - discount**task.prepared.runs.max_depth) / (1 - discount) ** 2 * mean
    scale = abs(float(task.prepared.profit.mean())) / (1 - discount)
    meaning = f"{mean:.3g} of value a row is given up by its own Q, {value:.3g} in the bound"
    return Diagnostic(key, title, value, None, True, meaning, good if value <= 0.1 * scale else bad)
