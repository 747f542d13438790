"""The decisions of the period after the log."""

from dataclasses import replace

import numpy as np
import pandas as pd

import lostsales
from lostsales.data.balance import is_off_balance, off_balance, stock_after
from lostsales.data.feature import Feature
from lostsales.data.sublogs import with_open_period, without
from lostsales.evaluation.report.next_decisions import OFF_BALANCE, ONE_PRICE, UNDECIDED, next_decisions
from lostsales.evaluation.report.open_period import next_features
from lostsales.policy.policy import SavedPolicy
from tests.demand.logs import log_of_flags
from tests.evaluation.shop import Assortment
from tests.learn.small import small_log

SHOP = Assortment.drawn(3, 1)


def policy() -> SavedPolicy:
    return lostsales.fit(SHOP.log(60, 2), "behaviour")


def test_decisions_are_those_of_recommend_for_the_day_after_the_log() -> None:
    log, decides = SHOP.log(60, 2), policy()
    found = next_decisions(decides, log, None)
    ends = np.r_[log.starts[1:], len(log)] - 1
    stock = log.stock[ends] + log.order[ends] - log.sales[ends]
    columns = {"series": log.names, "period": "2025-03-07", "weekday": 60 % 7, "stock": stock}
    today = pd.DataFrame(columns | {"order_cost": SHOP.cost(), "holding_cost": 0.02 * SHOP.usual_price})
    recent = pd.DataFrame(
        {
            "series": log.names[log.series],
            "period": log.period.astype("datetime64[D]").astype(str),
            "weekday": log.features[:, 0],
            "stock": log.stock,
            "price": log.price,
            "order": log.order,
            "sales": log.sales,
            "stockout": log.stockout,
            "order_cost": SHOP.cost()[log.series],
            "holding_cost": 0.02 * SHOP.usual_price[log.series],
        }
    )
    wanted = decides.recommend(recent, today).set_index("series")
    assert {each.period for each in found.decisions} == {"2025-03-07"}
    assert found.carried_over == ()
    for each in found.decisions:
        assert (each.price, each.order) == tuple(wanted.loc[each.product, ["price", "order"]])
        assert each.stock == stock[log.names.tolist().index(each.product)]


def test_a_feature_goes_on_in_its_cycle_and_others_stay_as_they_were() -> None:
    log = SHOP.log(30, 2)
    weather = np.random.default_rng(0).integers(0, 3, len(log)).astype(float)
    problem = log.problem.model_copy(update={"features": (*log.problem.features, Feature(name="weather"))})
    log = replace(log, problem=problem, features=np.column_stack([log.features, weather]))
    features, carried_over = next_features(log)
    assert carried_over == ("weather",)
    np.testing.assert_array_equal(features[:, 0], 30 % 7)
    np.testing.assert_array_equal(features[:, 1], weather.reshape(3, 30)[:, -1])


def test_what_a_manager_should_look_at_is_named() -> None:
    log = SHOP.log(60, 2)
    first = log.series == 0
    stock = np.where(first, log.stock + 5 * (np.arange(len(log)) % 2), log.stock)
    price = np.where(log.series == 1, 2.0, log.price)
    found = next_decisions(policy(), replace(log, stock=stock, price=price), None)
    assert found.to_look_at[OFF_BALANCE] == ("product 0",)
    assert found.to_look_at[ONE_PRICE] == ("product 1",)
    assert all(each.look_at == () for each in found.decisions if each.product == "product 2")


def test_products_that_are_no_longer_sold_or_never_showed_a_demand_are_not_decided_for() -> None:
    log = SHOP.log(60, 2)
    gone = without(log, (log.series == 2) & (log.period > log.period[20]))
    found = next_decisions(policy(), gone, None)
    assert found.no_longer_sold == 1
    assert {each.product for each in found.decisions} == {"product 0", "product 1"}
    never = replace(log, stockout=np.where(log.series == 1, True, np.asarray(log.stockout)))
    assert next_decisions(policy(), never, None).to_look_at[UNDECIDED] == ("product 1",)


def test_an_open_row_follows_every_series_and_leaves_the_others_as_they_are() -> None:
    log = log_of_flags("4x7", "5x")
    stock = stock_after(log)[[2, 4]]
    longer = with_open_period(log, np.zeros((2, 0)), stock, np.array([3, 2]))
    np.testing.assert_array_equal(longer.series, [0, 0, 0, 0, 1, 1, 1])
    np.testing.assert_array_equal(longer.period, [0, 1, 2, 3, 0, 1, 2])
    np.testing.assert_array_equal(np.asarray(longer.stock)[[3, 6]], stock)
    kept = np.array([0, 1, 2, 4, 5])
    np.testing.assert_array_equal(longer.sales[kept], log.sales)
    assert longer.stockout is not None
    assert not longer.stockout[[3, 6]].any()


def test_rows_off_the_balance_are_those_that_are_counted() -> None:
    log = small_log("steady", 5)
    assert not is_off_balance(log).any()
    moved = replace(log, stock=log.stock + (np.arange(len(log)) == 7))
    np.testing.assert_array_equal(np.flatnonzero(is_off_balance(moved)), [6, 7])
    assert off_balance(moved) == (len(log) - len(log.products), 2)
