"""Timing, balance and profit, worked out by hand."""

import numpy as np
import pytest

from lostsales.data.economics import Arrival, Balance, UnitCosts, next_stock, period_profit, units_available
from lostsales.data.shop import Shop

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
