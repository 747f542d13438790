"""Plans where orders take time: exact small cases, and the two ways of the planner against each other."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import poisson

import lostsales
from lostsales.data.log import SalesLog
from lostsales.demand.law.demand_model import DemandModel
from lostsales.demand.law.means import LinearMean
from lostsales.demand.law.residuals import Residuals
from lostsales.demand.law.selection import fit_law
from lostsales.learn.planner.following import ByPaths, ByPipeline
from lostsales.learn.planner.planner import Planner, TooManyStatesError
from lostsales.learn.planner.policy import PlanPolicy
from lostsales.policy.simple import BaseStockRule
from lostsales.policy.view import View
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import evaluate_policy, simulate
from lostsales.types import Floats
from tests.learn.planner.true_law import LINEAR

MEAN = 5.0


def textbook(lead_time: int, lost: float, *more: str) -> Scenario:
    changes = f"supply.lead_time={lead_time}", f"costs.lost={lost}", "orders={multiple = 1, most = 10}"
    return Scenario.load("lost-sales", (*changes, *more))


def poisson_model(log: SalesLog) -> DemandModel:
    """A fitted model whose law is the Poisson law of the preset."""
    model = fit_law(log, LINEAR)
    chances = poisson.pmf(np.arange(25), MEAN)
    residuals = Residuals(np.arange(26.0) - 0.5 - MEAN, np.asarray(np.r_[0, np.cumsum(chances / chances.sum())]))
    law = replace(model.law, residuals=residuals, mean=LinearMean(MEAN, np.zeros_like(model.law.mean.slopes)))  # type: ignore[attr-defined]
    return replace(model, law=replace(law, demand_max=25.0))


def orders_of(policy: PlanPolicy, stock: Floats, pipeline: Floats | None) -> Floats:
    rows, no = len(stock), np.zeros(len(stock), dtype=bool)
    names = np.full(rows, policy.attributes.names[0], dtype=object)
    view = View(0, (), stock, np.full(rows, MEAN), no, no.astype(np.int16), None, (), names, None, pipeline)
    return policy.decide(view, np.random.default_rng(0)).order


def cost_of(order: Floats, lost: float, stocks: int = 36) -> float:
    """Average cost of a policy with lead time 2, order[stock, on the way], by relative value iteration."""
    demand = np.arange(25)
    chance = poisson.pmf(demand, MEAN) / poisson.pmf(demand, MEAN).sum()
    stock, waiting = np.meshgrid(np.arange(stocks), np.arange(order.shape[1]), indexing="ij")
    left = np.maximum(stock[..., None] - demand, 0)
    period = (left + lost * np.maximum(demand - stock[..., None], 0)) @ chance
    following = np.minimum(left + waiting[..., None], stocks - 1)
    value, change = np.zeros(order.shape), np.array([np.inf, 0.0])
    while np.ptp(change) > 1e-5:
        new = period + value[following, order[..., None].astype(int)] @ chance
        change = new - value
        value = new - new[0, 0]
    return float(change.mean())


@pytest.mark.slow
def test_with_the_true_law_and_lead_time_2_it_costs_what_is_known_to_be_optimal() -> None:
    """6.09 (Zipkin, 2008) for a lost-sale cost of 9, mean demand 5; here by all states, without simulation."""
    log, _ = simulate(textbook(2, 9), episodes=5, seed=1)
    policy = Planner(draws=1).plan(log, model=poisson_model(log))
    assert isinstance(policy.following, ByPipeline)
    stock, waiting = np.meshgrid(np.arange(36.0), np.arange(11.0), indexing="ij")
    order = orders_of(policy, stock.reshape(-1), waiting.reshape(-1, 1)).reshape(stock.shape)
    assert cost_of(order, 9) == pytest.approx(6.0936, rel=2e-4)


@pytest.mark.parametrize("scenario", [Scenario.load("newsvendor"), textbook(2, 9)], ids=["newsvendor", "lead time 2"])
def test_both_ways_of_deciding_earn_the_same_where_both_can(scenario: Scenario) -> None:
    """Prices and orders of independent demand, and orders that take two periods; common random numbers."""
    log, _ = simulate(scenario, episodes=10, seed=3)
    states, paths = (lostsales.fit(log, "planner", decides_by=way, draws=1) for way in ("states", "paths"))
    first, second = (evaluate_policy(scenario, each, episodes=60, seed=2) for each in (states, paths))
    assert abs(first.mean_profit - second.mean_profit) < 2 * max(first.std_error, second.std_error)


def test_what_has_too_many_states_is_decided_on_paths() -> None:
    weekly = textbook(2, 9, "supply.order_days=5", "orders={multiple = 1, most = 40}")
    log, _ = simulate(weekly, episodes=5, seed=1)
    with pytest.raises(TooManyStatesError, match="sampled"):
        Planner(draws=1, families=LINEAR, decides_by="states").fit(log)
    policy = Planner(draws=1, families=LINEAR).fit(log)
    assert isinstance(policy, PlanPolicy)
    assert isinstance(policy.following, ByPaths)
    played, _ = simulate(weekly, policy, episodes=20, seed=3)
    is_day = played.period % 5 == 0
    assert not played.order[~is_day].any()
    assert played.order[is_day & (played.period > 5)].mean() == pytest.approx(5 * MEAN, rel=0.2)
    earned = evaluate_policy(weekly, policy, episodes=100, seed=2).mean_profit
    rule = max(
        evaluate_policy(weekly, _up_to(weekly, level), episodes=100, seed=2).mean_profit for level in range(20, 60, 4)
    )
    assert earned > rule - 0.5


def _up_to(scenario: Scenario, level: float) -> BaseStockRule:
    return BaseStockRule(scenario.problem, float(level), 0.0)


def test_a_saved_plan_decides_the_same_and_counts_what_is_on_the_way(tmp_path: Path) -> None:
    log, _ = simulate(textbook(3, 9), episodes=4, seed=1)
    policy = Planner(draws=2, families=LINEAR).plan(log)
    policy.save(tmp_path / "plan.policy")
    again = lostsales.load(tmp_path / "plan.policy")
    stock = np.arange(8.0)
    pipeline = np.column_stack([stock[::-1], stock])
    view = View(0, (), stock, stock, stock < 0, np.zeros(8, dtype=np.int16), None, (), np.full(8, "0"), None, pipeline)
    ours, theirs = policy.explain(view), again.explain(view)
    assert type(policy.following) is type(again.following)  # type: ignore[attr-defined]
    assert (ours.order == theirs.order).all()
    assert ours.value == pytest.approx(theirs.value, rel=1e-5)
    assert ours.more["periods_of_cover"] == pytest.approx((8 + stock + ours.order - 1) / ours.more["expected_demand"])
