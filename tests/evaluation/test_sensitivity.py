"""Concerns, advice, sensitivity to hidden causes, and the verdicts of `compare` and `evaluate`."""

from dataclasses import replace

import numpy as np
import pytest

from lostsales.demand.audit.decision_panel import DecisionPanel
from lostsales.demand.law.demand_law import Family
from lostsales.demand.law.selection import fit_law
from lostsales.evaluation.advice import Concern, advice
from lostsales.evaluation.compare import compare
from lostsales.evaluation.concerns import drift_of, log_concerns, run_down, second_lag_of
from lostsales.evaluation.evaluate import evaluate
from lostsales.evaluation.interval import Interval
from lostsales.evaluation.prepared_log import PreparedLog, earned_profit
from lostsales.evaluation.results import Estimate, Overlap
from lostsales.evaluation.sensitivity import Sensitivity, robustness_value, sensitivity, with_price_slope
from lostsales.learn.baselines.threshold_tuning import BaseStock
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import simulate

LINEAR = (Family("linear", False),)


def test_an_interval_that_includes_zero_is_not_deployed() -> None:
    assert advice(Interval(4.64, -0.23, 9.51), ()) == "pilot"
    assert advice(Interval(4.64, 0.23, 9.05), ()) == "deploy"
    assert advice(Interval(4.64, 0.23, 9.05), (Concern("amber", "estimators disagree"),)) == "pilot"
    assert advice(Interval(4.64, 0.23, 9.05), (Concern("red", "balance", by_pilot=False),)) == "keep"
    assert advice(Interval(-1.0, -3.0, 1.0), ()) == "keep"
    assert advice(None, ()) == "keep"


def test_a_tilted_law_has_the_asked_slope_and_the_same_mean_price() -> None:
    log, _ = simulate(Scenario.load("confounded", ("strength=0",)), "manager", 10, 1)
    model = fit_law(log, families=LINEAR)
    law = with_price_slope(model.law, model.evidence, -0.5)
    at = float(model.evidence.price.mean())
    inputs = model.law.inputs(np.zeros((2, 0)), np.array([at, at + 2]), np.array([9.0, 9.0]))
    np.testing.assert_allclose(law.mean(inputs) - model.law.mean(inputs), [0.0, -1.0], atol=1e-9)


def test_the_robustness_value_inverts_the_bend_of_a_cause_of_equal_strength() -> None:
    for share in (0.01, 0.2, 0.7):
        assert robustness_value(share / np.sqrt(1 - share)) == pytest.approx(share)


def test_a_gain_that_does_not_rest_on_the_price_is_not_erased() -> None:
    panel = DecisionPanel.of(simulate(Scenario.load("confounded", ("strength=0",)), "manager", 10, 1)[0])
    assert sensitivity(panel, 2.0, 0.2, np.array([0.0, 0.3])).erased_at is None
    weak, strong = (sensitivity(panel, gain, 0.2, np.array([-0.5, 0.5])).erased_at for gain in (0.5, 5.0))
    assert weak is not None
    assert strong is not None
    assert 0 < weak < strong < 1
    assert "would erase the gain" in sensitivity(panel, 0.5, 0.2, np.array([-0.5, 0.5])).sentence


def test_there_is_nothing_to_say_of_a_hidden_cause_where_nothing_is_gained() -> None:
    assert Sensitivity(0.0, None).sentence == ""


def test_a_gain_by_stock_that_is_run_down_is_doubted() -> None:
    overlap = Overlap("all", 1.0, 100.0, True, "")
    gain = Estimate("model", overlap, profit=Interval(3.0, 2.0, 4.0), gain=Interval(2.0, 1.0, 3.0))
    assert not [*run_down((replace(gain, worth_of_stock=-0.9),))]
    (found,) = run_down((replace(gain, worth_of_stock=-1.5),))
    assert found.level == "amber"
    assert "1.50 is stock that it runs down" in found.text
    assert not [*run_down((replace(gain, worth_of_stock=5.0),))]


def test_a_drift_and_a_longer_memory_are_noticed() -> None:
    two_lag = DecisionPanel.of(simulate("two-lag", "manager", 14, 1)[0])
    assert "more than the last period" in second_lag_of(two_lag)
    assert drift_of(two_lag) == ""
    drift = DecisionPanel.of(simulate(Scenario.load("drift", ("features.market.step=0.2",)), "manager", 14, 1)[0])
    assert "it rises from the start" in drift_of(drift)
    clean = DecisionPanel.of(simulate(Scenario.load("confounded", ("strength=0",)), "manager", 14, 1)[0])
    assert second_lag_of(clean) == drift_of(clean) == ""


@pytest.mark.filterwarnings("ignore:the policy keeps the usual price")
def test_a_hidden_cause_withholds_the_gain_and_advises_a_pilot_or_to_keep() -> None:
    log, _ = simulate("confounded", "manager", 14, 1)
    found = compare(log, [BaseStock()], quick=True)
    assert found.price_setting == "hidden"
    assert found.choice is None
    assert found.verdict in ("pilot", "keep")
    assert "that the log does not show" in found.sentence
    assert "deploy" not in found.sentence
    gain = found.candidates[0].gain
    assert gain is not None
    assert gain.low < 0
    assert found.to_json()["verdict"] == found.verdict


def test_impute_and_evaluate_agree_on_what_was_earned() -> None:
    log, _ = simulate(Scenario.load("newsvendor", ("horizon=12",)), episodes=10, seed=2)
    assert earned_profit(log) == pytest.approx(PreparedLog.of(log, quick=True).earned.profit.value, rel=1e-9)


def test_a_stock_off_its_balance_is_a_red_concern_that_no_pilot_settles() -> None:
    log, _ = simulate(Scenario.load("newsvendor", ("horizon=12",)), episodes=10, seed=2)
    broken = replace(log, notes=replace(log.notes, balance_rows=100, off_balance_rows=99))
    concerns = log_concerns(PreparedLog.of(broken, quick=True))
    assert [(each.level, each.by_pilot) for each in concerns] == [("red", False)]


@pytest.mark.filterwarnings("ignore:the policy keeps the usual price")
def test_evaluate_says_why_a_gain_is_not_proven() -> None:
    log, _ = simulate("confounded", "manager", 14, 1)
    found = evaluate(BaseStock().fit(log), log, estimators=["model"], quick=True)
    assert found.withheld
    assert found.verdict != "deploy"
    assert "proven" not in found.sentence
    assert found.to_json()["concerns"][0]["level"] == "red"
