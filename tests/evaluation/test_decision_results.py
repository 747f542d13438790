"""Results of decisions: an exact case by hand, and gains against a simulated truth."""

import re

import numpy as np
import pandas as pd
import pytest

from lostsales.data.problem import Problem
from lostsales.data.reading.gate import read_log
from lostsales.evaluation.decision_results import ShownRecommendations, accepting_gain, decision_results
from lostsales.types import Array, Floats

PERIODS, PRODUCTS = 8, 6
PROBLEM = Problem.model_validate({"costs": {"order": 2.0, "lost": 0.0, "holding": 0.0}})


def table(sales: Floats) -> pd.DataFrame:
    """Sales (products, periods) without a stock-out; the stock is counted every morning."""
    product, period = (each.ravel() for each in np.indices(sales.shape))
    row = {"series": [f"p{each}" for each in product], "period": period, "price": 5.0, "order": 3.0}
    return pd.DataFrame(
        row | {"stock": 50.0, "sales": sales.ravel(), "stockout": False, "adjustment": sales.ravel() - 3}
    )


def shown(
    demand: Floats, price: Floats | float = 5.0, order: float = 3.0, status: Array | None = None
) -> ShownRecommendations:
    product, period = (each.ravel() for each in np.indices(demand.shape))
    rows = product.size
    nothing = np.full(rows, np.nan)
    return ShownRecommendations(
        name=np.array([f"p{each}" for each in product], dtype=object),
        period=np.array([str(each) for each in period], dtype=object),
        price=np.broadcast_to(np.asarray(price, dtype=float), demand.shape).ravel(),
        order=np.full(rows, order),
        demand=demand.ravel(),
        status=np.full(rows, "", dtype=object) if status is None else status.ravel(),
        decided_price=nothing,
        decided_order=nothing,
    )


def test_bias_and_error_by_hand() -> None:
    sales = np.tile(np.array([4.0, 6.0, 4.0, 6.0, 4.0, 6.0, 4.0, 6.0]), (PRODUCTS, 1))
    log = read_log(table(sales), PROBLEM)
    found = decision_results(log, shown(np.full(sales.shape, 5.5)))
    assert found is not None
    assert (found.rows, len(found.periods), found.followed, found.kept) == (48, 8, 1.0, None)
    assert found.bias is not None
    assert found.bias.value == pytest.approx(0.1)  # 5.5 for 5
    assert found.error == pytest.approx(0.2)  # 1.5 and 0.5 of 5
    assert found.stockouts == 0.0
    other = decision_results(log, shown(np.full(sales.shape, 5.5), price=6.0))
    assert other is not None
    assert (other.followed, other.bias, other.error) == (0.0, None, None)  # no price was as forecast
    assert decision_results(log, shown(np.full((2, 0), 1.0))) is None


def test_the_interval_of_the_bias_covers_it() -> None:
    rng = np.random.default_rng(5)
    truth, covered = 1.2, []
    for _ in range(120):
        sales = rng.poisson(10.0, (PRODUCTS, 12)).astype(float)
        found = decision_results(read_log(table(sales), PROBLEM), shown(np.full(sales.shape, 12.0)))
        assert found is not None
        assert found.bias is not None
        covered.append(found.bias.low <= truth - 1 <= found.bias.high)
    assert 0.88 <= np.mean(covered) <= 0.995


@pytest.mark.parametrize("gain", [0.0, 3.0])
def test_the_gain_of_accepting_is_found_within_products_that_differ(gain: float) -> None:
    """Large products are changed more often, and good periods too: neither may count."""
    rng = np.random.default_rng(2)
    values = []
    for _ in range(200):
        size, season = rng.lognormal(3, 1, 30), rng.normal(0, 5, 20)
        chance = np.clip(0.2 + 0.6 * size[:, None] / size.max() + 0.02 * season, 0.05, 0.95)
        is_accepted = rng.random((30, 20)) > chance
        profit = size[:, None] + season + gain * is_accepted + rng.normal(0, 2, (30, 20))
        product, period = (each.ravel() for each in np.indices(profit.shape))
        status = np.where(is_accepted, "accepted", "changed").ravel()
        found = accepting_gain(profit.ravel(), product.astype(str), period, status)
        assert found is not None
        values.append((found.value, found.low <= gain <= found.high))
    estimates, covered = np.array(values).T
    assert abs(estimates.mean() - gain) < 3 * estimates.std() / np.sqrt(len(estimates)) + 0.05
    assert covered.mean() > 0.9
    assert (
        accepting_gain(np.ones(4), np.array(["a", "a", "b", "b"]), np.zeros(4, dtype=int), np.array(["accepted"] * 4))
        is None
    )


def test_a_lasting_change_of_demand_is_an_alarm_and_noise_is_none() -> None:
    rng = np.random.default_rng(9)
    calm = rng.poisson(20.0, (PRODUCTS, 40)).astype(float)
    moved = calm.copy()
    moved[:, 28:] = rng.poisson(32.0, (PRODUCTS, 12))
    alarms = []
    for sales in (calm, moved):
        found = decision_results(read_log(table(sales), PROBLEM), shown(np.full(sales.shape, 20.0)))
        assert found is not None
        alarms.append(found.alarms)
    assert alarms[0] == ()
    assert len(alarms[1]) == 1
    since, found_in = (int(each) for each in re.findall(r"(?:since|in) (\d+)", alarms[1][0]))
    assert 21 <= since <= 28 <= found_in <= 32
