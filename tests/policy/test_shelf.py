"""Ages of stock in a period: episodes worked out by hand, and what must hold of any of them."""

from typing import Any

import numpy as np
import pytest

from lostsales.data.economics import UnitCosts
from lostsales.data.shop import Shop
from lostsales.policy.period import transition
from lostsales.policy.shelf import Shelf
from lostsales.policy.simple import BaseStockRule
from lostsales.policy.view import Action
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import simulate
from lostsales.types import Array

COSTS = UnitCosts(lost=5.0, order=3.0, holding=1.0)


def episode(arrival: str, issuing: Any, demand: list[float], order: list[float]) -> list[tuple[Any, ...]]:
    """Sales, waste, profit and ages after each period of a product with a shelf life of 2 that opens with 4 units."""
    shop = Shop.model_validate({"arrival": arrival, "product": {"shelf_life": 2, "issuing": issuing}})
    stock, found = np.array([4.0]), []
    shelf = Shelf.of(shop, stock)
    for wanted, ordered in zip(demand, order, strict=True):
        action = Action(np.array([10.0]), np.array([ordered]))
        closed = transition(stock, np.zeros(1), action, np.array([wanted]), shop.flow, COSTS, None, shelf, 7.0)
        stock, shelf = closed.stock_tp1, closed.shelf
        assert shelf is not None
        assert closed.wasted is not None
        facts = (closed.sales, closed.wasted, closed.profit, shelf.units.T)
        found.append(tuple(each[0].tolist() for each in facts))
    return found


def test_episode_in_which_orders_arrive_after_the_sales() -> None:
    """Opening: 4 fresh units. Each profit is 10 sold - 3 ordered - 1 held - 7 wasted - 5 lost."""
    assert episode("after", "fifo", [1, 2, 3], [5, 0, 2]) == [
        (1.0, 0.0, 10 - 15 - 3, [3.0, 5.0]),
        (2.0, 1.0, 20 - 0 - 5 - 7, [5.0, 0.0]),
        (3.0, 2.0, 30 - 6 - 0 - 14, [0.0, 2.0]),
    ]
    # The freshest first: two of the five are sold, and all three old units are thrown away.
    assert episode("after", "lifo", [1, 2, 3], [5, 0, 2])[1] == (2.0, 3.0, 20 - 0 - 3 - 21, [3.0, 0.0])


def test_episode_in_which_orders_arrive_before_the_sales() -> None:
    """Opening: 4 units in the last period of their life, to which a fresh order comes."""
    assert episode("before", "fifo", [1, 2], [5, 0]) == [
        (1.0, 3.0, 10 - 15 - 5 - 21, [5.0, 0.0]),
        (2.0, 3.0, 20 - 0 - 0 - 21, [0.0, 0.0]),
    ]
    assert episode("before", "lifo", [1, 2], [5, 0])[0] == (1.0, 4.0, 10 - 15 - 4 - 28, [4.0, 0.0])


def test_a_share_of_sales_takes_the_oldest_unit() -> None:
    """Half of 2 units come from each end."""
    assert episode("before", 0.5, [2], [5])[0] == (2.0, 3.0, 20 - 15 - 4 - 21, [4.0, 0.0])


@pytest.mark.parametrize("arrival", ["after", "before"])
def test_waste_is_never_negative_and_no_more_with_the_oldest_first(arrival: str) -> None:
    rng = np.random.default_rng(0)
    demand, order = rng.poisson(4, (60, 500)).astype(float), rng.poisson(4.5, (60, 500)).astype(float)
    wasted = {}
    for issuing in ("fifo", 0.5, "lifo"):
        shop = Shop.model_validate({"arrival": arrival, "product": {"shelf_life": 3, "issuing": issuing}})
        stock, total = np.full(500, 6.0), np.zeros(500)
        shelf, draws = Shelf.of(shop, stock), np.random.default_rng(1)
        for wanted, ordered in zip(demand, order, strict=True):
            action = Action(np.ones(500), ordered)
            closed = transition(stock, np.zeros(500), action, wanted, shop.flow, COSTS, None, shelf, 0.0, draws)
            stock, shelf = closed.stock_tp1, closed.shelf
            assert shelf is not None
            assert closed.wasted is not None
            assert (closed.wasted >= 0).all()
            assert (shelf.units >= 0).all()
            assert np.array_equal(shelf.units.sum(axis=0), stock)
            total += closed.wasted
        wasted[issuing] = total
    assert (wasted["fifo"] <= wasted["lifo"]).all()
    assert wasted["fifo"].mean() < wasted[0.5].mean() < wasted["lifo"].mean()


@pytest.mark.parametrize("scenario", ["lost-sales", "released", "steady"])
def test_a_shelf_life_beyond_the_horizon_is_none(scenario: str) -> None:
    """Bit for bit, in every column of the log and of the truth."""
    without = Scenario.load(scenario, ("horizon=20",))
    policy = BaseStockRule(without.problem, 12.0, without.prices[-1])
    log, truth = simulate(without, policy, 200, seed=3)
    life = Scenario.load(scenario, ("horizon=20", "product.shelf_life=22", "product.waste_cost=9"))
    other, other_truth = simulate(life, policy, 200, seed=3)
    columns: list[tuple[Array, Array]] = [
        (getattr(log, name), getattr(other, name)) for name in ("stock", "sales", "order")
    ]
    columns += [(getattr(truth, name), getattr(other_truth, name)) for name in ("demand", "lost", "profit")]
    for left, right in columns:
        assert np.array_equal(left, right)
    assert other.wasted is not None
    assert (other.wasted == 0).all()
