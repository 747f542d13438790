"""`evaluate`, for every estimator."""

import json
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pytest

from lostsales.data.problem import Problem
from lostsales.data.sublogs import without
from lostsales.errors import LostSalesError
from lostsales.evaluation.estimators.estimator import ESTIMATORS, Estimator
from lostsales.evaluation.estimators.fqe import fitted_q_evaluation
from lostsales.evaluation.evaluate import evaluate, evaluate_on
from lostsales.evaluation.interval import Interval
from lostsales.evaluation.results import Estimate
from lostsales.evaluation.task import EvaluationTask
from lostsales.learn.fit import fit
from lostsales.policy.base import PolicyBase
from lostsales.policy.simple import Uniform
from lostsales.policy.view import Action, View
from lostsales.registry import Registry
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import evaluate_policy
from tests.evaluation.prepared_logs import epsilon_greedy_log, epsilon_greedy_policy, uniform_log, without_model
from tests.learn.small import scenario, small_log


def width(interval: Interval | None) -> float:
    assert interval is not None
    return interval.high - interval.low


@pytest.mark.parametrize("estimator", ESTIMATORS.names)
@pytest.mark.parametrize("name", ["steady", "nonlinear"])
def test_evaluating_the_behaviour_policy_reproduces_the_logged_profit(name: str, estimator: str) -> None:
    prepared = epsilon_greedy_log(name)
    found = evaluate_on(epsilon_greedy_policy(name), prepared, estimators=(estimator,)).estimates[0]
    earned = prepared.earned
    for ours, wanted in ((found.cash, earned.cash), (found.profit, earned.profit)):
        assert ours is not None
        assert ours.value == pytest.approx(wanted.value, abs=0.3 * width(wanted))
    assert found.gain is not None
    assert found.gain.low < 0 < found.gain.high


@pytest.mark.parametrize("estimator", ESTIMATORS.names)
@pytest.mark.parametrize(
    "name", ["steady", *(pytest.param(each, marks=pytest.mark.slow) for each in ("released", "nonlinear"))]
)
def test_on_policy_evaluation_matches_the_monte_carlo_mean(name: str, estimator: str) -> None:
    policy = Uniform(scenario(name).problem)
    found = evaluate_on(policy, uniform_log(name), estimators=(estimator,)).estimates[0]
    truth = evaluate_policy(scenario(name), policy, 4000, 1).mean_profit
    cash = evaluate_policy(Scenario.load(name, ("costs.lost=0",)), policy, 4000, 1).mean_profit
    assert found.profit is not None
    assert found.cash is not None
    assert found.profit.low < truth < found.profit.high
    assert found.cash.low < cash < found.cash.high


@pytest.mark.parametrize("estimator", ESTIMATORS.names)
def test_the_mean_of_contributions_is_the_value_of_the_interval(estimator: str) -> None:
    found = evaluate_on(Uniform(scenario("steady").problem), uniform_log("steady"), estimators=(estimator,))
    best = found.best
    assert best is not None
    assert best.contributions is not None
    assert best.contributions.shape == (len(found.units),) == (20,)
    assert best.profit is not None
    assert best.contributions.mean() == pytest.approx(best.profit.value)
    assert width(best.profit) >= width(Interval.of(best.contributions))


@pytest.mark.parametrize("estimator", ["fqe", pytest.param("dr", marks=pytest.mark.slow)])
def test_the_interval_narrows_as_the_square_root_of_the_number_of_series(estimator: str) -> None:
    """For a policy near the log; far from it more series also reduce bias. Both sizes have one quantile."""
    policy = Uniform(scenario("steady").problem)

    def mean_width(series: int) -> float:
        prepared = [without_model(small_log("steady", series, seed)) for seed in range(8)]
        found = [evaluate_on(policy, each, estimators=(estimator,), horizon=20).estimates[0] for each in prepared]
        return float(np.mean([width(each.cash) for each in found]))

    # Without the root it would be 1.4: 40 series are resampled in 20 groups.
    assert mean_width(10) / mean_width(40) == pytest.approx(2.0, rel=0.2)


@pytest.mark.slow
def test_the_interval_of_the_model_narrows_likewise() -> None:
    """For the gain, in which most of the model uncertainty cancels."""
    policy = Uniform(scenario("steady").problem)

    def mean_width(series: int) -> float:
        found = [evaluate_on(policy, uniform_log("steady", series, seed), estimators=("model",)) for seed in range(5)]
        return float(np.mean([width(each.by("model").gain) for each in found]))

    assert mean_width(10) / mean_width(40) == pytest.approx(2.0, rel=0.25)


@dataclass(frozen=True)
class OutOfSupport(PolicyBase):
    """A price and an order that the log does not contain."""

    problem: Problem
    observes: Literal["sales"] = "sales"

    def decide(self, view: View, rng: np.random.Generator) -> Action:  # noqa: ARG002
        """The same for all series."""
        rows = len(view.stock)
        return Action(np.full(rows, 60.0), np.zeros(rows))


def test_every_estimator_refuses_a_policy_without_overlap() -> None:
    found = evaluate_on(OutOfSupport(scenario("steady").problem), uniform_log("steady"))
    assert found.best is None
    for each in found.estimates:
        assert not each.scored
        assert not each.overlap.enough
        assert each.reason
    assert "in 0 of" in str(found.by("fqe").reason)


def test_series_of_any_length_and_with_gaps() -> None:
    log = small_log("nonlinear", 9)
    rng = np.random.default_rng(3)
    with_gaps = without(log, (rng.random(len(log)) < 0.05) | ((log.series == 2) & (log.period > 7)))
    policy = Uniform(scenario("nonlinear").problem)
    found = evaluate(policy, with_gaps)
    assert found.by("model").scored
    assert found.by("fqe").scored
    one = evaluate_on(policy, without_model(small_log("nonlinear", 1)), estimators=("fqe",))
    assert one.resampled == "blocks in time"
    assert len(one.units) == 5


def test_an_error_of_a_registered_estimator_is_its_refusal_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_task: EvaluationTask) -> Estimate:
        raise LostSalesError("not today")

    registry = Registry[Estimator]("no.such.group", "estimator")
    monkeypatch.setattr("lostsales.evaluation.evaluate.ESTIMATORS", registry)
    registry.register("broken", broken)
    registry.register("fqe", fitted_q_evaluation)
    found = evaluate_on(Uniform(scenario("steady").problem), without_model(small_log("steady", 6)))
    assert found.by("broken").reason == "not today"
    assert found.best is found.by("fqe")


@pytest.mark.slow
def test_results_are_json_and_equal_for_equal_seeds() -> None:
    log, policy = small_log("released", 10), Uniform(scenario("released").problem)
    first, again = (evaluate(policy, log, seed=4, quick=True).to_json() for _ in range(2))
    assert json.dumps(first) == json.dumps(again)
    assert first["estimand"]["horizon"] == 50


def test_progress_rises_to_the_whole_and_estimators_may_be_a_list() -> None:
    calls: list[tuple[int, int]] = []
    policy = Uniform(scenario("newsvendor").problem)
    found = evaluate(
        policy, small_log("newsvendor", 3), estimators=["model"], horizon=5, progress=lambda *call: calls.append(call)
    )
    assert found.by("model").scored
    assert calls == sorted(calls)
    assert calls[-1] == (1000, 1000)


def test_no_gain_is_claimed_from_a_stock_off_its_balance() -> None:
    log = small_log("newsvendor", 10)
    policy = fit(log, "newsvendor")
    trusted = evaluate(policy, log, estimators=("fqe",), horizon=5)
    broken = replace(log, notes=replace(log.notes, balance_rows=100, off_balance_rows=6))
    found = evaluate(policy, broken, estimators=("fqe",), horizon=5)
    assert trusted.sentence.startswith("a proven gain")
    assert trusted.withheld == ""
    said = "the stock of the log does not follow its balance in 6.0% of rows"
    assert found.sentence == f"the gain cannot be determined: {said}; keep the current practice"
    assert found.to_json()["withheld"] == said
    assert found.notes == (broken.notes.balance_warning,)
    assert found.best is not None
    assert trusted.best is not None
    assert found.best.gain == trusted.best.gain


def test_only_the_model_starts_from_another_stock() -> None:
    """Over one period the value depends on the start alone; a surplus unit costs its holding cost."""
    world, policy = scenario("nonlinear"), Uniform(scenario("nonlinear").problem)
    known = Scenario.load("nonlinear", ("start.stock=60",))
    found = {
        stock: evaluate_on(policy, uniform_log("nonlinear"), horizon=1, start_stock=stock) for stock in (60.0, 70.0)
    }
    some, more = (found[stock].estimates[0].profit for stock in found)
    assert some is not None
    assert more is not None
    truth = evaluate_policy(known.model_copy(update={"horizon": 1}), policy, 20_000, 3).mean_profit
    assert some.low < truth < some.high
    assert some.value - more.value == pytest.approx(10 * world.costs.holding, abs=0.3)
    assert "with 60 units in stock" in str(found[60.0].estimand)
    assert [each.scored for each in found[60.0].estimates] == [True, False, False]
    assert "model can start with another stock" in (found[60.0].estimates[1].reason or "")
