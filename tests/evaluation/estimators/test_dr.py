"""Doubly robust evaluation."""

import numpy as np
import pytest

from lostsales.evaluation.estimators.dr import action_ratios, doubly_robust, marginal_ratios
from lostsales.evaluation.estimators.q_evaluation import FqeSettings
from lostsales.evaluation.task import EvaluationTask
from lostsales.policy.policy import Policy
from lostsales.policy.simple import BaseStockRule, Uniform
from tests.evaluation.prepared_logs import log_with_true_profit
from tests.learn.small import scenario


def task_of(name: str, policy: Policy, episodes: int) -> EvaluationTask:
    return EvaluationTask.of(policy, log_with_true_profit(name, None, episodes, 4), None, 0)


def test_ratios_of_the_behaviour_are_one_and_all_rows_have_weight() -> None:
    task = task_of("steady", Uniform(scenario("steady").problem), 30)
    rho = action_ratios(task)
    assert rho.mean() == pytest.approx(1.0, abs=0.1)
    weights = marginal_ratios(task, rho, FqeSettings())
    np.testing.assert_allclose(weights.sum(axis=0), 1.0)
    found = doubly_robust(task)
    assert found.overlap.effective_rows > 400
    assert found.profit is not None
    assert found.profit.value == pytest.approx(float(task.prepared.profit.mean()), abs=1.5)


def test_too_few_effective_rows_are_a_refusal() -> None:
    found = doubly_robust(task_of("nonlinear", BaseStockRule(scenario("nonlinear").problem, 18, 4.0), 5))
    assert found.profit is None
    assert "effective rows" in str(found.reason)
    assert found.overlap.effective_rows < 20


def test_the_residuals_correct_a_misspecified_q() -> None:
    """Under a ridge so large that Q is constant, only the weighted residuals distinguish policies."""
    task = task_of("steady", BaseStockRule(scenario("steady").problem, 18, 4.25), 60)
    found = doubly_robust(task, FqeSettings(ridge=1e9))
    assert found.gain is not None
    assert found.gain.value > 3.0
