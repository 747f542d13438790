"""CandidateGrid of prices and orders: declared, derived, relative to each series."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from lostsales import Problem, SalesLog, read_log
from lostsales.data.business_rules import BusinessRules
from lostsales.data.candidate_grid import (
    MOST_ORDERS,
    MOST_PRICES,
    ORDER_CANDIDATES,
    PRICE_CANDIDATES,
    CandidateGrid,
    price_spelling,
    snapped,
)
from lostsales.data.product_table import ProductTable
from lostsales.data.units import common_step, order_multiple
from lostsales.errors import SettingError
from lostsales.types import Floats
from tests.demand.logs import log_of_draws


def shop(price: Floats, order: Floats | None = None, demand: Floats | None = None, **keys: Any) -> SalesLog:
    """One series in which all demand is met."""
    rows = len(price)
    rng = np.random.default_rng(0)
    demand = rng.poisson(20, rows).astype(float) if demand is None else demand
    order = demand if order is None else order
    frame = pd.DataFrame({"series": "a", "period": np.arange(rows), "price": price, "order": order, "sales": demand})
    return read_log(frame.assign(stock=demand + 1), Problem(**keys))


def assortment(usual: tuple[float, ...], sizes: tuple[float, ...], rows: int = 200, **keys: Any) -> SalesLog:
    """Products with promotions at -20 %, and orders in sixes."""
    rng = np.random.default_rng(1)
    frames = []
    for name, (price, size) in enumerate(zip(usual, sizes, strict=True)):
        sales = rng.poisson(size, rows)
        frames.append(
            pd.DataFrame(
                {
                    "series": name,
                    "period": np.arange(rows),
                    "price": np.round(price * rng.choice([1.0, 0.8], rows), 2),
                    "order": 6 * np.rint(sales / 6),
                    "sales": sales,
                    "stock": sales + 1,
                }
            )
        )
    return read_log(pd.concat(frames), Problem(**keys))


def test_one_price_is_a_grid_of_one() -> None:
    assert CandidateGrid.of(shop(np.full(300, 4.5))).prices.tolist() == [4.5]


def test_ten_prices_are_the_grid() -> None:
    prices = np.linspace(2, 6.5, 10)
    found = CandidateGrid.of(shop(np.tile(prices, 30)))
    np.testing.assert_array_equal(found.prices, prices)


def test_of_ten_thousand_prices_few_are_chosen_which_the_log_has() -> None:
    price = np.round(np.random.default_rng(3).lognormal(1, 0.5, 30_000), 4)
    assert len(np.unique(price)) > 10_000
    found = CandidateGrid.of(shop(price)).prices
    assert len(found) == PRICE_CANDIDATES <= MOST_PRICES
    assert np.isin(found, price).all()
    between = np.searchsorted(np.sort(price), found) / len(price)
    np.testing.assert_allclose(between, np.linspace(0.01, 0.99, PRICE_CANDIDATES), atol=1e-3)


def test_derived_orders_are_multiples_up_to_what_demand_can_need() -> None:
    rng = np.random.default_rng(5)
    order, demand = 12 * rng.integers(0, 100, 2_000).astype(np.float64), rng.poisson(400, 2_000).astype(np.float64)
    found = CandidateGrid.of(shop(np.full(2_000, 3.0), order, demand)).orders
    assert found[0] == 0
    assert (found % 12 == 0).all()
    assert len(found) <= ORDER_CANDIDATES + 1 <= MOST_ORDERS
    assert np.quantile(order, 0.995) <= found[-1] <= np.quantile(order, 0.995) + np.diff(found)[0]


def test_declared_ranges_are_lists() -> None:
    problem = Problem(prices={"from": 3.49, "to": 5.99, "step": 0.5}, orders={"multiple": 12, "most": 480})
    assert problem.prices == (3.49, 3.99, 4.49, 4.99, 5.49, 5.99)
    assert problem.orders is not None
    assert problem.orders[:3] + problem.orders[-1:] == (0, 12, 24, 480)


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({"prices": {"from": 5, "to": 3, "step": 1}}, "must not end at 3, below its start at 5"),
        ({"prices": {"from": 1, "to": 3}}, "step: Field required"),
        ({"prices": {"from": 1, "to": 3, "step": 0}}, "step: Input should be greater than 0"),
        ({"orders": {"multiple": 1e-9, "most": 5}}, "a range may have 10,000 values"),
        ({"orders": {"multiples": 6, "most": 5}}, "multiples: Extra inputs are not permitted"),
    ],
)
def test_a_range_that_cannot_be_is_refused(keys: dict[str, Any], reason: str) -> None:
    with pytest.raises(SettingError, match=reason):
        Problem(**keys)


def test_a_log_may_hold_values_off_the_declared_grid() -> None:
    log = shop(np.tile([3.0, 3.07, 4.91], 50), prices=(3, 4, 5), orders=(0, 25))
    found = CandidateGrid.of(log)
    assert (found.prices.tolist(), found.orders.tolist()) == ([3, 4, 5], [0, 25])


def test_where_products_differ_the_candidates_are_relative_to_each() -> None:
    log = assortment((2.5, 9.3), (4.0, 60.0))
    found = CandidateGrid.of(log)
    assert found.relative_prices
    assert found.relative_orders
    np.testing.assert_allclose(found.prices_of(2.5)[[0, -1]], [2.0, 2.5])
    np.testing.assert_allclose(found.prices_of(9.3)[[0, -1]], [7.44, 9.3])
    cheap, dear = found.orders_of(np.array([4.0, 60.0]))
    assert (cheap % 6 == 0).all()
    assert (dear % 6 == 0).all()
    assert cheap.max() <= 18
    assert dear.max() >= 90
    one = CandidateGrid.of(log, relative=False)
    assert not one.relative


def test_declared_grids_are_not_relative() -> None:
    found = CandidateGrid.of(assortment((2.5, 9.3), (4.0, 60.0), prices=(2, 9), orders=(0, 6)))
    assert not found.relative


@pytest.mark.parametrize(
    ("prices", "spelling"),
    [
        ([1.99, 2.99, 7.99], (1.0, 0.99)),
        ([1.5, 2.0, 7.5], (0.5, 0.0)),
        ([1.49, 1.99, 7.49], (0.5, 0.49)),
        ([1.31, 2.47, 7.9], (0.01, 0.0)),
        ([1.31234, 2.47777, 7.98765], (0.0, 0.0)),
    ],
)
def test_prices_are_spelled_as_in_the_log(prices: list[float], spelling: tuple[float, float]) -> None:
    assert price_spelling(np.array(prices)) == spelling


def test_prices_snap_to_the_nearest_ending_above_zero() -> None:
    np.testing.assert_allclose(snapped(np.array([0.2, 4.6, 5.3]), 1.0, (0.99, 0.49)), [0.49, 4.49, 5.49])
    np.testing.assert_allclose(snapped(np.array([0.001, 4.6]), 0.5), [0.5, 4.5])


def test_rules_shape_the_grid() -> None:
    rng = np.random.default_rng(0)
    log = shop(np.round(rng.uniform(2, 8, 3_000), 2), rng.integers(0, 200, 3_000).astype(float))
    found = CandidateGrid.of(log, BusinessRules(price_endings=(0.99,), multiple=24, minimum=48))
    np.testing.assert_allclose(found.prices % 1, 0.99)
    assert (found.orders % 24 == 0).all()
    assert found.orders[:2].tolist() == [0, 48]
    declared = shop(np.full(300, 3.0), prices=(2, 2.99, 3.99), orders=(0, 5, 24, 30))
    only = CandidateGrid.of(declared, BusinessRules(price_endings=(0.99,), multiple=24))
    assert (only.prices.tolist(), only.orders.tolist()) == ([2.99, 3.99], [0, 24])
    with pytest.raises(SettingError, match="no action of the grid passes the rules"):
        CandidateGrid.of(declared, BusinessRules(price_ladder=(7.0,)))


@pytest.mark.parametrize("unit", [1.0, 12.0, 1 / 12, 1000.0, 0.001, 0.25])
def test_the_common_step_is_found_in_any_unit(unit: float) -> None:
    values: Floats = unit * np.random.default_rng(2).integers(0, 5_000, 3_000).astype(np.float64)
    assert common_step(values) == pytest.approx(unit, rel=1e-9)
    assert order_multiple(6 * values) == pytest.approx(6 * unit, rel=1e-9)


def test_continuous_values_have_no_step() -> None:
    assert common_step(np.random.default_rng(2).random(100)) == 0
    assert common_step(np.zeros(3)) == 0


def test_coarse_grids_keep_both_ends() -> None:
    fine = CandidateGrid(np.linspace(1, 5, 200), np.arange(5_001.0))
    coarse = fine.coarse()
    assert (len(coarse.prices), len(coarse.orders)) == (PRICE_CANDIDATES, ORDER_CANDIDATES + 1)
    assert (coarse.prices[0], coarse.prices[-1], coarse.orders[-1]) == (1, 5, 5_000)
    assert np.isin(coarse.prices, fine.prices).all()


def test_products_have_cases_of_their_own_where_they_placed_enough_orders() -> None:
    order = np.zeros((3, 40))
    order[0, :20], order[1, :20], order[2, :14] = 12.0, [6.0, 9.0] * 10, 12.0
    log = log_of_draws(np.full((3, 40), 3.0), np.full((3, 40), 90.0), order=order).decisions("fit")
    np.testing.assert_array_equal(ProductTable.of(log).case_size, [12, 3, 3])
    continuous = log_of_draws(np.full((3, 40), np.pi), np.full((3, 40), 90.0), order=order).decisions("fit")
    assert not ProductTable.of(continuous).case_size.any()
