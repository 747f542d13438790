"""One cell of an experiment: fit a method to a log and test its policy. Workers run cells in processes."""

import warnings
from functools import lru_cache
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.data.parallel import single_threaded, using_workers
from lostsales.data.sublogs import series_of
from lostsales.lab.exact.softmax_policy import SoftmaxPolicy
from lostsales.lab.experiments.design import PAPER, REFERENCE, Cell, CellResult, Experiment, learner_and_settings
from lostsales.lab.experiments.folder import read_manifest, reference_path
from lostsales.lab.experiments.ppo_behaviour import ppo_behaviour
from lostsales.learn.fit import fit
from lostsales.learn.function.depth_regression import HyperparameterSearch, sharing_searches
from lostsales.policy.policy import Policy
from lostsales.simulation.named_policies import named_policy
from lostsales.simulation.simulator import evaluate_policy, simulate

# Methods whose iterations K the experiment sets. To the planner `iterations` are sweeps of value iteration, so it keeps
# its own default, as other learners do.
FITTED_Q_ITERATION = (*PAPER, "fqi-observed", "fqi-dropped", "fqi-imputed", "fqi-plugin")

read_experiment = lru_cache(maxsize=1)(read_manifest)


def run_cell(folder: Path, cell: Cell) -> CellResult:
    """Fit and test; where a method fails on a log, the result is its reason, and the experiment continues."""
    experiment = read_experiment(folder)
    began = fitted = perf_counter()
    try:
        # One thread, so that workers do not compete for cores and the order of sums is fixed.
        with single_threaded(), using_workers(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the same warning would come from every cell
            policy = _policy(folder, experiment, cell)
            fitted = perf_counter()
            seed = experiment.test_seed(cell.run)
            tested = evaluate_policy(experiment.scenario, policy, experiment.test_episodes, seed)
    except Exception as error:  # noqa: BLE001, any failure is recorded
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        return CellResult(*cell, None, None, None, reason, perf_counter() - began, 0.0)
    seconds = fitted - began, perf_counter() - fitted
    std_error = tested.std_error if tested.episodes > 1 else None
    return CellResult(*cell, tested.mean_profit, std_error, tested.uncensored_share, "", *seconds)


def _policy(folder: Path, experiment: Experiment, cell: Cell) -> Policy:
    if cell.behaviour == REFERENCE:
        return _reference(folder, cell.method)
    log = series_of(_log(folder, cell.behaviour, cell.run), np.arange(cell.episodes))
    # The experiment knows how its prices were set, and the paper has no test of that.
    learner, own = learner_and_settings(cell.method)
    options: dict[str, Any] = {"pricing": "free"}
    options |= {"iterations": experiment.iterations} if learner in FITTED_Q_ITERATION else {}
    options |= own
    with sharing_searches(_searches(folder, cell.behaviour, cell.run, cell.episodes)):
        return fit(log, learner, seed=experiment.fit_seed(cell.behaviour, cell.run), **options)


@lru_cache(maxsize=1)
def _searches(folder: Path, behaviour: str, run: int, episodes: int) -> dict[str, HyperparameterSearch]:  # noqa: ARG001
    """What the learners of one log share."""
    return {}


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
    if name == "softmax":
        return SoftmaxPolicy.of(experiment.scenario, experiment.temperature)
    if name == "ppo":
        return ppo_behaviour(reference_path(folder, name), experiment.scenario)
    explores = name == "near-optimal"
    path = reference_path(folder, "pi-star" if explores else name)
    return named_policy(str(path), experiment.scenario, experiment.exploration if explores else 0.0)
