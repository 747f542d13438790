"""Doubly robust evaluation: fitted Q-evaluation plus its residuals, weighted by marginalised density ratios.

A row's weight at t periods from the start is w_t(h) rho(a | h). The ratio rho = pi(a | h) / b(a | h) compares the
policy with the estimated behaviour, both near the logged action; the ratio w_t of the policy's density of histories to
that of the log is carried from period to period by a regression on the next history,
w_{t+1}(h') = E[w_t(h) rho(a | h) | h'], so that ratios are marginalised over the past and never multiplied up.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from lostsales.evaluation.estimators.fqe import q_estimate, q_figures
from lostsales.evaluation.estimators.overlap import agreement, near
from lostsales.evaluation.estimators.own_error import own_error
from lostsales.evaluation.estimators.q_evaluation import DepthSpace, FqeSettings, RelativeRows, histories
from lostsales.evaluation.estimators.shop import shop_estimate
from lostsales.evaluation.results import Estimate, Overlap
from lostsales.evaluation.task import EvaluationTask
from lostsales.learn.baselines.behaviour import Behaviour, situation_of_log
from lostsales.types import Floats, Ints

LEAST_EFFECTIVE = 20.0  # effective rows that the correction needs
HISTORY_RANK = 30  # of the kernel approximation of histories
BATCH = 2_000  # rows
HISTORY_RIDGE = 10.0  # penalty of the regression on histories


def doubly_robust(task: EvaluationTask, settings: FqeSettings | None = None) -> Estimate:
    """Fitted Q-evaluation plus the weighted mean of its residuals, refused below 20 effective rows."""
    if task.prepared.realised is not None:
        return shop_estimate(task, "dr")
    own = settings or FqeSettings(seed=task.seed)
    rho = action_ratios(task)
    ratios = marginal_ratios(task, rho, own)
    weight = ratios.mean(axis=1)
    square, covered = float(np.sum(weight**2)), float(weight.sum())  # covered: share of the periods with any weight
    effective = covered**4 / square if square > 0 else 0.0
    share = float(np.mean(rho > 0))
    enough = effective >= LEAST_EFFECTIVE
    sentence = f"the correction rests on {effective:,.0f} effective rows of {len(task.rows):,}"
    if not enough:
        sentence += f"; fewer than {LEAST_EFFECTIVE:.0f} are too few: use the model, or try the policy on a few series"
    overlap = Overlap("history, price and order", share, effective, enough, sentence)
    if not enough:
        return Estimate("dr", overlap, reason=sentence)

    def profit(drawn: EvaluationTask) -> float:
        return float(q_figures(drawn, own, marginal_ratios(drawn, action_ratios(drawn), own)).profit.mean())

    return q_estimate(task, "dr", overlap, q_figures(task, own, ratios), own_error(task, profit))


def action_ratios(task: EvaluationTask) -> Floats:
    """Ratios rho of the logged actions: share of the policy's draws near each over its propensity, (rows,)."""
    log = task.prepared.log
    behaviour = Behaviour(seed=task.seed).fit(log)
    chance = behaviour.chances(situation_of_log(log, task.prepared.runs, task.rows))  # (rows, actions)
    units, pairs = RelativeRows.of(log), behaviour.grid.pairs[:, None, :]
    logged = units.of_actions(task.logged_actions, task.rows)
    propensity = np.empty(len(task.rows))
    for start in range(0, len(task.rows), BATCH):  # every action with every row would not fit into memory
        part = slice(start, start + BATCH)
        reach = near(units.of_actions(pairs, task.rows[part]), logged[part], logged.std(axis=0))  # (actions, rows)
        propensity[part] = np.einsum("ka,ak->k", chance[part], reach.astype(np.float64))
    return np.asarray(agreement(task) / np.maximum(propensity, 1.0 / len(task.rows)))


class _Regression(NamedTuple):
    """The ridge regression w_{t+1}(h') = E[w_t rho | h'] of one depth; rows are positions in `task.rows`."""

    rows: Ints  # (m,) rows of the depth
    phi: Floats  # (m, rank) features of their histories
    before: Ints  # (n,) rows just before those that have one
    phi_after: Floats  # (n, rank) features of the histories that follow
    factor: tuple[Floats, bool]  # Cholesky factor of the Gram matrix


def _regressions(task: EvaluationTask, settings: FqeSettings) -> list[_Regression]:
    """One regression per depth."""
    log, runs = task.prepared.log, task.prepared.runs
    units = RelativeRows.of(log)
    level = runs.learned_depth
    place = task.place
    own = FqeSettings(settings.kernel, HISTORY_RIDGE, HISTORY_RANK, settings.seed)
    found = []
    for depth in range(runs.max_depth + 1):
        rows = task.rows[level[task.rows] == depth]
        history = histories(log, runs, rows, depth, units)
        no_action = np.zeros((len(rows), 2))
        phi = DepthSpace.of(history, no_action, own).phi(history, no_action)
        before = place[np.maximum(rows - 1, 0)]
        follows = (rows > log.starts[log.series[rows]]) & (before >= 0)
        penalty = np.full(phi.shape[1], HISTORY_RIDGE)
        penalty[0] = 1e-8
        factor = cho_factor(phi[follows].T @ phi[follows] + np.diag(penalty), lower=True)
        found.append(_Regression(place[rows], phi, before[follows], phi[follows], factor))
    return found


def marginal_ratios(task: EvaluationTask, rho: Floats, settings: FqeSettings) -> Floats:
    """Weights w_t rho of the rows at each period, (rows of the log, horizon), those of a period summing to one."""
    regressions = _regressions(task, settings)
    weights = np.zeros((len(task.prepared.log), task.estimand.horizon))
    now = np.zeros(len(task.rows))
    now[task.place[task.opening_rows]] = task.opening_weight / task.opening_weight.sum()
    for t in range(task.estimand.horizon):
        taken = now * rho
        total = taken.sum()
        taken = taken / total if total > 0 else taken  # no row agrees any more: this period has no weight
        weights[task.rows, t] = taken
        for each in regressions:
            carried = cho_solve(each.factor, each.phi_after.T @ taken[each.before])
            now[each.rows] = np.maximum(each.phi @ carried, 0.0)
        now /= max(now.sum(), 1e-300)
    return weights
