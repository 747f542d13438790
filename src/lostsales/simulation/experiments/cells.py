"""One cell: a log, a policy learned from it, and what the policy earns. Workers run these, each in its own process."""

import warnings
from functools import lru_cache
from pathlib import Path
from time import perf_counter

import numpy as np
from threadpoolctl import threadpool_limits

from lostsales.data.log import SalesLog
from lostsales.data.sublogs import series_of
from lostsales.learn.fit import fit
from lostsales.policy.rollout import Policy
from lostsales.simulation.experiments.folder import read_manifest, reference_path
from lostsales.simulation.experiments.journal import CellResult
from lostsales.simulation.experiments.plan import REFERENCE, Cell, Experiment
from lostsales.simulation.named_policies import named_policy
from lostsales.simulation.simulator import evaluate_policy, simulate

# Methods whose iterations K the experiment sets. To the planner `iterations` are sweeps of value iteration, so it keeps
# its own default, as other learners do.
FITTED_Q_ITERATION = ("c-fqi", "pc-fqi", "fusion", "fqi-observed", "fqi-dropped", "fqi-imputed", "fqi-plugin")

read_experiment = lru_cache(maxsize=1)(read_manifest)


def run_cell(folder: Path, cell: Cell) -> CellResult:
    """Learn and test; a method that fails on a log must not end the experiment, so its reason is the result."""
    experiment = read_experiment(folder)
    began = learned = perf_counter()
    try:
        # One thread, so that workers do not fight for cores and sums come out alike everywhere.
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a learner would repeat the same warning a thousand times
            policy = _policy(folder, experiment, cell)
            learned = perf_counter()
            seed = experiment.test_seed(cell.run)
            earned = evaluate_policy(experiment.scenario, policy, experiment.test_episodes, seed)
    except Exception as error:  # noqa: BLE001, whatever it is, it is recorded
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        return CellResult(*cell, None, None, None, reason, perf_counter() - began, 0.0)
    seconds = learned - began, perf_counter() - learned
    std_error = earned.std_error if earned.episodes > 1 else None
    return CellResult(*cell, earned.mean_profit, std_error, earned.uncensored_share, "", *seconds)


def _policy(folder: Path, experiment: Experiment, cell: Cell) -> Policy:
    if cell.behaviour == REFERENCE:
        return _reference(folder, cell.method)
    log = series_of(_log(folder, cell.behaviour, cell.run), np.arange(cell.episodes))
    options = {"iterations": experiment.iterations} if cell.method in FITTED_Q_ITERATION else {}
    return fit(log, cell.method, seed=experiment.fit_seed(cell.behaviour, cell.run), **options)


@lru_cache(maxsize=2)  # the cells of a run follow each other
def _log(folder: Path, behaviour: str, run: int) -> SalesLog:
    experiment = read_experiment(folder)
    seed = experiment.log_seed(behaviour, run)
    return simulate(experiment.scenario, _reference(folder, behaviour), experiment.episodes, seed)[0]


@lru_cache
def _reference(folder: Path, name: str) -> Policy:
    experiment = read_experiment(folder)
    if name == "uniform":
        return named_policy(name, experiment.scenario)
    explores = name == "near-optimal"
    path = reference_path(folder, "pi-star" if explores else name)
    return named_policy(str(path), experiment.scenario, experiment.exploration if explores else 0.0)
