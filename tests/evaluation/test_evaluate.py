"""What `evaluate` promises, for every estimator."""

import json
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pytest

from lostsales.data.problem import Problem
from lostsales.data.sublogs import without
from lostsales.errors import LostSalesError, SettingError
from lostsales.evaluation.estimators.stepwise import fitted_q_evaluation
from lostsales.evaluation.evaluate import ESTIMATORS, Estimator, evaluate, evaluate_on
from lostsales.evaluation.results import Estimate, Interval
from lostsales.evaluation.task import EvaluationTask
from lostsales.learn.fit import fit
from lostsales.policy.base import PolicyBase
from lostsales.policy.simple import Uniform
from lostsales.policy.view import Action, View
from lostsales.registry import Registry
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import evaluate_policy
from tests.evaluation.judged import explored, exploring, seen_only, tried
from tests.learn.small import scenario, small_log


def width(interval: Interval | None) -> float:
    assert interval is not None
    return interval.high - interval.low


@pytest.mark.parametrize("estimator", ESTIMATORS.names)
@pytest.mark.parametrize("name", ["steady", "nonlinear"])
def test_evaluating_the_behaviour_policy_gives_back_what_was_earned(name: str, estimator: str) -> None:
    ledger = explored(name)
    found = evaluate_on(exploring(name), ledger, estimators=(estimator,)).estimates[0]
    earned = ledger.earned
    for ours, wanted in ((found.cash, earned.cash), (found.profit, earned.profit)):
        assert ours is not None
        assert ours.value == pytest.approx(wanted.value, abs=0.3 * width(wanted))
    assert found.gain is not None
    assert found.gain.low < 0 < found.gain.high


@pytest.mark.parametrize("estimator", ESTIMATORS.names)
@pytest.mark.parametrize("name", ["released", "steady", "nonlinear"])
def test_on_policy_evaluation_matches_the_monte_carlo_mean(name: str, estimator: str) -> None:
    policy = Uniform(scenario(name).problem)
    found = evaluate_on(policy, tried(name), estimators=(estimator,)).estimates[0]
    truth = evaluate_policy(scenario(name), policy, 4000, 1).mean_profit
    cash = evaluate_policy(Scenario.load(name, ("costs.lost=0",)), policy, 4000, 1).mean_profit
    assert found.profit is not None
    assert found.cash is not None
    assert found.profit.low < truth < found.profit.high
    assert found.cash.low < cash < found.cash.high


@pytest.mark.parametrize("estimator", ESTIMATORS.names)
def test_contributions_carry_value_and_interval(estimator: str) -> None:
    found = evaluate_on(Uniform(scenario("steady").problem), tried("steady"), estimators=(estimator,))
    best = found.best
    assert best is not None
    assert best.contributions is not None
    assert best.contributions.shape == (len(found.units),) == (20,)
    assert best.profit is not None
    assert best.contributions.mean() == pytest.approx(best.profit.value)
    assert width(best.profit) >= width(Interval.of(best.contributions))


@pytest.mark.parametrize("estimator", ["fqe", pytest.param("dr", marks=pytest.mark.slow)])
def test_the_interval_narrows_as_the_square_root_of_the_number_of_series(estimator: str) -> None:
    """Of a policy that the log knows: of one far from it, more series also tell more. Both sizes have one quantile."""
    policy = Uniform(scenario("steady").problem)

    def mean_width(series: int) -> float:
        ledgers = [seen_only(small_log("steady", series, seed)) for seed in range(8)]
        judged = [evaluate_on(policy, ledger, estimators=(estimator,), horizon=20).estimates[0] for ledger in ledgers]
        return float(np.mean([width(each.cash) for each in judged]))

    # Without the root it would be 1.4: 40 series are resampled in 20 groups.
    assert mean_width(10) / mean_width(40) == pytest.approx(2.0, rel=0.2)


@pytest.mark.slow
def test_the_models_interval_narrows_likewise() -> None:
    """Of the gain: what both shops have in common drops out, and so does most of the doubt about the law."""
    policy = Uniform(scenario("steady").problem)

    def mean_width(series: int) -> float:
        judged = [evaluate_on(policy, tried("steady", series, seed), estimators=("model",)) for seed in range(5)]
        return float(np.mean([width(each.by("model").gain) for each in judged]))

    assert mean_width(10) / mean_width(40) == pytest.approx(2.0, rel=0.25)


@dataclass(frozen=True)
class Never(PolicyBase):
    """Charges what the log never did."""

    problem: Problem
    observes: Literal["sales"] = "sales"

    def decide(self, view: View, rng: np.random.Generator) -> Action:  # noqa: ARG002
        """The same for all."""
        rows = len(view.stock)
        return Action(np.full(rows, 60.0), np.zeros(rows))


def test_a_policy_that_never_appears_in_the_data_is_flagged_and_not_scored() -> None:
    judged = evaluate_on(Never(scenario("steady").problem), tried("steady"))
    assert judged.best is None
    for estimator in ESTIMATORS.names:
        found = judged.by(estimator)
        assert not found.scored
        assert not found.overlap.enough
        assert found.reason
    assert "in 0 of" in str(judged.by("fqe").reason)


def test_series_of_any_length_and_with_gaps() -> None:
    log = small_log("nonlinear", 9)
    rng = np.random.default_rng(3)
    torn = without(log, (rng.random(len(log)) < 0.05) | ((log.series == 2) & (log.period > 7)))
    policy = Uniform(scenario("nonlinear").problem)
    judged = evaluate(policy, torn)
    assert judged.by("model").scored
    assert judged.by("fqe").scored
    one = evaluate_on(policy, seen_only(small_log("nonlinear", 1)), estimators=("fqe",))
    assert one.resampled == "blocks in time"
    assert len(one.units) == 5


def test_an_estimator_of_ones_own_that_cannot_work_refuses_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_task: EvaluationTask) -> Estimate:
        raise LostSalesError("not today")

    registry = Registry[Estimator]("no.such.group", "estimator")
    monkeypatch.setattr("lostsales.evaluation.evaluate.ESTIMATORS", registry)
    registry.register("broken", broken)
    registry.register("fqe", fitted_q_evaluation)
    judged = evaluate_on(Uniform(scenario("steady").problem), seen_only(small_log("steady", 6)))
    assert judged.by("broken").reason == "not today"
    assert judged.best is judged.by("fqe")


def test_results_are_plain_json_and_say_the_same_for_the_same_seed() -> None:
    log, policy = small_log("released", 5), Uniform(scenario("released").problem)
    first, again = (evaluate(policy, log, seed=4).to_json() for _ in range(2))
    assert json.dumps(first) == json.dumps(again)
    assert first["estimand"]["horizon"] == 50


def test_bad_requests_are_refused_with_a_reason() -> None:
    log, policy = small_log("steady", 6), Uniform(scenario("steady").problem)
    with pytest.raises(SettingError, match="no estimator 'guess'"):
        evaluate(policy, log, estimators=("guess",))
    with pytest.raises(SettingError, match="horizon must be at least 1"):
        evaluate(policy, log, horizon=0)
    with pytest.raises(LostSalesError, match="true demand"):
        evaluate(Uniform(policy.problem, observes="demand"), log)
    with pytest.raises(LostSalesError, match="read_log"):
        evaluate(policy, "log.parquet")  # type: ignore[arg-type]
    learned = fit(small_log("released", 6), "base-stock")
    with pytest.raises(SettingError, match="made for arrival before, but the log has after"):
        evaluate(learned, log)


def test_a_start_with_another_stock_is_judged_by_the_law() -> None:
    """Over one period the start is all there is; of a stock nobody needs each unit costs what it costs to hold."""
    world, policy = scenario("nonlinear"), Uniform(scenario("nonlinear").problem)
    known = Scenario.load("nonlinear", ("start.stock=60",))
    found = {stock: evaluate_on(policy, tried("nonlinear"), horizon=1, start_stock=stock) for stock in (60.0, 70.0)}
    some, more = (found[stock].estimates[0].profit for stock in found)
    assert some is not None
    assert more is not None
    truth = evaluate_policy(known.model_copy(update={"horizon": 1}), policy, 20_000, 3).mean_profit
    assert some.low < truth < some.high
    assert some.value - more.value == pytest.approx(10 * world.costs.holding, abs=0.3)
    assert "with 60 units in stock" in str(found[60.0].estimand)
    assert [each.scored for each in found[60.0].estimates] == [True, False, False]
    assert "model can start with another stock" in (found[60.0].estimates[1].reason or "")
    with pytest.raises(SettingError, match="the stock to start with must lie between 0"):
        evaluate(policy, small_log("nonlinear"), start_stock=-1.0)
