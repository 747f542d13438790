"""The demand model of a shop: elasticities, lost demand, drivers and tests against a shop whose law is known."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import lostsales
from benchmarks.assortments import Assortment
from lostsales.data.problem import Problem
from lostsales.data.reading.gate import read_log
from lostsales.demand.censoring.observed import observe
from lostsales.demand.imputing import imputed_by
from lostsales.demand.model.diagnostics import residual_tests
from lostsales.demand.shop import ShopDemand
from lostsales.errors import SettingError
from lostsales.types import Floats
from tests.demand.logs import log_of_assortment
from tests.demand.model.shops import Shop, made_up_shop

PROBLEM = Problem(features=({"name": "promo"},), attributes=("group",))


@pytest.fixture(scope="module")
def shop() -> Shop:
    return made_up_shop(3)


@pytest.fixture(scope="module")
def model(shop: Shop) -> ShopDemand:
    return _fitted(shop.log)


def _fitted(table: pd.DataFrame, problem: Problem = PROBLEM) -> ShopDemand:
    found = lostsales.fit_demand(read_log(table, problem, sales_only=True))
    assert isinstance(found, ShopDemand)
    return found


def test_elasticities_are_near_the_truth_and_their_bands_cover_it(shop: Shop, model: ShopDemand) -> None:
    found = model.elasticities()
    assert np.abs(found.elasticity - shop.elasticity).mean() < 0.3
    assert np.mean((found.low <= shop.elasticity) & (shop.elasticity <= found.high)) >= 0.9
    by_group = model.elasticities("group")
    assert by_group.names.tolist() == ["g0", "g1", "g2"]
    assert np.all(np.diff(by_group.elasticity) < 0)  # -1.2, -2.0, -2.8


def test_lost_demand_is_near_the_truth(shop: Shop, model: ShopDemand) -> None:
    past, log = slice(None, shop.start), model.log
    sold = log.sales.reshape(len(shop.demand), -1)
    true = float((shop.demand[:, past] - sold).sum())
    filled, loss = imputed_by(model), lostsales.stockout_loss(log, model=model)
    assert np.nansum(filled.expected_lost) == pytest.approx(true, rel=0.05)
    assert loss.units == pytest.approx(true, rel=0.05)
    assert loss.units_interval is not None
    assert loss.units_interval[0] < true < loss.units_interval[1]


def test_the_bound_of_a_flagged_stock_out_is_one_unit_above_what_was_available(model: ShopDemand) -> None:
    observed = observe(model.log)
    hidden = ~observed.is_observed
    assert hidden.any()
    assert np.array_equal(observed.bound[hidden], model.log.sales[hidden] + 1)
    assert np.array_equal(observed.bound[~hidden], model.log.sales[~hidden])


def test_imputed_demand_never_exceeds_the_stated_maximum(model: ShopDemand) -> None:
    most = float(model.observed.bound.max())
    filled, free = imputed_by(model, most), imputed_by(model)
    assert filled.expected_demand.max() <= most == filled.demand_max
    assert free.expected_demand.max() == free.demand_max > most
    with pytest.raises(SettingError, match="demand_max must be finite"):
        imputed_by(model, most - 1)


def test_drivers_are_shares_and_name_what_moves_demand(model: ShopDemand) -> None:
    shares = model.drivers()
    assert sum(shares.values()) == pytest.approx(1)
    assert set(shares) == {"level", "season", "price", "promo", "own past", "noise"}
    assert list(shares.values()) == sorted(shares.values(), reverse=True)
    assert min(shares["price"], shares["season"]) > 0.05 > shares["own past"]


def test_the_model_fits_its_own_shop(model: ShopDemand) -> None:
    assert {each.classes for each in model.residual_tests} == {"weekday", "month", "product"}
    assert not any(each.matters for each in model.residual_tests)
    assert model.warnings == ()
    predictive, causal = model.slopes
    assert causal.value == pytest.approx(-2, abs=0.4)  # the mean elasticity
    assert abs(predictive.value - causal.value) < 2 * causal.error


def test_prices_that_follow_demand_bend_the_predictive_elasticity_not_the_causal_one() -> None:
    rng = np.random.default_rng(6)
    products, days = 12, 300
    shock, price, demand = (np.zeros((products, days)) for _ in range(3))
    mean = rng.uniform(20, 60, (products, 1))
    seen = np.zeros(products)  # of yesterday's demand, relative to what its price lets expect
    for day in range(days):
        shock[:, day] = 0.8 * (shock[:, day - 1] if day else 0) + 0.3 * rng.normal(size=products)
        price[:, day] = 0.4 * np.clip(seen, -1, 1) + 0.05 * rng.normal(size=products)
        expected = mean[:, 0] * np.exp(-2 * price[:, day])
        demand[:, day] = rng.poisson(expected * np.exp(shock[:, day]))
        seen = np.log((demand[:, day] + 0.5) / expected)
    table = pd.DataFrame(
        {
            "series": np.repeat([f"p{each:02}" for each in range(products)], days),
            "period": np.tile(pd.date_range("2025-01-01", periods=days), products),
            "price": 3 * np.exp(price.reshape(-1)),
            "sales": demand.reshape(-1),
        }
    )
    found = _fitted(table, Problem())
    predictive, causal = found.slopes
    assert predictive.value > -1.5
    assert abs(causal.value + 2) < 0.5 * abs(predictive.value + 2)
    assert any("is not that of a price that is changed" in each for each in found.warnings)


def test_a_missed_weekday_is_told_with_its_name() -> None:
    rng = np.random.default_rng(0)
    days = np.datetime64("2026-01-05") + np.repeat(np.arange(140), 3)
    scores = rng.normal(size=420) + 0.8 * ((np.repeat(np.arange(140), 3) % 7) == 5)
    found = {
        each.classes: each
        for each in residual_tests(
            scores, days.astype("datetime64[us]"), np.tile([0, 1, 2], 140), np.array(["a", "b", "c"])
        )
    }
    assert found["weekday"].matters
    assert found["weekday"].where == "Saturday"
    assert "most of all Saturday, when demand is above its expectation" in found["weekday"].sentence
    assert not found["product"].matters


def test_order_of_rows_and_products_changes_nothing(shop: Shop, model: ShopDemand) -> None:
    table = shop.log.sample(frac=1.0, random_state=1)
    mixed = _fitted(table)
    ours, theirs = (
        dict(zip(each.elasticities().names, each.elasticities().elasticity, strict=True)) for each in (model, mixed)
    )
    assert theirs == pytest.approx(ours, rel=1e-9)
    assert np.sort(mixed.mean) == pytest.approx(np.sort(model.mean), rel=1e-9)
    renamed = _fitted(shop.log.assign(series=lambda each: "z" + (99 - each.series.str[1:].astype(int)).astype(str)))
    found = dict(zip(renamed.elasticities().names, renamed.elasticities().elasticity, strict=True))
    assert {f"p{99 - int(name[1:]):02}": value for name, value in found.items()} == pytest.approx(ours, rel=1e-6)


def test_a_few_wrong_prices_do_not_decide_the_elasticity(shop: Shop, model: ShopDemand) -> None:
    table = shop.log.reset_index(drop=True)
    table.loc[table.index[::1400], "price"] *= 30
    moved = _fitted(table).elasticities().elasticity - model.elasticities().elasticity
    assert np.abs(moved).mean() < 0.1  # 30 times the usual price: the chord would end at 0


def test_a_copy_of_the_price_and_an_instrument_are_no_features(shop: Shop, model: ShopDemand) -> None:
    rng = np.random.default_rng(5)
    table = shop.log.assign(copy=lambda each: 3 * np.log(each.price) + 1, cost=lambda each: rng.normal(size=len(each)))
    problem = Problem(
        features=({"name": "promo"}, {"name": "copy"}, {"name": "cost"}), instruments=("cost",), attributes=("group",)
    )
    found = _fitted(table, problem)
    assert found.copies == ("copy",)
    assert any("left out: copy" in each for each in found.warnings)
    np.testing.assert_allclose(found.elasticities().elasticity, model.elasticities().elasticity, rtol=1e-9)


def test_the_distribution_is_that_which_held_out_rows_support() -> None:
    rng = np.random.default_rng(2)
    days = pd.date_range("2025-01-01", periods=200)
    mean = np.repeat(rng.uniform(2, 9, 6), 200)
    table = pd.DataFrame({"series": np.repeat(list("abcdef"), 200), "period": np.tile(days, 6), "price": 2.0})
    plain = Problem()
    assert _fitted(table.assign(sales=rng.poisson(mean)), plain).distribution == "Poisson counts"
    dispersed = rng.negative_binomial(2, 2 / (2 + mean))
    assert _fitted(table.assign(sales=dispersed), plain).distribution == "negative binomial counts"
    continuous = rng.gamma(4, mean / 4)
    assert _fitted(table.assign(sales=continuous), plain).distribution == "continuous (gamma)"


def test_own_past_is_used_where_held_out_rows_support_it() -> None:
    rng = np.random.default_rng(4)
    days, demand = 400, np.zeros((8, 400))
    mean = rng.uniform(15, 40, 8)
    last: Floats = mean
    for day in range(days):
        last = demand[:, day] = rng.poisson(mean * (last / mean) ** 0.6).astype(float)
    table = pd.DataFrame(
        {
            "series": np.repeat(list("abcdefgh"), days),
            "period": np.tile(pd.date_range("2025-01-01", periods=days), 8),
            "price": 2.0,
            "sales": demand.reshape(-1),
        }
    )
    found = _fitted(table, Problem())
    assert len(found.own_past.lags) >= 1
    assert found.own_past.lags[0] == pytest.approx(0.6, abs=0.15)
    assert found.drivers()["own past"] > 0.05
    independent = table.assign(sales=rng.poisson(np.repeat(mean, days)))
    assert _fitted(independent, Problem()).own_past.lags == ()


def test_what_the_data_cannot_determine_is_told(shop: Shop) -> None:
    table = shop.log
    table.loc[table["series"] == "p00", "price"] = 4.0
    found = _fitted(table)
    assert found.warnings == ("the price of p00 never varied: its elasticity is that of similar products",)
    assert not found.elasticities().price_moved[0]
    assert found.elasticities().standard_error[0] > np.median(found.elasticities().standard_error)
    still = _fitted(table.assign(price=4.0))
    assert "the price never varied: nothing can be said about any other" in still.warnings


def test_predict_is_the_forecast(model: ShopDemand, shop: Shop) -> None:
    ahead = model.predict(3, (50,), future=shop.future)
    again = lostsales.forecast(model.log, 3, (50,), future=shop.future)
    assert np.array_equal(ahead.mean, again.mean)


def test_a_product_of_few_rows_borrows_and_one_of_many_hardly_does() -> None:
    shop = replace(Assortment.draw(8, 3), periods=np.array([8, 20, 60, 60, 300, 300, 300, 3000]))
    log = log_of_assortment(shop, 3)
    found = ShopDemand.of(log).elasticities()
    error = dict(zip(found.names, found.standard_error, strict=True))
    assert error["product 7"] < error["product 4"] < error["product 0"]


def test_an_unrelated_product_leaves_the_others_within_their_errors() -> None:
    shop = Assortment.draw(7, 12)
    table = shop.columns(12)
    others = table["series"] != "product 6"
    whole = log_of_assortment(shop, 12)
    part = lostsales.read_log(
        pd.DataFrame({name: each[others] for name, each in table.items() if name != "demand"}), shop.problem
    )
    found, less = (ShopDemand.of(log).elasticities() for log in (whole, part))
    whole_of = dict(zip(found.names, found.elasticity, strict=True))
    moved = [abs(whole_of[name] - own) for name, own in zip(less.names, less.elasticity, strict=True)]
    assert (np.array(moved) < less.standard_error).all()
