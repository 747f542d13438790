"""C-FQI against the same algorithm written by hand with scikit-learn, and decisions a second."""

import time
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV
from threadpoolctl import threadpool_limits

from benchmarks.rows import Row, best_seconds
from lostsales.data.candidate_grid import CandidateGrid
from lostsales.data.log import SalesLog
from lostsales.data.splits import folds_of, hold_out
from lostsales.demand.censoring.runs import find_runs
from lostsales.demand.survival.imputation import impute_by_curves
from lostsales.learn.cfqi.iteration import FqiSettings, iterate
from lostsales.learn.cfqi.learn import CFQI, PCFQI
from lostsales.learn.cfqi.partition import Partition, partition
from lostsales.learn.cfqi.policy import QPolicy
from lostsales.learn.function.kernels import Kernel
from lostsales.learn.function.posterior_variance import FactoredVariance
from lostsales.learn.function.q_function import ActionScaler, FunctionClass, QBasis, QFunction, Scaler
from lostsales.policy.action_grid import ActionGrid
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import simulate
from lostsales.types import Floats

ITERATIONS = 10
COEFFICIENTS, RIDGES = (0.01, 0.1, 1.0), (0.001, 0.01, 0.1, 1.0, 10.0, 100.0)
SERIES = 50_000  # that ask for a decision at once


def run() -> list[Row]:
    return [*_fitting(), *_recommending()]


def _fitting() -> list[Row]:
    rows = []
    for episodes, wanted, timed in ((10, 100, 2), (50, 300, 2)):
        log, _ = simulate(Scenario.load("released"), episodes=episodes, seed=1)
        runs = find_runs(log)
        profit = impute_by_curves(log, replicates=0, runs=runs, tail="last").profit_filled
        if profit is None:
            raise ValueError("the scenario has costs")
        parts = partition(log, runs, profit)
        candidates = CandidateGrid.of(log)
        actions = ActionGrid(candidates.prices, candidates.orders, np.inf).pairs
        holdout = hold_out(log, runs.max_depth + 1)
        folds = [folds_of(holdout, part.rows) for part in parts]
        kernels = tuple(Kernel(kind=kind, coefficient=each) for kind in ("rbf", "laplacian") for each in COEFFICIENTS)
        settings = FqiSettings(iterations=ITERATIONS, function=FunctionClass(kernels=kernels, ridges=RIDGES))
        with threadpool_limits(1):
            ours = best_seconds(partial(iterate, parts, folds, actions, [(None, None)] * len(parts), settings))
            peer = _by_hand(parts, actions, timed) * ITERATIONS / timed
        rows.append(
            Row(
                what=f"C-FQI, {len(log):,} rows, K = {ITERATIONS}",
                ours=f"{ours:.2f} s",
                peer=f"{peer:.0f} s (GridSearchCV, {timed} of {ITERATIONS} iterations timed)",
                ratio=peer / ours,
                at_least=wanted,
            )
        )
    return rows


def _by_hand(parts: list[Partition], actions: Floats, iterations: int) -> float:
    """Seconds for some iterations of the algorithm as one would write it first."""
    scalers = [(Scaler.of(part.block), ActionScaler.of(part.action)) for part in parts]
    grid = {"kernel": ["rbf", "laplacian"], "gamma": COEFFICIENTS, "alpha": RIDGES}

    def pairs(depth: int, block: Floats) -> Floats:
        history, acted = scalers[depth][0](block), scalers[depth][1](actions)
        return np.hstack([np.repeat(history, len(actions), axis=0), np.tile(acted, (len(history), 1))])

    def best(models: list[GridSearchCV], depth: int, block: Floats) -> Floats:
        return np.asarray(models[depth].predict(pairs(depth, block)).reshape(len(block), -1).max(axis=1))

    models: list[GridSearchCV] = []
    start = time.perf_counter()
    # The first iteration has no future to look up, so that scaling it up to all of them favours the peer.
    for _ in range(iterations):
        fitted = []
        for depth, part in enumerate(parts):
            target = part.profit.copy()
            if models:
                target[part.is_observed] += 0.9 * best(models, 0, part.next_observed)
                if part.next_censored is not None and len(part.next_censored):
                    target[~part.is_observed] += 0.9 * best(models, depth + 1, part.next_censored)
            inputs = np.hstack([scalers[depth][0](part.block), scalers[depth][1](part.action)])
            fitted.append(GridSearchCV(KernelRidge(), grid, cv=5).fit(inputs, target - target.mean()))
        models = fitted
    return time.perf_counter() - start


def _recommending() -> list[Row]:
    """One call for many series, each with its last periods, from a policy learned from 2,500 rows."""
    scenario = Scenario.load("released")
    log, _ = simulate(scenario, episodes=50, seed=1)
    asked, _ = simulate(scenario.model_copy(update={"horizon": 5}), episodes=SERIES, seed=2)
    recent, today = _days(asked)
    rows = []
    for learner, wanted in ((CFQI(iterations=ITERATIONS), 100_000), (PCFQI(iterations=ITERATIONS), 50_000)):
        policy = learner.fit(log)
        rate = SERIES / best_seconds(partial(policy.recommend, recent, today))
        goal = f"{wanted:,} a second, the goal"
        rows.append(Row(f"recommend, {learner.method}", f"{rate:,.0f} a second", goal, rate / wanted, at_least=1))
    return [*rows, *_penalty(log, policy)]


def _days(log: SalesLog) -> tuple[Any, Any]:
    frame = pd.DataFrame({name: np.ma.getdata(values) for name, values in log.table_columns.items()})
    last = frame["period"] == frame["period"].max()
    features = [feature.name for feature in log.problem.features]
    return frame[~last], frame.loc[last, ["series", "period", *features, "stock"]]


def _penalty(log: SalesLog, policy: QPolicy) -> list[Row]:
    """Penalty at depth 0 of few landmarks interpolated over actions: against each action, and against all rows."""
    every = PCFQI(iterations=1, function=FunctionClass(support_rank=len(log))).fit(log)
    variance, exact = _variance(policy), _variance(every)
    history = _form(policy).scaler(partition(log, find_runs(log), log.cash)[0].next_observed)
    actions = _form(policy).action_scaler(policy.grid.pairs)
    ours = np.sqrt(variance(history, actions))
    rows = []
    with threadpool_limits(1):
        seconds = best_seconds(partial(variance, history, actions))
        for name, peer in (("each action on its own", partial(_each_action, variance)), ("all rows", exact)):
            slow, theirs = best_seconds(partial(peer, history, actions)), np.sqrt(peer(history, actions))
            error = float(np.mean(np.abs(ours - theirs)) / np.mean(theirs))
            what = f"penalty of {len(variance.matrix)} landmarks, {error:.2%} off {name}"
            rates = f"{len(history) / seconds:,.0f} a second", f"{len(history) / slow:,.0f} a second, {name}"
            rows.append(Row(what, *rates, slow / seconds))
    return rows


def _form(policy: QPolicy) -> QBasis:
    q = policy.q[0]
    if not isinstance(q, QFunction):
        raise TypeError("the policy has kernels")
    return q.basis


def _variance(policy: QPolicy) -> FactoredVariance:
    uncertainty = _form(policy).uncertainty
    if uncertainty is None or not isinstance(uncertainty.variance, FactoredVariance):
        raise TypeError("the policy has a support kernel that factors")
    return uncertainty.variance


def _each_action(variance: FactoredVariance, history: Floats, actions: Floats) -> Floats:
    return np.hstack([variance(history, action[None]) for action in actions])
