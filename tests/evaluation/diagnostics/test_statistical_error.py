"""Effective dimension, information gain and E_stat against brute force on the rows of a log."""

from dataclasses import replace
from math import log, sqrt

import numpy as np
import pytest

from lostsales.evaluation.diagnostics import action_coverage
from lostsales.evaluation.diagnostics.action_coverage import measure_depth
from lostsales.evaluation.diagnostics.diagnose import diagnose
from lostsales.evaluation.diagnostics.statistical_error import (
    dimension,
    effective_dimension,
    gain_in_information,
    information_gain,
)
from lostsales.evaluation.estimators.q_evaluation import histories
from lostsales.evaluation.task import EvaluationTask
from lostsales.policy.simple import Uniform
from lostsales.types import Floats
from tests.evaluation.diagnostics.tiny_world import log_of_all_paths, problem
from tests.evaluation.prepared_logs import without_model
from tests.learn.small import scenario, small_log

COEFFICIENT, RIDGE = 0.1, 1.0  # of fitted Q-evaluation


def tiny_task() -> EvaluationTask:
    return EvaluationTask.of(Uniform(problem()), without_model(log_of_all_paths()), None, 0)


def points_of_depth(task: EvaluationTask, depth: int, actions: Floats) -> Floats:
    """The histories of a depth with the given actions of all rows, standardised as those of the log are."""
    runs, at = task.prepared.runs, []
    for place, row in enumerate(task.rows):
        if min(runs.depth[row], runs.max_depth) == depth:
            at.append(place)
    z = histories(task.prepared.log, runs, task.rows[at], depth)
    spread = np.minimum(np.ptp(np.quantile(z, [0.25, 0.75], axis=0), axis=0), z.std(axis=0))
    spread = np.where(spread > 0, spread, z.std(axis=0))
    logged = task.logged_actions[at]
    scale = np.where(logged.std(axis=0) > 0, logged.std(axis=0), np.inf)
    return np.hstack([z / np.where(spread > 0, spread, np.inf), actions[at] / scale])


def gaussian(left: Floats, right: Floats) -> Floats:
    """The Gaussian kernel, entry by entry."""
    return np.array([[np.exp(-COEFFICIENT * sum((x - y) ** 2)) for y in right] for x in left])


def gram_of_depth(task: EvaluationTask, depth: int) -> Floats:
    """The Gaussian kernel between all rows of a depth."""
    points = points_of_depth(task, depth, task.logged_actions)
    return gaussian(points, points)


def dimension_by_search(gram: Floats, noise: float) -> int:
    """The least j whose remaining eigenvalues sum to at most j times the noise, tried one after another."""
    eigenvalues = sorted(np.linalg.eigvalsh(gram), reverse=True)
    return next(j for j in range(len(gram) + 1) if j >= sum(eigenvalues[j:]) / noise)


def test_dimension_and_information_of_a_depth_are_those_of_its_gram_matrix() -> None:
    task = tiny_task()
    depths = range(task.prepared.runs.max_depth + 1)
    measured = [measure_depth(task, depth) for depth in depths]
    grams = [gram_of_depth(task, depth) for depth in depths]
    d_star, gain = dimension(measured).by_depth, gain_in_information(measured).by_depth
    assert d_star is not None
    assert gain is not None
    assert d_star.tolist() == [dimension_by_search(gram, RIDGE) for gram in grams]
    expected = [np.linalg.slogdet(np.eye(len(gram)) + gram / RIDGE)[1] / 2 for gram in grams]
    assert gain == pytest.approx(expected)
    assert [each.rows for each in measured] == [len(gram) for gram in grams]


def test_the_coverage_ratio_is_that_of_posterior_variances_written_out() -> None:
    """At the policy's actions, over that at the logged ones, each row of the log left out in its turn."""
    task = tiny_task()
    for depth in range(task.prepared.runs.max_depth + 1):
        log_points = points_of_depth(task, depth, task.logged_actions)
        gram = gaussian(log_points, log_points) + RIDGE * np.eye(len(log_points))
        drawn = []
        for actions in task.actions:
            asked = points_of_depth(task, depth, actions)
            near = gaussian(log_points, asked)
            drawn.append(np.mean(1 - np.sum(near * np.linalg.solve(gram, near), axis=0)))
        left_out = []
        for row in range(len(gram)):
            others = np.arange(len(gram)) != row
            near = gram[others, row]
            left_out.append(1 - near @ np.linalg.solve(gram[np.ix_(others, others)], near))
        assert measure_depth(task, depth).ratio == pytest.approx(np.mean(drawn) / np.mean(left_out), rel=1e-3)


def test_a_sample_of_the_rows_is_measured_on_the_scale_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    task = EvaluationTask.of(Uniform(scenario("steady").problem), without_model(small_log("steady", 16)), None, 0)
    whole = measure_depth(task, 0)
    assert whole.rows <= action_coverage.MOST_ROWS
    monkeypatch.setattr(action_coverage, "MOST_ROWS", whole.rows // 3)
    part = measure_depth(task, 0)
    assert part.rows == whole.rows
    assert len(part.eigenvalues) == whole.rows // 3
    wanted = effective_dimension(whole.eigenvalues, RIDGE)
    found = effective_dimension(part.eigenvalues, RIDGE)
    unscaled = effective_dimension(part.eigenvalues / 3, RIDGE)
    assert abs(found - wanted) <= 0.1 * wanted
    assert unscaled < 0.8 * wanted
    gains = [information_gain(each.eigenvalues, RIDGE) for each in (whole, part)]
    assert gains[1] == pytest.approx(gains[0], rel=0.1)
    assert part.ratio == pytest.approx(whole.ratio, rel=0.15)


def test_e_stat_is_the_formula_of_theorem_2() -> None:
    task = tiny_task()
    units = len(task.prepared.units)
    without = np.tile(task.prepared.profit, (units, 1)) + np.arange(units)[:, None] / 10  # an imputation error
    task = replace(task, prepared=replace(task.prepared, profit_without=without))
    found = diagnose(task)
    d_star, coverage, rho, omega, imputation = (
        found.by(key).value for key in ("d_star", "coverage", "rho", "omega", "imputation")
    )
    assert d_star is not None
    assert coverage is not None
    assert rho is not None
    assert omega is not None
    assert imputation is not None
    rows = sum(task.prepared.runs.usable.tolist())
    confident = d_star + log(1 / 0.05)
    first = d_star * confident * sqrt(max(coverage, 1.0) / (rho * rows))
    second = sqrt(d_star * confident) * sqrt((1 + d_star) / (rho * rows))
    assert imputation > 0
    assert found.by("e_stat").value == pytest.approx(max(first, second) + imputation + omega)


def test_the_effective_dimension_of_equal_directions() -> None:
    """M for m eigenvalues far above the noise, 0 for none."""
    assert effective_dimension(np.full(12, 1000.0), 1.0) == 12
    assert effective_dimension(np.zeros(12), 1.0) == 0
    assert effective_dimension(np.full(12, 1.0), 1.0) == 6
