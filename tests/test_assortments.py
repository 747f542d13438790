"""The assortment of tests and benchmarks: its draws and manager are as stated, and no policy beats its optimum."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import lostsales
from benchmarks.assortments import (
    PRICES,
    Assortment,
    AssortmentManager,
    _best_above,
    count_cdf,
    count_quantile,
    optimal_policy,
)


@pytest.fixture(scope="module")
def shop() -> Assortment:
    return Assortment.draw(8, 1)


def test_products_are_as_different_as_stated() -> None:
    shop = Assortment.draw(500, 0)
    assert shop.size.max() / shop.size.min() == pytest.approx(30, rel=0.02)
    assert 4.5 < shop.usual_price.max() / shop.usual_price.min() <= 5
    assert shop.elasticity.min() == -3
    assert shop.elasticity.max() <= -0.8
    assert (shop.periods.min(), shop.periods.max()) == (60, 300)
    np.testing.assert_allclose(shop.weekday.mean(axis=1), 1)


@pytest.mark.parametrize("ratio", [1.0, 2.5])
def test_demand_has_the_stated_mean_and_variance(ratio: float) -> None:
    levels = (np.arange(200_000) + 0.5) / 200_000
    demand = count_quantile(levels, np.full(len(levels), 7.0), np.full(len(levels), ratio))
    assert demand.mean() == pytest.approx(7, rel=2e-3)
    assert demand.var() / demand.mean() == pytest.approx(ratio, rel=0.01)
    assert count_cdf(np.array(6.0), np.array(7.0), np.array(ratio)) == pytest.approx(np.mean(demand <= 6), abs=1e-5)


def test_the_log_is_one_that_a_shop_would_have(shop: Assortment) -> None:
    table = shop.columns(4)
    demand = table.pop("demand")
    log = lostsales.read_log(pd.DataFrame(table), shop.problem)
    assert len(log) == shop.periods.sum()
    assert 0.05 < log.censored.mean() < 0.3
    assert (table["sales"] == np.minimum(table["stock"] + table["order"], demand)).all()


def test_the_same_seed_shows_every_policy_the_same_customers(shop: Assortment) -> None:
    plenty = replace(shop, stockout_share=np.full(8, 1e-12))
    first, second = (
        np.array([step.outcome.demand for step in plenty.steps(AssortmentManager(plenty), 30, seed)]) for seed in (3, 3)
    )
    np.testing.assert_array_equal(first, second)


def test_the_optimum_earns_more_than_the_manager_from_every_product() -> None:
    shop = Assortment.draw(8, 1)
    best, manager = (shop.profits(policy, seed=5) for policy in (optimal_policy(shop), AssortmentManager(shop)))
    assert (best.mean(axis=0) > manager.mean(axis=0)).all()


def test_the_optimum_is_that_of_plain_value_iteration() -> None:
    """One small product; every price and order of every stock by a loop."""
    shop = replace(
        Assortment.draw(1, 6),
        size=np.array([2.0]),
        case=np.array([2.0]),
        variance_ratio=np.array([1.0]),
        weekday=np.ones((1, 7)),
    )
    policy = optimal_policy(shop, (0.8, 1.0))
    prices = np.round(np.array([0.8, 1.0]) * shop.usual_price[0], 2)
    cost, holding = shop.unit_cost[0], shop.holding_cost[0]
    demands = np.arange(25.0)
    chance = [
        np.diff(
            count_cdf(demands, shop.size * (price / shop.usual_price) ** shop.elasticity, shop.variance_ratio),
            prepend=0,
        )
        for price in prices
    ]
    value = np.zeros(30)
    for _ in range(1_000):
        by_level = np.empty((30, 2))
        for level in range(30):
            sold = np.minimum(level, demands)
            left = (level - sold).astype(np.int64)
            for p, price in enumerate(prices):
                by_level[level, p] = chance[p] @ (price * sold - holding * left + 0.99 * value[left])
        q = np.full((30, 2, 15), -np.inf)
        for stock in range(30):
            for order in range(0, 30 - stock, 2):
                q[stock, :, order // 2] = by_level[stock + order] - cost * order
        value = q.reshape(30, -1).max(axis=1)
    for stock in range(6):
        p, order = np.unravel_index(q[stock].argmax(), q[stock].shape)
        assert policy.price[0][0, stock] == prices[p]
        assert policy.level[0][0, stock] == stock + 2 * order


def test_orders_come_in_cases() -> None:
    net = np.array([0.0, 1.0, 5.0, 2.0, 4.0, 6.0])
    np.testing.assert_array_equal(_best_above(net, 2), [2, 5, 2, 5, 4, 5])
    shop = Assortment.draw(8, 1)
    level = optimal_policy(shop, PRICES).level
    for product in range(8):
        stocks = np.arange(20)
        assert ((level[product][0, :20] - stocks) % shop.case[product] == 0).all()
