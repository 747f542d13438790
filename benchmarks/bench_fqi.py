"""C-FQI against the same algorithm written by hand with scikit-learn's GridSearchCV(KernelRidge)."""

import time
from functools import partial

import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV
from threadpoolctl import threadpool_limits

from benchmarks.rows import Row, best_seconds
from lostsales.arrays import Floats
from lostsales.demand.holdout import hold_out
from lostsales.demand.impute import impute
from lostsales.demand.runs import find_runs
from lostsales.learn.blocks import Partition, partition
from lostsales.learn.design import ActionScaler, FunctionClass, Scaler
from lostsales.learn.fit import folds_of
from lostsales.learn.fqi import FqiSettings, iterate
from lostsales.learn.kernels import Kernel
from lostsales.simulate.scenario import load_scenario
from lostsales.simulate.simulator import simulate

ITERATIONS = 10
COEFFICIENTS, RIDGES = (0.01, 0.1, 1.0), (0.001, 0.01, 0.1, 1.0, 10.0, 100.0)


def run() -> list[Row]:
    rows = []
    for episodes, wanted, timed in ((10, 100, 2), (50, 300, 1)):
        log, _ = simulate(load_scenario("released"), episodes=episodes, seed=1)
        runs = find_runs(log)
        profit = impute(log, replicates=0, runs=runs, tail="last").profit_filled
        if profit is None:
            raise ValueError("the scenario has costs")
        parts = partition(log, runs, profit)
        actions = np.array([(price, order) for price in log.prices for order in log.orders])
        holdout = hold_out(log, runs.max_depth + 1)
        folds = [folds_of(holdout, part.rows) for part in parts]
        kernels = tuple(Kernel(kind, each) for kind in ("rbf", "laplacian") for each in COEFFICIENTS)
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
    # The first iteration has no future to look up, so that one more than asked for would flatter us: it counts as any.
    for _ in range(iterations):
        fitted = []
        for depth, part in enumerate(parts):
            target = part.profit.copy()
            if models:
                target[part.known] += 0.9 * best(models, 0, part.next_known)
                if part.next_hidden is not None and len(part.next_hidden):
                    target[~part.known] += 0.9 * best(models, depth + 1, part.next_hidden)
            inputs = np.hstack([scalers[depth][0](part.block), scalers[depth][1](part.action)])
            fitted.append(GridSearchCV(KernelRidge(), grid, cv=5).fit(inputs, target - target.mean()))
        models = fitted
    return time.perf_counter() - start
