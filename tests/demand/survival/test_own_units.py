"""Imputation where series differ: each in its own units of quantity and price."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from lostsales.data.feature import Feature
from lostsales.data.log import SalesLog
from lostsales.data.problem import Problem
from lostsales.data.reading.gate import read_log
from lostsales.data.units import product_units
from lostsales.demand.censoring.runs import find_runs
from lostsales.demand.survival.imputation import impute_by_curves
from lostsales.demand.survival.series_law import ProductCounts, moments_above, series_differ
from lostsales.types import Floats
from tests.demand.logs import COSTS

SIZES = np.geomspace(2.0, 60.0, 16)


def assortment(seed: int, periods: int = 150) -> tuple[SalesLog, Floats]:
    """Poisson demand of 16 products, 30-fold in size and 5-fold in price, with elasticities from -0.8 to -3."""
    rng = np.random.default_rng(seed)
    frames, demands = [], []
    for number, size in enumerate(SIZES):
        usual, elasticity = np.round(rng.uniform(2, 10), 2), rng.uniform(-3.0, -0.8)
        price = np.where(rng.random(periods) < 0.2, np.round(0.8 * usual, 2), usual)
        weekend = (np.arange(periods) % 7 >= 5).astype(float)
        demand = rng.poisson(size * (price / usual) ** elasticity * (1 + 0.4 * weekend)).astype(float)
        available = np.ceil(size * rng.uniform(0.7, 2.2, periods) * (1 + 0.3 * weekend))
        frames.append(
            pd.DataFrame(
                {
                    "series": f"product {number:02}",
                    "period": np.arange(periods),
                    "weekend": weekend,
                    "stock": available,
                    "price": price,
                    "order": 0.0,
                    "sales": np.minimum(demand, available),
                    "stockout": demand > available,
                }
            )
        )
        demands.append(demand)
    problem = Problem(costs=COSTS, features=(Feature(name="weekend"),))
    return read_log(pd.concat(frames), problem), np.concatenate(demands)


def scaled(log: SalesLog, series: int, quantity: float = 1.0, price: float = 1.0) -> SalesLog:
    """The log with quantities and prices of one series multiplied."""
    own = log.series == series
    times, dearer = np.where(own, quantity, 1.0), np.where(own, price, 1.0)
    assert log.stock is not None
    assert log.order is not None
    return replace(
        log, stock=log.stock * times, order=log.order * times, sales=log.sales * times, price=log.price * dearer
    )


@pytest.mark.parametrize("seed", [1, 2])
def test_lost_sales_on_identified_rows_are_near_the_truth_for_small_and_large_products(seed: int) -> None:
    log, demand = assortment(seed, periods=300)
    filled = impute_by_curves(log, replicates=0)
    rows, lost = filled.hidden & filled.identified, demand - log.available
    assert rows[filled.hidden].mean() > 0.6
    assert filled.tail == "exponential"
    assert filled.expected_lost[rows].sum() == pytest.approx(lost[rows].sum(), rel=0.1)
    for fifth in (log.series < 3, log.series >= 13):
        part = rows & fifth
        assert part.sum() > 30
        assert filled.expected_lost[part].sum() == pytest.approx(lost[part].sum(), rel=0.2)


@pytest.mark.parametrize("series", [0, 15])
@pytest.mark.parametrize(("quantity", "price"), [(10.0, 1.0), (1.0, 7.0), (0.25, 0.5)])
def test_multiplying_one_product_multiplies_its_imputations_and_nothing_else(
    series: int, quantity: float, price: float
) -> None:
    log, _ = assortment(3, periods=80)
    usual, other = (impute_by_curves(each, replicates=3) for each in (log, scaled(log, series, quantity, price)))
    times = np.where(log.series == series, quantity, 1.0)
    np.testing.assert_allclose(other.expected_lost, times * usual.expected_lost, rtol=1e-6)
    np.testing.assert_allclose(other.expected_demand, times * usual.expected_demand, rtol=1e-6)
    np.testing.assert_allclose(other.error, times * usual.error, rtol=1e-5, atol=1e-9)
    np.testing.assert_array_equal(other.identified, usual.identified)


def test_no_product_is_filled_beyond_its_own_size() -> None:
    """Sites that give out 0.3 a month beside others that give out 300."""
    rng = np.random.default_rng(0)
    mean = np.repeat([0.3, 3.0, 30.0, 300.0], 3)[:, None]
    demand = rng.poisson(mean, (12, 100)).astype(float)
    available = np.ceil(mean * rng.uniform(0.5, 3, (12, 100)))
    log = read_log(
        pd.DataFrame(
            {
                "series": np.repeat([f"site {site:02}" for site in range(12)], 100),
                "period": np.tile(np.arange(100), 12),
                "stock": available.ravel(),
                "price": 1.0,
                "order": 0.0,
                "sales": np.minimum(demand, available).ravel(),
                "stockout": (demand > available).ravel(),
            }
        ),
        Problem(costs=COSTS),
    )
    filled = impute_by_curves(log, replicates=0)
    largest = demand.max(axis=1)
    assert (filled.expected_demand <= 2 * largest[log.series]).all()
    small = filled.hidden & (log.series < 3)
    truth = (demand - available).ravel()
    assert filled.expected_lost[small].mean() == pytest.approx(truth[small].mean(), rel=0.2)


def test_k_copies_of_one_product_are_filled_as_series_of_one_law() -> None:
    log, _ = assortment(4, periods=60)
    one = log.series == 9
    frame = pd.DataFrame(
        {
            "period": np.tile(log.period[one], 4),
            "series": np.repeat(list("abcd"), one.sum()),
            "weekend": np.tile(log.features[one, 0], 4),
            "stock": np.tile(np.asarray(log.stock)[one], 4),
            "price": np.tile(log.price[one], 4),
            "order": 0.0,
            "sales": np.tile(log.sales[one], 4),
            "stockout": np.tile(log.censored[one], 4),
        }
    )
    copies = read_log(frame, log.problem)
    assert not series_differ(copies)
    filled = impute_by_curves(copies, replicates=0)
    assert filled.tail == "to_max"
    by_copy = filled.expected_lost.reshape(4, -1)
    np.testing.assert_allclose(by_copy, np.tile(by_copy[0], (4, 1)))


def test_levels_and_dispersions_of_products_are_found() -> None:
    log, demand = assortment(5, periods=300)
    law = ProductCounts.of(log, find_runs(log)).law(None, 0)
    assert law is not None
    weekend_effect = 1 + 0.4 * 2 / 7
    np.testing.assert_allclose(np.exp(law.log_level), SIZES * weekend_effect, rtol=0.3)
    spread = np.sqrt(law.poisson + law.proportional)
    np.testing.assert_allclose(spread, 1 / np.sqrt(SIZES), rtol=0.35)
    assert (law.most >= np.array([demand[log.series == each].max() for each in range(16)]) * 0.7).all()


def test_the_unit_of_a_series_is_what_its_quantities_are_multiples_of() -> None:
    log, _ = assortment(6, periods=40)
    units = product_units(scaled(scaled(log, 2, quantity=12.0), 5, quantity=0.1))
    np.testing.assert_allclose(units[[2, 4, 5]], [12.0, 1.0, 0.1])


def test_moments_of_residuals_above_a_level_by_hand() -> None:
    """Residuals -1, 0, 1 and 3 and one censored at 0: above it lie 1 and 3, each half."""
    residual, is_event = np.array([-1.0, 0.0, 1.0, 3.0, 0.0]), np.array([True, True, True, True, False])
    first, second = moments_above(residual, is_event)
    assert (first[4], second[4]) == pytest.approx((2.0, 5.0))
