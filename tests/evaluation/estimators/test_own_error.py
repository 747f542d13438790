"""What an estimator misses is measured on drawn logs, whose truth is known."""

from dataclasses import replace

import numpy as np
import pytest

from lostsales.evaluation.assortment import AssortmentGain, MoneyOver, ProductChoice
from lostsales.evaluation.estimators.fqe import fitted_q_evaluation
from lostsales.evaluation.estimators.own_error import DRAWN_LOGS, drawn_log, own_error
from lostsales.evaluation.interval import Interval
from lostsales.evaluation.prepared_log import PreparedLog
from lostsales.evaluation.promise.policy_concerns import _disagreement
from lostsales.evaluation.results import Estimate, Overlap
from lostsales.evaluation.task import EvaluationTask
from lostsales.learn.baselines.behaviour import Behaviour
from lostsales.policy.simple import BaseStockRule, Uniform
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import evaluate_policy, simulate

SCENARIO = Scenario.load("released")
RULE = BaseStockRule(SCENARIO.problem, 20, 6.0)


@pytest.fixture(scope="module")
def prepared() -> PreparedLog:
    return PreparedLog.of(simulate(SCENARIO, episodes=20, seed=3)[0], quick=True)


def test_a_drawn_log_has_the_periods_of_the_log_and_keeps_its_balance(prepared: PreparedLog) -> None:
    assert prepared.laws is not None
    uniform = Uniform(SCENARIO.problem)
    drawn = drawn_log(prepared, prepared.laws.law, uniform, seed=1).log
    np.testing.assert_array_equal(drawn.period, prepared.log.period)
    np.testing.assert_array_equal(drawn.features, prepared.log.features)
    left = np.asarray(drawn.available) - drawn.sales
    stock, inside = np.asarray(drawn.stock), drawn.has_next
    arrives_later = np.asarray(drawn.order) if drawn.problem.arrival == "after" else 0.0
    np.testing.assert_allclose(stock[1:][inside[:-1]], (left + arrives_later)[inside])
    assert not np.array_equal(drawn.sales, prepared.log.sales)
    again = drawn_log(prepared, prepared.laws.law, uniform, seed=1).log
    np.testing.assert_array_equal(drawn.sales, again.sales)


def test_the_logged_profit_of_the_behaviour_has_no_error(prepared: PreparedLog) -> None:
    """The mean profit of a log estimates what made it without bias."""
    behaviour = Behaviour(seed=0).fit(prepared.log)
    task = EvaluationTask.of(behaviour, prepared, None, 0)

    found = own_error(task, lambda drawn: float(drawn.prepared.profit.mean()))
    assert found is not None
    assert abs(found.mean) < 4 * max(found.error, 0.3 / np.sqrt(DRAWN_LOGS))


def test_what_fitted_q_evaluation_misses_is_about_what_it_says(prepared: PreparedLog) -> None:
    task = EvaluationTask.of(RULE, prepared, None, 0)
    truth = evaluate_policy(SCENARIO, RULE, 500, 9).mean_profit
    found = fitted_q_evaluation(task)
    assert found.profit is not None
    assert found.profit.value < truth - 2
    assert abs(found.profit.value - found.own_error - truth) < abs(found.profit.value - truth) / 2
    assert f"its bias is {found.own_error:+.2f} per period" in found.notes[0]


def test_estimators_disagree_beyond_what_one_falls_short_by() -> None:
    def said(own: float) -> list[str]:
        overlap = Overlap("", 1.0, 100.0, True, "")
        model = Estimate("model", overlap, gain=Interval(50.0, 45.0, 55.0))
        other = Estimate("fqe", overlap, gain=Interval(20.0, 15.0, 25.0), own_error=own)
        return [each.text for each in _disagreement((model, other))]

    assert said(0.0) == said(3.0) == said(-4.0) == ["estimators disagree: a gain of 50.00 by model, 20.00 by fqe"]
    assert said(-25.0) == []


def test_of_an_assortment_estimators_disagree_where_the_interval_of_one_says_so() -> None:
    one = MoneyOver(Interval(50.0, 45.0, 55.0))
    products = AssortmentGain((), one, one, ProductChoice((), (), one, ""), 3, None, ())

    def said(high: float) -> list[str]:
        overlap = Overlap("", 1.0, 100.0, True, "")
        model = Estimate("model", overlap, gain=one.period, assortment=products)
        other = Estimate("fqe", overlap, gain=Interval(-5.0, -10.0 - high, high))
        return [each.text for each in _disagreement((model, other))]

    assert said(24.0) == ["estimators disagree: a gain of 50.00 by model, -5.00 by fqe"]
    assert said(26.0) == []


def test_without_a_law_the_bias_is_said(prepared: PreparedLog) -> None:
    task = EvaluationTask.of(RULE, replace(prepared, laws=None), None, 0)
    found = fitted_q_evaluation(task)
    assert found.profit is not None
    assert found.own_error == 0
    assert "it underestimates the gain" in found.notes[0]
