"""Model-based evaluation: replayed episodes, jackknife contributions, overlap."""

from dataclasses import replace

import numpy as np
import pytest

from lostsales.data.splits import units_of
from lostsales.data.sublogs import without
from lostsales.demand.law.demand_law import DemandLaw, Family
from lostsales.demand.law.means import LinearMean
from lostsales.demand.law.residuals import Residuals
from lostsales.demand.law.selection import fit_law
from lostsales.evaluation.estimators.replay import ReplayPeriods, replay, replay_under
from lostsales.evaluation.evaluate import evaluate, evaluate_on
from lostsales.evaluation.task import EvaluationTask
from lostsales.policy.action_grid import ActionGrid
from lostsales.policy.simple import BaseStockRule, Uniform
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import evaluate_policy, simulate
from tests.evaluation.prepared_logs import uniform_log, without_model
from tests.learn.small import scenario, small_log


def constant(law: DemandLaw, demand: float) -> DemandLaw:
    """A law of constant demand."""
    slopes = np.zeros(4)
    return replace(law, mean=LinearMean(demand, slopes), residuals=Residuals.normal(1e-6), level=0 * law.level)


def test_the_profit_of_replayed_episodes_by_hand() -> None:
    """Base-stock with level 12 under a constant demand of 5."""
    log = small_log("steady", 6)  # arrival after, costs 2 / 3 / 1
    model = fit_law(log, families=(Family("linear", False),))
    periods = ReplayPeriods.of(log, model.evidence, 50, 12, 0)
    assert periods.row.shape == (50, 12)
    policy = BaseStockRule(log.problem.model_copy(update={"prices": (4.25,)}), 12, 4.25)
    episodes = replay(policy, periods, constant(model.law, 5.0), 50, 0.9, 0)
    assert episodes.profit.shape == (50, 12)
    for episode, stock in enumerate(log.stock[log.starts].repeat(2)):
        cash = profit = 0.0
        for _ in range(50):
            order, sold = min(max(12 - stock, 0), 15), min(stock, 5)
            cash += 4.25 * sold - 3 * order - (stock - sold)
            profit += 4.25 * sold - 3 * order - (stock - sold) - 2 * (5 - sold)
            stock = stock - sold + order
        assert episodes.cash[:, episode].sum() == pytest.approx(cash)
        assert episodes.profit[:, episode].sum() == pytest.approx(profit)


def test_replays_under_several_laws_in_one_go_are_those_one_by_one() -> None:
    log = small_log("steady", 6)
    model = fit_law(log, families=(Family("linear", False),))
    periods = ReplayPeriods.of(log, model.evidence, 20, 12, 0)
    policy = BaseStockRule(log.problem.model_copy(update={"prices": (4.25,)}), 12, 4.25)
    laws = (constant(model.law, 5.0), model.law, constant(model.law, 9.0))
    together = replay_under(policy, periods, laws, 20, 0.9, 0)
    for law, found in zip(laws, together, strict=True):
        alone = replay(policy, periods, law, 20, 0.9, 0)
        for name in ("profit", "cash", "discounted", "visited", "position"):
            np.testing.assert_array_equal(getattr(found, name), getattr(alone, name))
        assert not found.is_random
    assert replay(Uniform(log.problem), periods, model.law, 20, 0.9, 0).is_random


def test_stock_at_the_end_is_worth_its_order_cost_beyond_that_of_the_log() -> None:
    log = small_log("steady", 6)
    model = fit_law(log, families=(Family("linear", False),))
    periods = ReplayPeriods.of(log, model.evidence, 20, 6, 0)
    logged = log.stock[periods.last_row]
    assert periods.worth_of_stock(logged) == 0.0
    assert periods.worth_of_stock(logged + 4) == pytest.approx(4 * 3 / 20)  # at an order cost of 3


def test_replayed_periods_end_with_the_horizon_or_the_series() -> None:
    log = without(small_log("steady", 6), (small_log("steady", 6).series == 0) & (small_log("steady", 6).period > 6))
    periods = ReplayPeriods.of(log, fit_law(log, families=(Family("linear", False),)).evidence, 10, 12, 0)
    assert periods.row.shape == (10, 12)
    np.testing.assert_array_equal(periods.is_replayed.sum(axis=0), [7, 7] + [10] * 10)


@pytest.mark.parametrize(
    "horizon", [pytest.param(None, marks=pytest.mark.slow), 8]
)  # 8 periods lie within one block in time
def test_one_series_is_resampled_by_blocks_in_time(horizon: int | None) -> None:
    log, _ = simulate(Scenario.load("steady", ("horizon=200",)), episodes=1, seed=3)
    policy = BaseStockRule(scenario("steady").problem, 15, 4.5)
    evaluation = evaluate(policy, log, estimators=("model",), horizon=horizon)
    assert evaluation.resampled == "blocks in time"
    found = evaluation.by("model")
    for figure in (found.profit, found.cash, found.gain, found.cash_gain, found.discounted):
        assert figure is not None
        assert np.isfinite([figure.value, figure.low, figure.high]).all()
        assert figure.low < figure.value < figure.high


@pytest.mark.parametrize("name", ["steady", pytest.param("released", marks=pytest.mark.slow)])
def test_the_intervals_of_the_model_cover_the_true_value_and_gain(name: str) -> None:
    world = scenario(name)
    policy = BaseStockRule(world.problem, 18, float(ActionGrid.of(world).prices[1]))
    truth = evaluate_policy(world, policy, 4000, 1).mean_profit
    behaviour = evaluate_policy(world, None, 4000, 1).mean_profit
    found = evaluate_on(policy, uniform_log(name), estimators=("model",)).by("model")
    assert found.profit is not None
    assert found.gain is not None
    assert found.profit.low < truth < found.profit.high
    assert found.gain.low < truth - behaviour < found.gain.high
    assert found.gain.proven


def test_jackknife_contributions_of_a_mean_are_the_linearised_ratio() -> None:
    """For a mean over units of unequal size the grouped jackknife is exactly the linearised ratio."""
    log = small_log("steady", 11)
    units = units_of(log, 4)
    values = np.random.default_rng(0).normal(size=len(log))
    without = np.array([values[units.of_row != unit].mean() for unit in range(4)])
    np.testing.assert_allclose(units.left_out(float(values.mean()), without), units.mean(values))


def test_the_logged_profit_includes_censored_lost_sales() -> None:
    for name in ("released", "steady"):
        _, truth = simulate(scenario(name), None, 20, 8)
        prepared = uniform_log(name)
        earned = prepared.earned
        assert earned.cash.value == pytest.approx(float(prepared.log.cash.mean()))
        assert earned.profit.value == pytest.approx(float(truth.profit.mean()), abs=0.8)
        assert earned.profit.low < float(truth.profit.mean()) < earned.profit.high


def test_without_a_demand_model_the_other_estimators_answer() -> None:
    found = evaluate_on(Uniform(scenario("nonlinear").problem), without_model(small_log("nonlinear", 6)))
    assert "not asked for" in str(found.by("model").reason)
    assert found.best is not None
    assert found.best.estimator == "fqe"


def test_prices_outside_the_log_are_refused() -> None:
    problem = scenario("steady").problem.model_copy(update={"prices": (4.0, 40.0)})
    prepared = uniform_log("steady")
    found = evaluate_on(BaseStockRule(problem, 15, 40.0), prepared).by("model")
    assert found.profit is None
    assert "never observed" in str(found.reason)
    assert EvaluationTask.of(BaseStockRule(problem, 15, 4.0), prepared, None, 0).estimand.horizon == 50
