"""Seen range of prices and orders of a product, and how far beyond it a recommendation may go."""

import numpy as np

from lostsales.data.business_rules import BusinessRules
from lostsales.data.log import SalesLog
from lostsales.data.problem import Problem
from lostsales.data.seen_range import SeenRange, one_price_warning
from lostsales.policy.action_grid import ActionGrid
from tests.demand.logs import COSTS, log_of_draws


def two_series(problem: Problem | None = None) -> SalesLog:
    """One sells 2 a period at 4 to 5 and orders 0 or 3; the other sells 1 at 10 to 12 and orders 30, once 40."""
    demand, available = np.array([[2.0] * 4, [1.0] * 4]), np.full((2, 4), 9.0)
    price = np.array([[4.0, 5.0, 4.0, 5.0], [10.0, 12.0, 10.0, 10.0]])
    order = np.array([[0.0, 3.0, 0.0, 3.0], [30.0, 0.0, 30.0, 40.0]])
    return log_of_draws(demand, available, problem or Problem(costs=COSTS), price=price, order=order)


def test_prices_stay_within_those_seen_and_orders_within_twice_the_largest_and_ten_periods_of_sales() -> None:
    found = SeenRange.of(two_series())
    np.testing.assert_array_equal(found.lowest_price, [4, 10])
    np.testing.assert_array_equal(found.highest_price, [5, 12])
    np.testing.assert_array_equal(found.largest_order, [3, 40])
    np.testing.assert_array_equal(found.price_floor, [4, 10])
    np.testing.assert_array_equal(found.price_ceiling, [5, 12])
    np.testing.assert_array_equal(found.order_ceiling, [6, 60])  # twice 3 is below ten times 2; the median order is 30


def test_a_stray_order_of_a_slow_series_does_not_count() -> None:
    demand, available = np.array([[1.0, 0.0] * 10]), np.full((1, 20), 9.0)
    order = np.zeros((1, 20))
    order[0, :5], order[0, 7] = 1.0, 100.0
    assert SeenRange.of(log_of_draws(demand, available, order=order)).order_ceiling.tolist() == [5.0]


def test_prices_and_orders_that_the_problem_lists_are_asked_for() -> None:
    asked = Problem(costs=COSTS, prices=(4.0, 5.0, 10.0, 99.0), orders=(0.0, 3.0, 30.0, 40.0, 500.0))
    found = SeenRange.of(two_series(asked))
    assert np.isinf(found.price_ceiling).all()
    assert np.isinf(found.order_ceiling).all()
    assert not found.price_floor.any()
    np.testing.assert_array_equal(found.unseen(np.array([99.0, 10.0]), np.array([0.0, 30.0])), [True, False])


def test_actions_beyond_the_limits_are_not_allowed_unless_nothing_else_is() -> None:
    found = SeenRange.of(two_series())
    grid = ActionGrid(np.array([5.0, 11.0, 25.0]), np.array([0.0, 7.0]), np.inf)
    feasible = np.ones((2, 6), dtype=bool)
    np.testing.assert_array_equal(
        found.allowed(grid.price, grid.order, feasible), [[1, 0, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0]]
    )
    # Where the rules leave no price of the range, the nearest to it is allowed, and no order beyond the limit.
    only_dear = np.tile([False, False, True, True, True, True], (2, 1))
    np.testing.assert_array_equal(
        found.allowed(grid.price, grid.order, only_dear), [[0, 0, 1, 0, 0, 0], [0, 0, 1, 1, 0, 0]]
    )


def test_an_unknown_series_has_nothing_to_leave_and_a_given_limit() -> None:
    found = SeenRange.of(two_series()).take(np.array([0, -1]), np.array([False, True]), np.full(2, 70.0))
    np.testing.assert_array_equal(found.order_ceiling, [6, 70])
    np.testing.assert_array_equal(found.unseen(np.array([9.0, 9.0]), np.zeros(2)), [True, False])


def test_the_rules_allow_prices_beyond_those_seen() -> None:
    found = SeenRange.of(two_series(), BusinessRules(price_beyond=0.1))
    np.testing.assert_allclose(found.price_floor, [3.6, 9.0])
    np.testing.assert_allclose(found.price_ceiling, [5.5, 13.2])
    listed = SeenRange.of(two_series(), BusinessRules(price_ladder=(99.0,)))
    assert np.isinf(listed.price_ceiling).all()


def test_prices_that_rounding_puts_outside_are_moved_to_the_range_and_the_nearest_one_where_none_is_within() -> None:
    found = SeenRange.of(two_series())
    prices = np.array([[3.97, 4.5, 5.04, 6.0], [3.0, 7.0, 20.0, 30.0]])
    moved = found.prices_within(prices, BusinessRules())
    np.testing.assert_allclose(moved, [[4.0, 4.5, 5.0, 6.0], [3.0, 10.0, 20.0, 30.0]])
    # A price that the rules spell out stays as it is spelled.
    np.testing.assert_array_equal(found.prices_within(prices, BusinessRules(price_endings=(0.97,))), prices)


def test_a_product_of_one_price_keeps_it_with_a_warning() -> None:
    demand, available = np.array([[2.0] * 4, [10.0] * 4]), np.full((2, 4), 99.0)
    price = np.array([[4.0, 5.0, 4.0, 5.0], [10.0] * 4])
    log = log_of_draws(demand, available, Problem(costs=COSTS), price=price, order=demand)
    assert one_price_warning(log, BusinessRules()).startswith("1 of 2 products were sold at one price only")
    assert one_price_warning(log, BusinessRules(price_beyond=0.1)) == ""
    found = SeenRange.of(log)
    np.testing.assert_array_equal(found.prices_within(np.array([9.0, 11.0]), BusinessRules())[1], [10.0, 10.0])


def test_a_product_that_sold_and_never_ordered_may_order_what_an_order_of_its_sales_covers() -> None:
    demand, available = np.array([[12.0] * 6, [3.0] * 6]), np.full((2, 6), 99.0)
    order = np.array([[0.0] * 6, [3.0] * 6])
    found = SeenRange.of(log_of_draws(demand, available, Problem(costs=COSTS), order=order))
    assert found.never_ordered.tolist() == [True, False]
    assert found.order_ceiling.tolist() == [120.0, 6.0]
    assert not found.unseen(np.array([1.0, 1.0]) * found.lowest_price, np.array([24.0, 3.0])).any()
