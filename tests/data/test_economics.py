"""Timing, balance and profit, worked out by hand."""

from itertools import product

import numpy as np
import pytest

from lostsales._jit import compiled
from lostsales.data.economics import (
    Arrival,
    Balance,
    StockFlow,
    UnitCosts,
    advanced,
    next_depth,
    next_stock,
    order_room,
    period_profit,
    truncates,
    units_available,
    whole_delivery,
)
from lostsales.data.shop import Shop
from lostsales.types import Floats

STOCK, ORDER = np.array([4.0, 4.0, 4.0]), np.array([5.0, 5.0, 5.0])
DEMAND = np.array([3.0, 6.0, 12.0])


@pytest.mark.parametrize(
    ("arrival", "capacity", "expected"), [("after", None, 4.0), ("before", None, 9.0), ("before", 7.0, 7.0)]
)
def test_what_can_be_sold(arrival: Arrival, capacity: float | None, expected: float) -> None:
    flow = Shop(arrival=arrival, capacity=capacity).flow
    np.testing.assert_array_equal(units_available(STOCK, ORDER, flow), np.full(3, expected))


@pytest.mark.parametrize(
    ("arrival", "balance", "capacity", "expected"),
    [
        ("after", "lost-sales", None, [6, 5, 5]),  # (4 - D)^+ + 5
        ("after", "netted", None, [6, 3, 0]),  # (9 - D)^+
        ("before", "lost-sales", None, [6, 3, 0]),  # (9 - D)^+
        ("before", "netted", None, [6, 3, 0]),
        ("after", "lost-sales", 5.5, [5.5, 5, 5]),  # what does not fit is gone
        ("after", "netted", 5.5, [5.5, 3, 0]),
        ("before", "lost-sales", 7.0, [4, 1, 0]),  # (7 - D)^+
    ],
)
def test_next_stock(arrival: Arrival, balance: Balance, capacity: float | None, expected: list[float]) -> None:
    flow = Shop(arrival=arrival, balance=balance, capacity=capacity).flow
    np.testing.assert_array_equal(next_stock(STOCK, ORDER, DEMAND, flow), expected)


def test_profit_with_constant_and_row_varying_costs() -> None:
    price, order, sales = np.array([4.0, 4.0]), np.array([2.0, 0.0]), np.array([5.0, 5.0])
    lost, leftover = np.array([3.0, 0.0]), np.array([0.0, 7.0])
    # 4 * 5 - 2 * 3 - 3 * 2 and 4 * 5 - 7
    np.testing.assert_array_equal(period_profit(price, order, sales, lost, leftover, UnitCosts(2, 3, 1)), [8, 13])
    # the second row holds at 0.5 a unit
    varying = UnitCosts(np.array([2.0, 9.0]), np.array([3.0, 9.0]), np.array([1.0, 0.5]))
    np.testing.assert_array_equal(period_profit(price, order, sales, lost, leftover, varying), [8, 16.5])


def test_a_fixed_cost_is_paid_only_where_something_is_ordered() -> None:
    zero = np.zeros(2)
    profit = period_profit(zero, np.array([1.0, 0.0]), zero, zero, zero, UnitCosts(0, 3, 0, fixed_order=15))
    np.testing.assert_array_equal(profit, [-18, 0])


def test_netted_balance_leaks_the_hidden_demand_and_lost_sales_does_not() -> None:
    """Two demands above the stock: the netted balance lets anyone subtract them from the books."""
    stock, order, hidden = np.array([4.0, 4.0]), np.array([5.0, 5.0]), np.array([6.0, 7.0])
    netted = next_stock(stock, order, hidden, Shop(balance="netted").flow)
    np.testing.assert_array_equal(netted, [3, 2])
    np.testing.assert_array_equal(stock + order - netted, hidden)
    np.testing.assert_array_equal(next_stock(stock, order, hidden, Shop().flow), [5, 5])


@compiled
def closed_one_by_one(
    stock: Floats, order: Floats, demand: Floats, flow: StockFlow, costs: UnitCosts, found: Floats
) -> None:
    """Next stock, profit, room for orders and whole deliveries of every row, (rows, 4), in compiled code."""
    for i in range(len(stock)):
        available = units_available(stock[i], order[i], flow)
        sold = min(available, demand[i])
        found[i, 0] = next_stock(stock[i], order[i], demand[i], flow)
        found[i, 1] = period_profit(4.0, order[i], sold, demand[i] - sold, available - sold, costs)
        found[i, 2] = order_room(stock[i], order[i], flow)
        found[i, 3] = whole_delivery(order[i], 0.7)[0]


@pytest.mark.parametrize(
    ("arrival", "balance", "capacity"), [*product(("before", "after"), ("lost-sales", "netted"), (None, 5.5))]
)
def test_compiled_loops_follow_the_formulas_of_arrays(
    arrival: Arrival, balance: Balance, capacity: float | None
) -> None:
    stock, order, demand = np.random.default_rng(0).integers(0, 9, (3, 50)).astype(np.float64)
    flow = Shop(arrival=arrival, balance=balance, capacity=capacity, capacity_rule="forbid").flow
    costs = UnitCosts(2.0, 3.0, 1.0, fixed_order=15.0)
    available = units_available(stock, order, flow)
    sold = np.minimum(available, demand)
    profit = period_profit(np.full(50, 4.0), order, sold, demand - sold, available - sold, costs)
    columns = next_stock(stock, order, demand, flow), profit, order_room(stock, order, flow), np.floor(0.7 * order)
    found = np.empty((50, 4))
    closed_one_by_one(stock, order, demand, flow, costs, found)
    np.testing.assert_allclose(found, np.column_stack(columns), rtol=1e-12)


def test_demand_is_truncated_from_the_longest_run_on() -> None:
    depth = np.array([0, 1, 2, 3])
    np.testing.assert_array_equal(truncates(depth, Shop(longest_run=2).flow), [False, False, True, True])
    assert not truncates(depth, Shop().flow).any()
    np.testing.assert_array_equal(next_depth(depth, np.array([True, False, True, False])), [1, 0, 3, 0])


def test_room_for_orders_and_deliveries() -> None:
    shop = Shop(capacity=20, capacity_rule="forbid", supply={"lead_time": 2, "capacity": 9})
    np.testing.assert_array_equal(order_room(np.array([4.0, 15.0]), np.array([3.0, 3.0]), shop.flow), [6, 2])
    arrived, later = advanced(np.array([[4.0, 5.0, 6.0]]), np.array([[False, True, False]]))
    assert (arrived.tolist(), later.tolist()) == ([5.0], [[0.0, 6.0]])
    whole, more = whole_delivery(np.array([6.0, 5.0]), 0.5)
    assert (whole.tolist(), more.tolist()) == ([3.0, 2.0], [0.0, 0.5])
