"""Feature space of Q at each depth, and coverage of the policy's actions by the log in it."""

from dataclasses import dataclass

import numpy as np

from lostsales.evaluation.diagnostics.diagnostic import Diagnostic
from lostsales.evaluation.estimators.q_evaluation import DepthSpace, FqeSettings, histories
from lostsales.evaluation.task import EvaluationTask
from lostsales.learn.cfqi.policy import q_functions
from lostsales.types import Floats

MOST_ROWS = 1_000  # sampled at a depth to measure its feature space: bounds time


@dataclass(frozen=True, eq=False)
class DepthMeasurement:
    """Function class of a depth, and ratio of the posterior variances at the policy's and at the logged actions."""

    rows: int  # of the log at this depth
    eigenvalues: Floats  # (measured rows or rank,) falling, of the Gram matrix of all these rows
    ridge: float
    ratio: float
    kernel: str


def measure_depth(task: EvaluationTask, depth: int) -> DepthMeasurement:
    """Measure one depth on at most 1,000 of its rows, on the scale of all of them.

    Eigenvalues of a Gram matrix grow in proportion to its rows, so those of a sample are multiplied by rows / sample.
    """
    log, runs = task.prepared.log, task.prepared.runs
    learned = np.ones(len(log), dtype=bool) if runs.pools else runs.usable
    at = np.flatnonzero((runs.learned_depth == depth)[task.rows] & learned[task.rows])
    rows = len(at)
    if rows > MOST_ROWS:
        at = np.sort(np.random.default_rng(task.seed).choice(at, MOST_ROWS, replace=False))
    share = len(at) / max(rows, 1)
    logged = task.logged_actions[at]
    settings = _settings(task, depth)
    blocks = histories(log, runs, task.rows[at], depth)
    space = DepthSpace.of(blocks, logged, settings)
    history, scale, mapped = space.scaler(blocks), space.action_scaler, space.map
    kernel, ridge = settings.kernel, settings.ridge
    phi = mapped.features(history, scale(logged))
    gram = phi.T @ phi / share
    inverse = np.linalg.inv(gram + ridge * np.eye(len(gram)))

    def variance(action: Floats, own: bool = False) -> float:
        """Mean of k_post / ridge; leave-one-out for the log's `own` actions."""
        asked = mapped.features(history, scale(action))
        leverage = np.einsum("ij,jk,ik->i", asked, inverse, asked)
        leverage = leverage / np.maximum(1 - leverage / share, 1e-3) if own else leverage
        return float(np.mean(leverage + mapped.left_over(history, scale(action)) / ridge))

    ratio = float(np.mean([variance(each[at]) for each in task.actions])) / max(variance(logged, own=True), 1e-12)
    if kernel is not None:  # landmarks would cut the tail of the spectrum
        pairs = history, scale(logged)
        gram = kernel.between(pairs, pairs) / share
    spectrum = np.maximum(np.linalg.eigvalsh(gram)[::-1], 0.0)
    name = "linear" if kernel is None else f"{kernel.kind} {kernel.coefficient:g}"
    return DepthMeasurement(rows, np.asarray(spectrum, dtype=np.float64), ridge, ratio, name)


def _settings(task: EvaluationTask, depth: int) -> FqeSettings:
    """Kernel and ridge of the policy's own Q if it has one, else those of fitted Q-evaluation."""
    own = q_functions(task.policy)
    if depth >= len(own):
        return FqeSettings(seed=task.seed)
    chosen = own[depth].basis.choice
    return FqeSettings(chosen.kernel, chosen.ridge, seed=task.seed)


def coverage_ratio(measured: list[DepthMeasurement]) -> Diagnostic:
    """Coverage: the largest ratio of posterior variances over the depths."""
    ratio = np.array([each.ratio for each in measured])
    worst = int(ratio.argmax())
    meaning = (
        f"at depth {worst} the policy's actions are {ratio[worst]:.1f} times as far from the log as the logged ones"
    )
    advice = "the log covers the policy" if ratio[worst] <= 3 else "try the policy's prices and orders on a few series"
    return Diagnostic("coverage", "coverage ratio by depth", float(ratio.max()), ratio, True, meaning, advice)
