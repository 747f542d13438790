"""Goods that perish on sampled futures: roll-outs against the period of the simulator, and what plans earn."""

from typing import Any

import numpy as np
import pytest

import lostsales
from lostsales.data.economics import UnitCosts
from lostsales.data.shop import Shop
from lostsales.demand.model.moving_levels import MovingLevels
from lostsales.errors import LostSalesError
from lostsales.lab.exact.solve import solve_reference
from lostsales.lab.exact.value_iteration import Criterion
from lostsales.learn.planner.following import ByPaths
from lostsales.learn.planner.paths.policy import PathPolicy
from lostsales.learn.planner.paths.roll_out_loops import (
    Futures,
    Shelves,
    Unit,
    UnitShelf,
    expected_waste,
    rolled_out,
    work_of,
)
from lostsales.learn.planner.paths.search import Search, find_actions, terms_of
from lostsales.learn.planner.planner import Planner
from lostsales.learn.planner.policy import PlanPolicy
from lostsales.policy.period import transition
from lostsales.policy.shelf import Shelf, believed_ages
from lostsales.policy.simple import BaseStockRule
from lostsales.policy.view import Action
from lostsales.simulation.named_policies import named_policy
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import evaluate_policy, simulate
from tests.learn.planner.paths.test_orders import situation

COSTS = UnitCosts(lost=5.0, order=3.0, holding=1.0)


@pytest.mark.parametrize("issuing", ["fifo", "lifo", 0.5])
@pytest.mark.parametrize("arrival", ["after", "before"])
def test_a_roll_out_earns_what_the_periods_of_the_simulator_earn(arrival: str, issuing: Any) -> None:
    """One order today and none later; two units are left in the end, of which none will be sold."""
    shop = Shop.model_validate(
        {"arrival": arrival, "discount": 0.9, "product": {"shelf_life": 3, "issuing": issuing, "waste_cost": 7}}
    )
    paths, periods, longest = 50, 6, shop.lead_times.longest
    demand = np.random.default_rng(0).poisson(3.0, (periods, paths)).astype(float)
    demand[-2:] = 9.0  # nothing is left
    ages, order = np.array([2.0, 1.0, 0.0 if arrival == "before" else 4.0]), 5.0
    stock = ages.sum()
    arrivals, lead = np.zeros((periods + longest + 1, paths)), np.full((periods, paths), longest)
    futures = Futures(
        demand,
        np.full(periods, 10.0),
        arrivals,
        np.zeros(paths),
        lead,
        lead[:, 0],
        np.ones((periods, 1)),
        lead[:, 0] > -1,
    )
    unit = Unit(stock, COSTS, 1.0, 0.0, 1.0, COSTS.order, periods, UnitShelf(3, 7.0, float(shop.product.oldest_first)))
    value = np.empty(1)
    terms = terms_of(shop)
    work = work_of(demand, arrivals, 3)
    work.ages[-2] = ages
    rolled_out(np.array([order]), np.zeros(1), 1, futures, unit, terms, work, value)

    shelf = Shelf(np.repeat(ages[:, None], paths, axis=1), np.full(paths, 3), np.full(paths, shop.product.oldest_first))
    held, earned = np.full(paths, stock), np.zeros(paths)
    for t in range(periods):
        action = Action(np.full(paths, 10.0), np.full(paths, order if t == 0 else 0.0))
        closed = transition(held, np.zeros(paths), action, demand[t], shop.flow, COSTS, None, shelf, 7.0)
        assert closed.shelf is not None
        held, shelf = closed.stock_tp1, closed.shelf
        earned += 0.9**t * closed.profit
    assert value[0] == pytest.approx(earned.mean(), abs=1e-9)


def test_expected_waste_by_hand() -> None:
    """Of 5 old and 4 fresh units at a demand of 2: three are thrown away today, and none tomorrow."""
    work, arrivals = work_of(np.zeros((2, 1)), np.zeros((3, 1)), 2), np.zeros((3, 1))

    def wasted(periods: int, from_oldest: float) -> float:
        work.ages[-2] = [5.0, 4.0]
        return float(expected_waste(-2, arrivals, 0, 0, 2.0, periods, UnitShelf(2, 0.0, from_oldest), work))

    assert [wasted(0, 1.0), wasted(1, 1.0), wasted(2, 1.0)] == [0.0, 3.0, 5.0]
    assert [wasted(1, 0.0), wasted(2, 0.0), wasted(9, 0.0)] == [5.0, 5.0, 5.0]


def test_a_shelf_life_beyond_the_horizon_is_none() -> None:
    """Bit for bit."""
    levels = MovingLevels.start(1).after(np.random.default_rng(2).poisson(3.0, (1, 30)).astype(np.float64))
    search = Search(64)
    shop = Shop.model_validate({"supply": {"lead_time": 2}, "product": {"shelf_life": 100, "waste_cost": 9}})
    at = situation(shop, np.array([3.0]), np.array([[4.0]]), search.periods(2))
    ages = np.zeros((1, 100))
    ages[0, 98] = 3.0
    shelves = Shelves(ages, np.array([100]), np.array([9.0]), np.ones(1))
    for without, found in zip(
        find_actions(levels, at, terms_of(shop), search),
        find_actions(levels, at._replace(shelves=shelves), terms_of(shop), search),
        strict=True,
    ):
        np.testing.assert_array_equal(without, found)


@pytest.mark.parametrize("issuing", ["fifo", "lifo"])
@pytest.mark.parametrize("lead_time", [0, 1, 3])
def test_ages_follow_from_receipts_sales_and_waste(issuing: str, lead_time: int) -> None:
    scenario = Scenario.load(
        "perishable", (f"product.issuing={issuing}", f"supply.lead_time={lead_time}", "product.shelf_life=3")
    )
    log, truth = simulate(scenario, episodes=5, seed=1)
    rows = np.flatnonzero(np.arange(len(log)) - log.starts[log.series] > 3)
    assert log.stock is not None
    found = believed_ages(log, log.series[rows], rows, log.stock[rows])
    assert truth.ages is not None
    assert found is not None
    np.testing.assert_allclose(found, truth.ages[rows], atol=1e-9)


def test_ages_where_customers_differ_are_close() -> None:
    scenario = Scenario.load("perishable", ("product.issuing=0.5", "product.shelf_life=3"))
    log, truth = simulate(scenario, "base-stock:12@0", episodes=50, seed=1)
    rows = np.flatnonzero(np.arange(len(log)) - log.starts[log.series] > 3)
    assert log.stock is not None
    assert truth.ages is not None
    found = believed_ages(log, log.series[rows], rows, log.stock[rows])
    assert found is not None
    np.testing.assert_allclose(found.sum(axis=1), log.stock[rows])
    assert (found >= 0).all()
    assert np.abs(found - truth.ages[rows]).mean() < 0.3
    np.testing.assert_allclose(found.mean(axis=0), truth.ages[rows].mean(axis=0), atol=0.1)


def test_planner_from_500_rows_beats_the_best_base_stock_rule_and_is_near_the_optimum() -> None:
    scenario = Scenario.load("perishable", ("product.issuing=lifo",))
    log, _ = simulate(scenario, episodes=10, seed=4)
    policy = lostsales.fit(log)
    exact = solve_reference(scenario, "oracle", Criterion(1.0)).policy
    rules: list[Any] = [BaseStockRule(scenario.problem, float(level), 0.0) for level in range(7, 15)]
    planned, best, *others = (
        evaluate_policy(scenario, each, 30, seed=5).mean_profit for each in (policy, exact, *rules)
    )
    assert planned > 1.01 * best  # both are negative; measured 0.1 %
    assert planned > max(others)


def test_both_ways_of_deciding(tmp_path: Any) -> None:
    log, _ = simulate("perishable", episodes=6, seed=1)
    assert isinstance(Planner().fit(log), PlanPolicy)
    with pytest.raises(LostSalesError, match="stock by age"):
        Planner(decides_by="states").fit(log)
    plan = Planner().plan(log)
    assert isinstance(plan.following, ByPaths)
    paths = Planner()._on_paths(log)
    assert isinstance(paths, PathPolicy)
    assert paths.goods is not None
    paths.save(tmp_path / "policy")
    scenario, loaded = Scenario.load("perishable"), named_policy(str(tmp_path / "policy"), Scenario.load("perishable"))
    assert evaluate_policy(scenario, loaded, 2) == evaluate_policy(scenario, paths, 2)
