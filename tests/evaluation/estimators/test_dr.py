"""Doubly robust evaluation."""

import numpy as np
import pytest

from lostsales.evaluation.estimators.dr import action_ratios, doubly_robust, marginal_ratios
from lostsales.evaluation.estimators.fqe import FqeSettings
from lostsales.evaluation.task import EvaluationTask
from lostsales.policy.policy import Policy
from lostsales.policy.simple import BaseStockRule, Uniform
from tests.evaluation.judged import simulated
from tests.learn.small import scenario


def case_of(name: str, policy: Policy, episodes: int) -> EvaluationTask:
    return EvaluationTask.of(policy, simulated(name, None, episodes, 4), None, 0)


def test_ratios_of_the_behaviour_itself_are_one_and_all_rows_count() -> None:
    case = case_of("steady", Uniform(scenario("steady").problem), 30)
    rho = action_ratios(case)
    assert rho.mean() == pytest.approx(1.0, abs=0.1)
    weights = marginal_ratios(case, rho, FqeSettings())
    np.testing.assert_allclose(weights.sum(axis=0), 1.0)
    found = doubly_robust(case)
    assert found.overlap.effective_rows > 400
    assert found.profit is not None
    assert found.profit.value == pytest.approx(float(case.ledger.profit.mean()), abs=1.5)


def test_too_few_effective_rows_are_refused() -> None:
    found = doubly_robust(case_of("nonlinear", BaseStockRule(scenario("nonlinear").problem, 18, 4.0), 5))
    assert found.profit is None
    assert "effective rows" in str(found.reason)
    assert found.overlap.effective_rows < 20


def test_it_corrects_a_q_that_is_wrong() -> None:
    """Under a ridge so large that Q is a constant, only the weighted residuals tell the policies apart."""
    case = case_of("steady", BaseStockRule(scenario("steady").problem, 18, 4.25), 60)
    found = doubly_robust(case, FqeSettings(ridge=1e9))
    assert found.gain is not None
    assert found.gain.value > 3.0
