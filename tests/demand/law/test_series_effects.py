"""Effects of series: none where they do not differ, exact where variances are known, and as true as data allow."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import lostsales
from benchmarks.assortments import Assortment
from lostsales.data.log import SalesLog
from lostsales.data.scale import series_scale
from lostsales.demand.censoring.evidence import gather_evidence
from lostsales.demand.law import series_effects
from lostsales.demand.law.demand_law import DemandLaw, Family
from lostsales.demand.law.estimation import fit_family
from lostsales.demand.law.series_effects import SeriesEffects, Units, _with_ones, fit_effects
from lostsales.demand.shop import ShopDemand
from lostsales.types import Floats

LINEAR, LOG_LINK = Family("linear", False), Family("linear", False, link="log")


def log_of(shop: Assortment, seed: int, **columns: Floats) -> SalesLog:
    table = shop.columns(seed) | columns
    return lostsales.read_log(
        pd.DataFrame({name: each for name, each in table.items() if name != "demand"}), shop.problem
    )


def units(products: int, attributes: Floats | None = None) -> Units:
    none = np.zeros((products, 0)) if attributes is None else attributes
    return Units(np.arange(products), none, np.zeros(products), are_products=True)


def test_equal_products_have_equal_effects() -> None:
    rng = np.random.default_rng(0)
    series, inputs = np.repeat(np.arange(20), 100), rng.normal(size=(2_000, 3))
    left = rng.normal(size=2_000)
    found = fit_effects(units(20), left, inputs, series, np.ones(2_000), np.ones(2_000), SeriesEffects.none(20, 3))
    assert not found.level.any()
    assert not found.slopes[:, [0, 2]].any()
    # Of the price they are never quite 0, as products are known to differ, but nearer to it than separate regressions.
    alone = [
        np.linalg.lstsq(_with_ones(inputs[rows]), left[rows], rcond=None)[0][2]
        for rows in np.split(np.arange(2_000), 20)
    ]
    assert np.std(found.slopes[:, 1]) < 0.9 * np.std(alone)
    np.testing.assert_array_equal(found.spread, 1)


def test_effects_are_those_of_the_normal_equations() -> None:
    """Given variances and prior, the mixed model is a ridge regression of all products at once."""
    rng = np.random.default_rng(1)
    product, attributes = np.repeat([0, 1, 2], [5, 50, 500]), np.array([[0.0], [1.0], [3.0]])
    design = np.column_stack([np.ones(555), rng.normal(size=555)])
    left = design @ [0.3, -1.0] + np.array([0.5, -0.2, 0.1])[product] * design[:, 1] + rng.normal(0, 0.5, 555)
    precision = np.full(555, 4.0)
    effects, coefficients, variance = series_effects.mixed_model(
        design, left, precision, product, attributes, np.array([0.2, 0.3]), np.zeros(2)
    )
    known = np.column_stack([np.ones(3), (attributes - attributes.mean()) / attributes.std()])
    for each in range(3):
        own = product == each
        gram = design[own].T @ (precision[own, None] * design[own]) + np.diag(1 / variance)
        right = design[own].T @ (precision[own] * left[own]) + known[each] @ coefficients / variance
        np.testing.assert_allclose(effects[each], np.linalg.solve(gram, right), rtol=0.05, atol=0.01)
    assert np.abs(effects[2, 1] - (-1.0 + 0.1)) < 0.05  # 500 rows of its own


def test_a_product_of_few_rows_borrows_and_one_of_many_hardly_does() -> None:
    shop = replace(Assortment.draw(8, 3), periods=np.array([8, 20, 60, 60, 300, 300, 300, 3000]))
    log = log_of(shop, 3)
    found = ShopDemand.of(log).elasticities()
    error = dict(zip(found.names, found.standard_error, strict=True))
    assert error["product 7"] < error["product 4"] < error["product 0"]


def law_of(log: SalesLog) -> DemandLaw:
    return fit_family(gather_evidence(log), LOG_LINK, series_scale(log))


def test_elasticities_and_bands_are_those_of_the_products() -> None:
    errors, covered = [], []
    for seed in (40, 41, 42):
        shop = Assortment.draw(16, seed)
        log = log_of(shop, seed)
        found = ShopDemand.of(log).elasticities()
        true = dict(zip(shop.names, shop.elasticity, strict=True))
        truth = np.array([true[name] for name in found.names])
        errors.append(found.elasticity - truth)
        covered.append((found.low <= truth) & (truth <= found.high))
    assert np.mean(np.abs(errors)) < 0.3
    assert abs(np.mean(errors)) < 0.08
    assert np.mean(covered) >= 0.88  # of 48; 0.95 less two standard errors


def test_the_spread_of_small_counts_is_larger() -> None:
    shop = Assortment.draw(12, 5)
    law, log = law_of(log_of(shop, 5)), log_of(shop, 5)
    size = np.array([dict(zip(shop.names, shop.size / shop.variance_ratio, strict=True))[name] for name in log.names])
    found = law.effects.spread * law.residuals.spread
    assert np.corrcoef(np.log(found), -0.5 * np.log(size))[0, 1] > 0.95
    assert np.abs(np.log(found * np.sqrt(size))).mean() < 0.15
    assert 0.2 <= law.noise.power <= 0.7  # 0.5 of counts


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
    log = log_of(shop, 7)
    assert log.censored.mean() < 0.01
    usual = dict(zip(shop.names, shop.usual_price, strict=True))
    price = np.log(log.price / np.array([usual[name] for name in log.names])[log.series])
    weekdays, products = np.eye(7)[log.features[:, 0].astype(int)][:, 1:], np.eye(6)[log.series][:, 1:]
    model = linear_model.PoissonRegressor(alpha=0, max_iter=1_000, tol=1e-8)
    peer = model.fit(np.column_stack([price, weekdays, products]), log.sales).coef_[0]
    law = law_of(log)
    own = law.mean.slopes[-2] + law.effects.slopes[:, -2]  # type: ignore[attr-defined]
    weight = log.sales.reshape(6, -1).sum(axis=1)
    assert peer == pytest.approx(float(weight @ own / weight.sum()), abs=0.05)
    assert peer == pytest.approx(-1.8, abs=0.08)


def test_multiplying_a_product_by_a_constant_changes_nothing_relative() -> None:
    shop = Assortment.draw(5, 9)
    table = shop.columns(9)
    is_third = table["series"] == "product 2"
    dearer = {name: table[name] * np.where(is_third, 3.0, 1.0) for name in ("price", "unit_cost", "holding_cost")}
    larger = {name: table[name] * np.where(is_third, 10.0, 1.0) for name in ("stock", "order", "sales")}
    log = log_of(shop, 9)
    plain, times = law_of(log), np.where(log.names == "product 2", 1.0, 0.0)
    costly = law_of(log_of(shop, 9, **dearer))
    np.testing.assert_allclose(costly.effects.slopes, plain.effects.slopes, atol=1e-9)
    np.testing.assert_allclose(costly.usual_price / plain.usual_price, 1 + 2 * times)
    big = law_of(log_of(shop, 9, **larger))
    np.testing.assert_allclose(big.scale / plain.scale, 1 + 9 * times)
    # Whole numbers are ten times as fine: draws within the interval of a count differ a little. `fit` counts in tens.
    np.testing.assert_allclose(big.effects.slopes[:, -2], plain.effects.slopes[:, -2], atol=0.08)


def test_an_unrelated_product_leaves_the_others_within_their_errors() -> None:
    shop = Assortment.draw(7, 12)
    table = shop.columns(12)
    others = table["series"] != "product 6"
    whole = log_of(shop, 12)
    part = lostsales.read_log(
        pd.DataFrame({name: each[others] for name, each in table.items() if name != "demand"}), shop.problem
    )
    found, less = (ShopDemand.of(log).elasticities() for log in (whole, part))
    whole_of = dict(zip(found.names, found.elasticity, strict=True))
    moved = [abs(whole_of[name] - own) for name, own in zip(less.names, less.elasticity, strict=True)]
    assert (np.array(moved) < less.standard_error).all()


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
    assert not whole.effects.any
    rows = one.depth == 0
    inputs = whole.inputs(one.market[rows], one.price[rows], one.lag[rows])
    np.testing.assert_allclose(weighed.mean(inputs), whole.mean(inputs), rtol=0.01)
    assert weighed.residuals.spread == pytest.approx(whole.residuals.spread, rel=0.01)
