"""The policies that make histories."""

import numpy as np
import pytest

from lostsales.data.problem import Problem
from lostsales.data.shop import Shop
from lostsales.errors import SettingError
from lostsales.policy.action_grid import ActionGrid
from lostsales.policy.policy import Policy
from lostsales.policy.simple import BaseStockRule, EpsilonGreedy, Uniform
from lostsales.policy.view import Action, View
from lostsales.types import Array, Floats

SERIES = 60_000
FREE = Problem(prices=(2, 4, 6), orders=(0, 5, 10, 15))
TIGHT = Problem(prices=(2, 4, 6), orders=(0, 5, 10, 15), capacity=12, capacity_rule="forbid")
FREE_GRID, TIGHT_GRID = ActionGrid.of(FREE), ActionGrid.of(TIGHT)


def view(stock: Floats) -> View:
    series = len(stock)
    return View(0, (), stock, np.zeros(series), np.zeros(series, dtype=bool), np.zeros(series, dtype=np.int16), None)


def decide(policy: Policy, stock: float | Floats, seed: int = 0) -> Action:
    stocks = np.full(SERIES, stock) if isinstance(stock, float) else stock
    return policy.decide(view(stocks), np.random.default_rng(seed))


def chi_square(observed: Array, expected: float) -> float:
    return float(((observed - expected) ** 2 / expected).sum())


def test_uniform_takes_every_pair_as_often() -> None:
    action = decide(Uniform(FREE), 0.0)
    pairs, counts = np.unique(np.column_stack(action), axis=0, return_counts=True)
    assert len(pairs) == len(FREE_GRID) == 12
    assert chi_square(counts, SERIES / 12) < 31.3  # 99.9 % of chi-square with 11 degrees of freedom


@pytest.mark.parametrize(("stock", "fitting"), [(0.0, 3), (2.0, 3), (5.0, 2), (12.0, 1)])
def test_uniform_takes_every_order_that_fits_as_often(stock: float, fitting: int) -> None:
    action = decide(Uniform(TIGHT), stock)
    orders, counts = np.unique(action.order, return_counts=True)
    assert orders.tolist() == TIGHT_GRID.orders[:fitting].tolist()
    assert chi_square(counts, SERIES / fitting) < 13.8  # 99.9 % with 2 degrees of freedom, more for fewer
    _, of_price = np.unique(action.price, return_counts=True)
    assert chi_square(of_price, SERIES / 3) < 13.8


def test_feasible_orders_fit_and_a_store_too_full_may_order_the_smallest() -> None:
    assert TIGHT_GRID.feasible_orders(np.array([0.0, 2.0, 2.5, 7.0, 12.0, 13.0])).tolist() == [3, 3, 2, 2, 1, 1]
    assert FREE_GRID.feasible_orders(np.array([1e6])).tolist() == [4]


def test_base_stock_fills_up_to_its_level_as_far_as_the_grid_goes() -> None:
    stocks = np.array([0.0, 1.0, 3.0, 8.0, 12.9, 13.0, 20.0])
    action = decide(BaseStockRule(FREE, level=13, price=4), stocks)
    assert action.order.tolist() == [10, 10, 10, 5, 0, 0, 0]
    assert set(action.price) == {4}


def test_base_stock_keeps_to_the_capacity() -> None:
    assert decide(BaseStockRule(TIGHT, level=30, price=4), np.array([0.0, 3.0, 12.0, 13.0])).order.tolist() == [
        10,
        5,
        0,
        0,
    ]


def test_base_stock_orders_the_least_where_the_grid_has_no_zero() -> None:
    problem = Problem(prices=(1.0,), orders=(2.0, 4.0))
    assert decide(BaseStockRule(problem, level=5, price=1), np.array([0.0, 3.0, 9.0])).order.tolist() == [4, 2, 2]


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
def test_epsilon_is_the_share_that_is_drawn(epsilon: float) -> None:
    greedy = BaseStockRule(FREE, level=10, price=4)
    action = decide(EpsilonGreedy(greedy, epsilon), 0.0)
    followed = np.mean((action.price == 4) & (action.order == 10))
    expected = 1 - epsilon * 11 / 12  # one draw in twelve is the greedy action itself
    assert followed == pytest.approx(expected, abs=4 * np.sqrt(0.25 / SERIES))


def test_epsilon_greedy_observes_what_its_policy_observes() -> None:
    assert EpsilonGreedy(BaseStockRule(FREE, 1, 2, observes="demand"), 0.5).observes == "demand"


def test_a_grid_must_be_declared() -> None:
    with pytest.raises(SettingError, match="prices and orders must be declared"):
        ActionGrid.of(Shop(prices=(1, 2)))
