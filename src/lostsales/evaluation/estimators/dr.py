"""Doubly robust evaluation: fitted Q-evaluation, its error corrected by rows weighed as the policy would meet them.

A row's weight at t periods from the start is w_t(h) rho(a | h). The ratio rho = pi(a | h) / b(a | h) compares the
policy with the estimated behaviour, both within reach of the action that was taken; w_t, how much likelier the policy
is to meet a history than the log, is carried from period to period by a regression on the next history,
w_{t+1}(h') = E[w_t(h) rho(a | h) | h'], so that ratios are marginalised over the past and never multiplied up.
"""

from dataclasses import replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from lostsales.evaluation.estimators.fqe import DepthSpace, FqeSettings, histories
from lostsales.evaluation.estimators.overlap import agreement, near
from lostsales.evaluation.estimators.stepwise import stepwise
from lostsales.evaluation.results import Estimate, Overlap
from lostsales.evaluation.task import EvaluationTask
from lostsales.learn.baselines.behaviour import Behaviour, situation_of_log
from lostsales.types import Floats

LEAST_EFFECTIVE = 20.0  # rows that must carry the correction
HISTORY_RANK = 30
HISTORY_RIDGE = 10.0
# Measured: docs/decisions/evaluation.md.
SHORT = "in simulated shops it fell a little short of the true gain: read it as rather too low"


def doubly_robust(case: EvaluationTask, settings: FqeSettings | None = None) -> Estimate:
    """Fitted Q-evaluation plus the weighted mean of its residuals, refused where too few rows carry that mean."""
    settings = settings or FqeSettings(seed=case.seed)
    rho = action_ratios(case)
    ratios = marginal_ratios(case, rho, settings)
    carried = ratios.mean(axis=1)
    square, covered = float(np.sum(carried**2)), float(carried.sum())  # of the periods, the share with any weight
    effective = covered**4 / square if square > 0 else 0.0
    share = float(np.mean(rho > 0))
    enough = effective >= LEAST_EFFECTIVE
    sentence = f"the correction rests on {effective:,.0f} effective rows of {len(case.known):,}"
    if not enough:
        sentence += f"; below {LEAST_EFFECTIVE:.0f} it says nothing: trust the model, or try the policy on a few series"
    overlap = Overlap("history, price and order", share, effective, enough, sentence)
    if not enough:
        return Estimate("dr", overlap, reason=sentence)
    return replace(stepwise(case, "dr", overlap, settings, ratios), notes=(SHORT,))


def action_ratios(case: EvaluationTask) -> Floats:
    """The policy's share of draws near what was done, over the behaviour's chance of it, (known,)."""
    log = case.ledger.log
    behaviour = Behaviour(seed=case.seed).fit(log)
    chance = behaviour.chances(situation_of_log(log, case.ledger.runs, case.known))  # (known, actions)
    done = np.column_stack([log.price[case.known], np.asarray(log.order)[case.known]])
    reach = near(behaviour.grid.pairs[:, None, :], done)  # (actions, known)
    within = np.einsum("ka,ak->k", chance, reach.astype(np.float64))
    return np.asarray(agreement(case) / np.maximum(within, 1.0 / len(case.known)))


def marginal_ratios(case: EvaluationTask, rho: Floats, settings: FqeSettings) -> Floats:
    """Weights of the rows at each period, (rows, horizon), those of a period summing to one."""
    log, runs, known = case.ledger.log, case.ledger.runs, case.known
    level = np.minimum(runs.depth, runs.max_depth)
    place = np.full(len(log), -1)
    place[known] = np.arange(len(known))
    spaces = []
    for depth in range(runs.max_depth + 1):
        rows = known[level[known] == depth]
        own = FqeSettings(settings.kernel, HISTORY_RIDGE, HISTORY_RANK, settings.seed)
        history = histories(log, runs, rows, depth)
        nothing = np.zeros((len(rows), 2))
        phi = DepthSpace.of(history, nothing, own).phi(history, nothing)
        before = place[np.maximum(rows - 1, 0)]
        follows = (rows > log.starts[log.series[rows]]) & (before >= 0)
        penalty = np.full(phi.shape[1], HISTORY_RIDGE)
        penalty[0] = 1e-8
        factor = cho_factor(phi[follows].T @ phi[follows] + np.diag(penalty), lower=True)
        spaces.append((place[rows], phi, before[follows], phi[follows], factor))
    weights = np.zeros((len(log), case.estimand.horizon))
    now = np.zeros(len(known))
    now[place[case.opens]] = 1.0 / len(case.opens)
    for t in range(case.estimand.horizon):
        taken = now * rho
        total = taken.sum()
        taken = taken / total if total > 0 else taken  # nothing agrees any more: no row speaks for this period
        weights[known, t] = taken
        for at, phi, before, followed, factor in spaces:
            now[at] = np.maximum(phi @ cho_solve(factor, followed.T @ taken[before]), 0.0)
        now /= max(now.sum(), 1e-300)
    return weights
