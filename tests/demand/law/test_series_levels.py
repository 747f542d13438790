"""Levels of series: exact where their variance is known; and a law of products that share their responses."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import lostsales
from benchmarks.assortments import Assortment
from lostsales.data.log import SalesLog
from lostsales.data.scale import series_scale
from lostsales.demand.censoring.evidence import gather_evidence
from lostsales.demand.law.demand_law import DemandLaw, Family
from lostsales.demand.law.estimation import fit_family
from lostsales.demand.law.means import LinearMean
from lostsales.demand.law.series_levels import drawn_together
from tests.demand.logs import log_of_assortment

LINEAR, LOG_LINK = Family("linear", False), Family("linear", False, link="log")


def test_levels_are_those_of_the_normal_equations() -> None:
    """Given their variance and mean, levels are a ridge regression; one of few rows lies near the mean."""
    rng = np.random.default_rng(1)
    series, own = np.repeat(np.arange(40), np.r_[np.full(39, 50), 5]), rng.normal(0.3, 0.4, 40)
    left, precision = own[series] + rng.normal(0, 0.5, len(series)), np.full(len(series), 4.0)
    levels, variance = drawn_together(left, precision, series, 0.2, 40, steps=200)
    common, rows = levels.mean(), np.bincount(series)
    sums = np.bincount(series, 4.0 * left)
    np.testing.assert_allclose(levels, (sums + common / variance) / (4.0 * rows + 1 / variance), rtol=1e-3)
    assert np.sqrt(variance) == pytest.approx(0.4, rel=0.25)
    assert abs(levels[39] - common) < abs(sums[39] / 20.0 - common)


def law_of(log: SalesLog) -> DemandLaw:
    return fit_family(gather_evidence(log), LOG_LINK, series_scale(log))


def elasticity_of(law: DemandLaw) -> float:
    assert isinstance(law.mean, LinearMean)
    return float(law.mean.slopes[-2])


def test_uncensored_and_many_rows_it_is_the_fixed_effects_regression_of_a_library() -> None:
    """Poisson regression with a dummy a product, by scikit-learn, against the mean elasticity of the products."""
    linear_model = pytest.importorskip("sklearn.linear_model")
    shop = replace(
        Assortment.draw(6, 7),
        elasticity=np.full(6, -1.8),
        periods=np.full(6, 600),
        stockout_share=np.full(6, 1e-9),
        variance_ratio=np.ones(6),
    )
    log = log_of_assortment(shop, 7)
    assert log.censored.mean() < 0.01
    usual = dict(zip(shop.names, shop.usual_price, strict=True))
    price = np.log(log.price / np.array([usual[name] for name in log.names])[log.series])
    weekdays, products = np.eye(7)[log.features[:, 0].astype(int)][:, 1:], np.eye(6)[log.series][:, 1:]
    model = linear_model.PoissonRegressor(alpha=0, max_iter=1_000, tol=1e-8)
    peer = model.fit(np.column_stack([price, weekdays, products]), log.sales).coef_[0]
    assert peer == pytest.approx(elasticity_of(law_of(log)), abs=0.05)
    assert peer == pytest.approx(-1.8, abs=0.08)


def test_multiplying_a_product_by_a_constant_changes_nothing_relative() -> None:
    shop = Assortment.draw(5, 9)
    table = shop.columns(9)
    is_third = table["series"] == "product 2"
    dearer = {name: table[name] * np.where(is_third, 3.0, 1.0) for name in ("price", "unit_cost", "holding_cost")}
    larger = {name: table[name] * np.where(is_third, 10.0, 1.0) for name in ("stock", "order", "sales")}
    log = log_of_assortment(shop, 9)
    plain, times = law_of(log), np.where(log.names == "product 2", 1.0, 0.0)
    costly = law_of(log_of_assortment(shop, 9, **dearer))
    assert elasticity_of(costly) == pytest.approx(elasticity_of(plain), abs=1e-9)
    np.testing.assert_allclose(costly.usual_price / plain.usual_price, 1 + 2 * times)
    big = law_of(log_of_assortment(shop, 9, **larger))
    np.testing.assert_allclose(big.scale / plain.scale, 1 + 9 * times)
    # Whole numbers are ten times as fine: draws within the interval of a count differ a little. `fit` counts in tens.
    assert elasticity_of(big) == pytest.approx(elasticity_of(plain), abs=0.08)


def test_copies_of_a_product_are_as_many_times_its_rows() -> None:
    shop = replace(Assortment.draw(3, 2), periods=np.full(3, 200))
    table = {name: each[shop.columns(2)["series"] == "product 1"] for name, each in shop.columns(2).items()}
    frame = pd.DataFrame({name: each for name, each in table.items() if name != "demand"})
    copies = pd.concat([frame.assign(series=f"copy {number}") for number in range(4)])
    one, four = (gather_evidence(lostsales.read_log(each, shop.problem)) for each in (frame, copies))
    assert (four.usual_price == 1).all()
    assert (series_scale(lostsales.read_log(copies, shop.problem)) == 1).all()
    weighed = fit_family(one, LINEAR, np.ones(1), weights=np.full(len(one), 4.0))
    whole = fit_family(four, LINEAR, np.ones(4))
    assert not whole.level.any()
    rows = one.depth == 0
    inputs = whole.inputs(one.market[rows], one.price[rows], one.lag[rows])
    np.testing.assert_allclose(weighed.mean(inputs), whole.mean(inputs), rtol=0.01)
    assert weighed.residuals.spread == pytest.approx(whole.residuals.spread, rel=0.01)
