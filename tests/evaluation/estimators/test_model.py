"""Evaluation on the learned law: lives of a log, contributions by leaving out, overlap."""

from dataclasses import replace

import numpy as np
import pytest

from lostsales.data.splits import units_of
from lostsales.data.sublogs import without
from lostsales.demand.law.demand_law import DemandLaw, Family
from lostsales.demand.law.means import LinearMean
from lostsales.demand.law.residuals import Residuals
from lostsales.demand.law.selection import fit_demand
from lostsales.evaluation.estimators.replay import ReplayPeriods, live
from lostsales.evaluation.evaluate import evaluate, evaluate_on
from lostsales.evaluation.task import EvaluationTask
from lostsales.policy.action_grid import ActionGrid
from lostsales.policy.simple import BaseStockRule, Uniform
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import evaluate_policy, simulate
from tests.evaluation.judged import seen_only, tried
from tests.learn.small import scenario, small_log


def sure(law: DemandLaw, demand: float) -> DemandLaw:
    """A law under which demand is the same whatever happens."""
    slopes = np.zeros(4)
    return replace(
        law, mean=LinearMean(demand, slopes), residuals=Residuals.normal(1e-6), effect=np.zeros(len(law.scale))
    )


def test_days_are_those_of_the_log() -> None:
    """Where demand is always 5, a shop that keeps 12 on the shelf earns what one can add up by hand."""
    log = small_log("steady", 6)  # arrival after, costs 2 / 3 / 1
    model = fit_demand(log, families=(Family("linear", False),))
    days = ReplayPeriods.of(log, model.evidence, 50, 12, 0)
    assert days.row.shape == (50, 12)
    policy = BaseStockRule(log.problem.model_copy(update={"prices": (4.25,)}), 12, 4.25)
    lived = live(policy, days, sure(model.law, 5.0), 50, 0.9, 0)
    assert lived.profit.shape == (50, 12)
    for life, stock in enumerate(np.asarray(log.stock)[log.starts].repeat(2)):
        cash = profit = 0.0
        for _ in range(50):
            order, sold = min(max(12 - stock, 0), 15), min(stock, 5)
            cash += 4.25 * sold - 3 * order - (stock - sold)
            profit += 4.25 * sold - 3 * order - (stock - sold) - 2 * (5 - sold)
            stock = stock - sold + order
        assert lived.cash[:, life].sum() == pytest.approx(cash)
        assert lived.profit[:, life].sum() == pytest.approx(profit)


def test_shorter_horizons_and_series() -> None:
    log = without(small_log("steady", 6), (small_log("steady", 6).series == 0) & (small_log("steady", 6).period > 6))
    days = ReplayPeriods.of(log, fit_demand(log, families=(Family("linear", False),)).evidence, 10, 12, 0)
    assert days.row.shape == (10, 12)
    np.testing.assert_array_equal(days.lived.sum(axis=0), [7, 7] + [10] * 10)


@pytest.mark.parametrize("horizon", [None, 8])  # 8 days lie within one block in time
def test_one_series_is_judged_by_its_blocks_in_time(horizon: int | None) -> None:
    log, _ = simulate(Scenario.load("steady", ("horizon=200",)), episodes=1, seed=3)
    policy = BaseStockRule(scenario("steady").problem, 15, 4.5)
    judged = evaluate(policy, log, estimators=("model",), horizon=horizon)
    assert judged.resampled == "blocks in time"
    found = judged.by("model")
    for figure in (found.profit, found.cash, found.gain, found.cash_gain, found.discounted):
        assert figure is not None
        assert np.isfinite([figure.value, figure.low, figure.high]).all()
        assert figure.low < figure.value < figure.high


@pytest.mark.parametrize("name", ["steady", "released"])
def test_the_model_finds_the_true_value(name: str) -> None:
    world = scenario(name)
    policy = BaseStockRule(world.problem, 18, float(ActionGrid.of(world).prices[1]))
    truth = evaluate_policy(world, policy, 4000, 1).mean_profit
    behaviour = evaluate_policy(world, None, 4000, 1).mean_profit
    found = evaluate_on(policy, tried(name), estimators=("model",)).by("model")
    assert found.profit is not None
    assert found.gain is not None
    assert found.profit.low < truth < found.profit.high
    assert found.gain.low < truth - behaviour < found.gain.high
    assert found.gain.proven


def test_leaving_out_gives_the_contributions_of_a_mean() -> None:
    """For a plain mean of unequal units the grouped jackknife is exactly the linearised ratio."""
    log = small_log("steady", 11)
    units = units_of(log, 4)
    values = np.random.default_rng(0).normal(size=len(log))
    without = np.array([values[units.of_row != unit].mean() for unit in range(4)])
    np.testing.assert_allclose(units.left_out(float(values.mean()), without), units.mean(values))


def test_what_was_earned_counts_hidden_lost_sales() -> None:
    for name in ("released", "steady"):
        _, truth = simulate(scenario(name), None, 20, 8)
        ledger = tried(name)
        earned = ledger.earned
        assert earned.cash.value == pytest.approx(float(ledger.log.cash.mean()))
        assert earned.profit.value == pytest.approx(float(truth.profit.mean()), abs=0.8)
        assert earned.profit.low < float(truth.profit.mean()) < earned.profit.high


def test_a_log_without_a_demand_model_is_still_judged_by_others() -> None:
    judged = evaluate_on(Uniform(scenario("nonlinear").problem), seen_only(small_log("nonlinear", 6)))
    assert "not asked for" in str(judged.by("model").reason)
    assert judged.best is not None
    assert judged.best.estimator == "fqe"


def test_prices_that_were_never_charged_are_not_scored() -> None:
    problem = scenario("steady").problem.model_copy(update={"prices": (4.0, 40.0)})
    ledger = tried("steady")
    found = evaluate_on(BaseStockRule(problem, 15, 40.0), ledger).by("model")
    assert found.profit is None
    assert "never seen" in str(found.reason)
    assert EvaluationTask.of(BaseStockRule(problem, 15, 4.0), ledger, None, 0).estimand.horizon == 50
