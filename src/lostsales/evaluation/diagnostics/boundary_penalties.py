"""Penalties of the safe action at max_depth: boundary and termination action penalties (BAP, TAP).

Both are (1 - discount^n) / (1 - discount)^2 times an expectation over a depth I and the discounted visits d_I of
histories at it. With P(I = i) = discount^i (1 - discount) / (1 - discount^n), and every period at one depth, they are
sums over periods: BAP = E sum_t discount^t AD_t, and TAP = E sum_t discount^t TAD_t with TAD_t = E sum_{k=1}^{K-1}
discount^k AD_{t+k}, where AD_t is the discrepancy at depth n and 0 elsewhere. The visits are those of the log; after
the last one of an episode, AD is assumed to be its discounted mean.
"""

import numpy as np

from lostsales.demand.censoring.runs import iterations_rule
from lostsales.evaluation.diagnostics.diagnostic import Diagnostic
from lostsales.evaluation.task import EvaluationTask
from lostsales.learn.cfqi.policy import CHUNK, QPolicy, boundary_depth
from lostsales.policy.history import blocks_of_view, view_of_rows
from lostsales.policy.view import View
from lostsales.types import Floats


def action_discrepancy(task: EvaluationTask) -> Floats | None:
    """Action discrepancy AD of every row in `task.rows` (Definition 13): loss in Q at max_depth, 0 elsewhere."""
    log, runs, policy, deepest = task.prepared.log, task.prepared.runs, task.policy, boundary_depth(task.policy)
    if deepest is None or not isinstance(policy, QPolicy):
        return None  # series of different scale have no one Q to compare actions by
    discrepancy = np.zeros(len(task.rows))
    at = np.flatnonzero(runs.depth[task.rows] == deepest) if deepest else np.zeros(0, dtype=np.int64)
    for start in range(0, len(at), CHUNK):
        some = at[start : start + CHUNK]
        discrepancy[some] = value_given_up(policy, view_of_rows(log, runs, task.rows[some]), task.actions[0][some])
    return discrepancy


def value_given_up(policy: QPolicy, view: View, action: Floats) -> Floats:
    """Greatest Q^(n)(h, .) less that of the given actions (rows, 2); Q - U if the policy is greedy in that."""
    rows, learned = np.arange(len(view.stock)), len(policy.q) - 1
    pairs, q = policy.grid.pairs, policy.q[learned]
    run_length = view.depth.astype(np.float64)[:, None] if policy.pools else None
    block = blocks_of_view(policy.asks, view, rows, learned, view.depth, attributes=run_length)
    scores = q.values(block, pairs)
    if policy.beta:
        scores = scores - policy.penalty(policy.safe.depth, block, None, pairs)
    taken = np.argmin(np.abs(pairs[:, None, :] - action).sum(axis=2), axis=0)
    return np.asarray(scores.max(axis=1) - scores[rows, taken])


def boundary_penalty(task: EvaluationTask, discrepancy: Floats | None) -> Diagnostic:
    """Boundary action penalty BAP (Corollary 3)."""
    value = None if discrepancy is None else _discounted_mean(task, discrepancy) / (1 - task.estimand.discount)
    return _penalty(
        task, "bap", "boundary action penalty", value,
        "given up by the safe action, by the policy's own Q and summed over the visits of the log",
        "the safe action costs little", "another safe action, or a larger eps: the present one costs much",
    )  # fmt: skip


def termination_penalty(task: EvaluationTask, discrepancy: Floats | None) -> Diagnostic:
    """Termination action penalty TAP (Corollary 2), with the given policy and its Q instead of the best policy's."""
    value = None
    if discrepancy is not None:
        rounds = iterations_rule(int(task.prepared.runs.usable.sum()), task.prepared.log.problem.discount)
        value = _discounted_sum_ahead(task, discrepancy, rounds - 1)
    return _penalty(
        task, "tap", "termination action penalty", value,
        "added up by discrepancies at the boundary that lie ahead of the visits of the log",
        "runs seldom reach the boundary", "end runs earlier: higher prices or larger orders during stock-outs",
    )  # fmt: skip


def _periods_since_start(task: EvaluationTask) -> Floats:
    """Periods since the start of the episode, for every row in `task.rows`."""
    place = np.arange(len(task.rows))
    opens = np.isin(task.rows, task.opening_rows)
    return np.asarray(place - np.maximum.accumulate(np.where(opens, place, 0)), dtype=np.float64)


def _discounted_mean(task: EvaluationTask, values: Floats) -> float:
    """Mean of values_s over rows, weighted by discount^s, s periods after the start of their episode."""
    return float(np.average(values, weights=task.estimand.discount ** _periods_since_start(task)))


def _discounted_sum_ahead(task: EvaluationTask, values: Floats, most: int) -> float:
    """Mean over episodes of sum_s discount^s min(s, most) values_s, in an episode that never ends.

    The value of period s lies ahead of the s periods before it, of at most `most` of them. These weights grow with s,
    so beyond the log the values are assumed to equal their mean, not their contributions.
    """
    discount, period = task.estimand.discount, _periods_since_start(task)
    mean, total = _discounted_mean(task, values), discount * (1 - discount**most) / (1 - discount) ** 2
    in_log = np.sum(discount**period * np.minimum(period, most) * (values - mean)) / len(task.opening_rows)
    return float(mean * total + in_log)


def _penalty(
    task: EvaluationTask, key: str, title: str, value: float | None, what: str, good: str, bad: str
) -> Diagnostic:
    if value is None:
        meaning = "only a policy with one Q per depth, for series of one scale, has this term"
        return Diagnostic(key, title, None, None, True, meaning, "nothing")
    scale = abs(float(task.prepared.profit.mean())) / (1 - task.prepared.log.problem.discount)
    meaning = f"{value:.3g} of discounted profit is {what}; the mean profit of the log is worth {scale:.3g}"
    return Diagnostic(key, title, value, None, True, meaning, good if value <= 0.1 * scale else bad)
