"""The assortment: demand drawn as stated, and a manager as real ones are."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import lostsales
from benchmarks.assortments import Assortment, AssortmentManager, count_cdf, count_quantile


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
