"""What an estimator misses is measured on drawn logs, whose truth is known."""

from dataclasses import replace

import numpy as np
import pytest

from lostsales.data.log import SalesLog
from lostsales.evaluation import task as task_module
from lostsales.evaluation.assortment import AssortmentGain, MoneyOver, ProductChoice
from lostsales.evaluation.concerns import _disagreement
from lostsales.evaluation.estimators import own_error as own_error_module
from lostsales.evaluation.estimators.fqe import fitted_q_evaluation
from lostsales.evaluation.estimators.own_error import DRAWN_LOGS, OwnError, drawn_log, drawn_periods, own_error
from lostsales.evaluation.estimators.replay import random_decisions
from lostsales.evaluation.interval import Interval
from lostsales.evaluation.prepared_log import PreparedLog
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


def drawn(prepared: PreparedLog, horizon: int = 50) -> SalesLog:
    assert prepared.laws is not None
    periods = drawn_periods(prepared.log, prepared.laws.model.evidence, horizon, seed=1)
    return drawn_log(prepared, prepared.laws.law, Uniform(SCENARIO.problem), periods, seed=1).log


def check_balance(log: SalesLog) -> None:
    left = np.asarray(log.available) - log.sales
    stock, inside = np.asarray(log.stock), log.has_next
    arrives_later = np.asarray(log.order) if log.problem.arrival == "after" else 0.0
    np.testing.assert_allclose(stock[1:][inside[:-1]], (left + arrives_later)[inside])


def test_a_drawn_log_has_the_periods_of_the_log_and_keeps_its_balance(prepared: PreparedLog) -> None:
    log = drawn(prepared)
    np.testing.assert_array_equal(log.period, prepared.log.period)
    np.testing.assert_array_equal(log.features, prepared.log.features)
    check_balance(log)
    assert not np.array_equal(log.sales, prepared.log.sales)
    np.testing.assert_array_equal(log.sales, drawn(prepared).sales)


def test_decisions_of_a_drawn_log_do_not_foretell_its_demand(prepared: PreparedLog) -> None:
    """Both were drawn from the same numbers once, which confounded every drawn log."""
    assert prepared.laws is not None
    periods = drawn_periods(prepared.log, prepared.laws.model.evidence, 50, seed=1)
    draws = random_decisions(1).random(periods.uniform.shape)
    assert abs(np.corrcoef(draws.ravel(), periods.uniform.ravel())[0, 1]) < 0.1  # 950 pairs
    log, first = drawn(prepared), np.argsort(periods.series)
    assert abs(np.corrcoef(np.asarray(log.order)[log.starts], periods.uniform[0, first])[0, 1]) < 0.7  # 20 pairs


def test_a_long_series_is_drawn_in_parts_that_open_as_the_log_did(
    prepared: PreparedLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_error_module, "PART", 15)
    log, logged = drawn(prepared, horizon=10), prepared.log
    length = np.diff(np.r_[log.starts, len(log)])
    assert length.max() == 20  # whole horizons
    assert len(log.names) == 3 * len(logged.names)  # of 50 periods 20, 20 and 10
    assert len(log) > 0.95 * len(logged)  # but rows in a run of stock-outs that goes on where a part begins
    check_balance(log)
    where = {key: row for row, key in enumerate(zip(logged.names[logged.series], logged.period, strict=True))}
    rows = np.array([where[key] for key in zip(log.names[log.series], log.period, strict=True)])
    np.testing.assert_array_equal(log.features, logged.features[rows])
    np.testing.assert_array_equal(np.asarray(log.stock)[log.starts], np.asarray(logged.stock)[rows[log.starts]])
    inside = ~np.isin(rows[log.starts], logged.starts)
    np.testing.assert_array_equal(log.last_sales[inside], logged.sales[rows[log.starts][inside] - 1])


def test_parts_take_fewer_steps_and_tell_the_same_error(prepared: PreparedLog, monkeypatch: pytest.MonkeyPatch) -> None:
    assert prepared.laws is not None
    evidence, task = prepared.laws.model.evidence, EvaluationTask.of(RULE, prepared, 10, 0)

    def found(part: int) -> tuple[int, OwnError]:
        monkeypatch.setattr(own_error_module, "PART", part)
        error = own_error(task, lambda each: float(each.prepared.profit.mean()))
        assert error is not None
        return len(drawn_periods(prepared.log, evidence, task.estimand.horizon, seed=1).row), error

    (many, whole), (few, parts) = found(1_000), found(10)
    assert (many, few) == (50, 10)
    assert whole != parts
    assert abs(whole.mean - parts.mean) < 3 * np.hypot(whole.error, parts.error)


@pytest.mark.parametrize(("restarts", "openings"), [(False, 20), (True, 60)])
def test_episodes_open_in_drawn_logs_where_they_do_in_the_log(
    prepared: PreparedLog, monkeypatch: pytest.MonkeyPatch, restarts: bool, openings: int
) -> None:
    monkeypatch.setattr(own_error_module, "PART", 20)
    monkeypatch.setattr(task_module, "MOST_HORIZON", 20)
    task = EvaluationTask.of(RULE, prepared, None if restarts else 20, 0)
    assert task.estimand.restarts == restarts
    assert len(task.opening_rows) == openings
    seen = []

    def profit(each: EvaluationTask) -> float:
        seen.append(len(each.opening_rows))
        return 0.0

    own_error(task, profit)
    assert seen == [openings] * DRAWN_LOGS


def test_the_logged_profit_of_the_behaviour_has_no_error(prepared: PreparedLog) -> None:
    """The mean profit of a log estimates what made it without bias."""
    behaviour = Behaviour(seed=0).fit(prepared.log.decisions("fit"))
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
