"""Terms of the feature space of Q: coverage of the policy's actions, and effective dimension, by depth."""

from dataclasses import dataclass

import numpy as np

from lostsales.evaluation.diagnostics.diagnostic import Diagnostic
from lostsales.evaluation.estimators.q_evaluation import DepthSpace, FqeSettings, histories
from lostsales.evaluation.task import EvaluationTask
from lostsales.learn.cfqi.policy import q_functions
from lostsales.types import Floats

MOST_ROWS = 1_000  # of a depth, from which dimension and coverage are measured


@dataclass(frozen=True, eq=False)
class DepthMeasurement:
    """Eigenvalues of a depth's features, and the posterior variance of the policy's actions over that of the log's."""

    eigenvalues: Floats  # (rank,) falling
    ridge: float
    ratio: float
    kernel: str


def measure_depth(task: EvaluationTask, depth: int) -> DepthMeasurement:
    """Measure one depth on at most 1,000 of its rows."""
    log, runs = task.prepared.log, task.prepared.runs
    level = np.minimum(runs.depth[task.rows], runs.max_depth)
    at = np.flatnonzero(level == depth)
    if len(at) > MOST_ROWS:
        at = np.sort(np.random.default_rng(task.seed).choice(at, MOST_ROWS, replace=False))
    logged = task.logged_actions[at]
    settings = _settings(task, depth)
    blocks = histories(log, runs, task.rows[at], depth)
    space = DepthSpace.of(blocks, logged, settings)
    history, scale, mapped = space.scaler(blocks), space.action_scaler, space.map
    kernel, ridge = settings.kernel, settings.ridge
    phi = mapped.features(history, scale(logged))
    gram = phi.T @ phi
    inverse = np.linalg.inv(gram + ridge * np.eye(len(gram)))

    def variance(action: Floats, own: bool = False) -> float:
        """Mean of k_post / ridge; of the log's `own` actions with each left out."""
        asked = mapped.features(history, scale(action))
        leverage = np.einsum("ij,jk,ik->i", asked, inverse, asked)
        leverage = leverage / np.maximum(1 - leverage, 1e-3) if own else leverage
        return float(np.mean(leverage + mapped.left_over(history, scale(action)) / ridge))

    ratio = float(np.mean([variance(each[at]) for each in task.actions])) / max(variance(logged, own=True), 1e-12)
    name = "linear" if kernel is None else f"{kernel.kind} {kernel.coefficient:g}"
    return DepthMeasurement(np.asarray(np.linalg.eigvalsh(gram)[::-1], dtype=np.float64), ridge, ratio, name)


def _settings(task: EvaluationTask, depth: int) -> FqeSettings:
    """Kernel and ridge of the policy's own Q where it has one, else those of fitted Q-evaluation."""
    own = q_functions(task.policy)
    if depth >= len(own):
        return FqeSettings(seed=task.seed)
    chosen = own[depth].form.choice
    return FqeSettings(chosen.kernel, chosen.ridge, seed=task.seed)


def coverage_ratio(measured: list[DepthMeasurement]) -> Diagnostic:
    """The largest ratio of posterior variances over the depths."""
    ratio = np.array([each.ratio for each in measured])
    worst = int(ratio.argmax())
    meaning = (
        f"at depth {worst} what the policy does is {ratio[worst]:.1f} times as far from the log as what was done there"
    )
    advice = "the log covers the policy" if ratio[worst] <= 3 else "try the policy's prices and orders on a few series"
    return Diagnostic("coverage", "coverage ratio by depth", float(ratio.max()), ratio, True, meaning, advice)


def dimension(measured: list[DepthMeasurement]) -> Diagnostic:
    """The largest effective dimension d* over the depths."""
    d_star = np.array([effective_dimension(each.eigenvalues, each.ridge) for each in measured], dtype=np.float64)
    meaning = (
        f"the Q of {measured[0].kernel} at depth 0 bends in about {d_star[0]:.0f} directions that the data can tell"
    )
    crowded = any(d > len(each.eigenvalues) / 2 for d, each in zip(d_star, measured, strict=True))
    advice = "a simpler kernel or a larger ridge" if crowded else "the kernel is simple enough for the rows"
    return Diagnostic("d_star", "effective dimension by depth", float(d_star.max()), d_star, False, meaning, advice)


def effective_dimension(eigenvalues: Floats, noise: float) -> int:
    """The least j with j >= sum over k > j of eigenvalue_k / noise, of a Gram matrix (Definition 4).

    >>> effective_dimension(np.array([5.0, 1.0, 0.5, 0.1]), 1.0)
    2
    """
    tail = np.r_[np.cumsum(eigenvalues[::-1])[::-1], 0.0]
    return int(np.flatnonzero(np.arange(len(tail)) >= tail / noise)[0])
