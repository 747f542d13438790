"""The planner on an assortment: own units, own range, products that the log never had."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import lostsales
from benchmarks.assortments import Assortment, AssortmentManager, optimal_policy
from lostsales.data.business_rules import OwnRules
from lostsales.demand.law.demand_law import Family
from lostsales.learn.planner.planner import Planner
from lostsales.policy.policy import SavedPolicy
from lostsales.policy.recommendation import UNKNOWN_SERIES, UNSEEN
from lostsales.policy.rules import Rules

PLANNER = Planner(draws=1, families=(Family("linear", False, link="log"),))
SHOP = Assortment.draw(6, 21)
TABLE = pd.DataFrame({name: each for name, each in SHOP.columns(21).items() if name != "demand"})


def fitted(table: pd.DataFrame, method: Any = PLANNER) -> SavedPolicy:
    return lostsales.fit(lostsales.read_log(table, SHOP.problem), method)


def days(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The last rows of each product, and the day after."""
    last = table.groupby("series").tail(1)
    today = last.assign(
        stock=last.stock + last.order - last.sales, period=last.period + 1, weekday=(last.weekday + 1) % 7
    )
    return table.groupby("series").tail(8), today[["series", "period", "weekday", "department", "stock"]]


def decisions(policy: SavedPolicy, table: pd.DataFrame) -> pd.DataFrame:
    found: pd.DataFrame = policy.recommend(*days(table))
    return found.set_index("series").sort_index()


@pytest.fixture(scope="module")
def policy() -> SavedPolicy:
    return fitted(TABLE)


def test_it_is_near_the_optimum_of_every_product(policy: SavedPolicy) -> None:
    found, manager, best = (
        SHOP.profits(each, seed=3).mean(axis=0) for each in (policy, AssortmentManager(SHOP), optimal_policy(SHOP))
    )
    assert (found / best).mean() > 0.95
    assert found.sum() > manager.sum()
    assert (found > 0.98 * manager).all()


@pytest.mark.parametrize(
    ("columns", "times"), [(("stock", "order", "sales"), 10), (("price", "unit_cost", "holding_cost"), 3)]
)
def test_a_product_times_a_constant_has_its_decision_times_that(
    policy: SavedPolicy, columns: tuple[str, ...], times: int
) -> None:
    third = TABLE.series == "product 2"
    moved = TABLE.assign(**{name: TABLE[name] * np.where(third, times, 1) for name in columns})
    before, after = decisions(policy, TABLE), decisions(fitted(moved), moved)
    times_order, times_price = (times if name in columns else 1 for name in ("order", "price"))
    factor = (
        np.where(before.index == "product 2", times_order, 1),
        np.where(before.index == "product 2", times_price, 1),
    )
    np.testing.assert_allclose(after.order, before.order * factor[0])
    np.testing.assert_allclose(after.price, before.price * factor[1], atol=0.006)  # prices in cents


def test_caution_brings_prices_towards_the_usual_one_and_costs_it_nothing(policy: SavedPolicy) -> None:
    usual = TABLE.groupby("series").price.median()
    moved = {}
    for caution in (0.0, 0.5, 10.0):
        found = decisions(fitted(TABLE, PLANNER.model_copy(update={"price_caution": caution})), TABLE)
        moved[caution] = np.abs(np.log(found.price / usual))
        at_usual = moved[caution] < 1e-9
        assert (found.penalty[at_usual] == 0).all()
        assert (found.penalty[~at_usual] > 0).all() or caution == 0
    assert moved[10.0].max() < 1e-9 < moved[0.0].max()
    assert moved[0.5].sum() <= moved[0.0].sum()
    np.testing.assert_allclose(moved[0.5], np.abs(np.log(decisions(policy, TABLE).price / usual)))  # the default


def test_decisions_stay_near_what_each_product_has_seen(policy: SavedPolicy) -> None:
    found = decisions(policy, TABLE)
    seen = TABLE.groupby("series").agg(low=("price", "min"), high=("price", "max"), sales=("sales", "mean"))
    assert (found.price <= 2 * seen.high).all()
    assert (found.price >= seen.low / 2).all()
    assert (found.order <= 10 * seen.sales).all()
    outside = (found.price > seen.high + 1e-9) | (found.price < seen.low - 1e-9)
    flagged = found.flag.str.contains(UNSEEN)
    assert (flagged | ~outside).all()


def test_orders_come_in_the_cases_of_each_product(policy: SavedPolicy) -> None:
    case = dict(zip(SHOP.names, SHOP.case, strict=True))
    assert set(case.values()) == {1.0, 6.0}
    for step in SHOP.steps(policy, 20, seed=1):
        assert (step.action.order % SHOP.case == 0).all()


def test_rules_of_some_products_bind_these_only() -> None:
    own = OwnRules(where={"series": ("product 1", "product 5")}, multiple=4)
    planner = PLANNER.model_copy(update={"rules": Rules(own=(own,)), "iterations": 3})
    policy = fitted(TABLE, planner)
    orders = np.array([step.action.order for step in SHOP.steps(policy, 20, seed=1)])
    said = np.isin(SHOP.names, ["product 1", "product 5"])
    assert (orders[:, said] % 4 == 0).all()
    assert (orders[:, said] > 0).any()
    assert (orders[:, ~said] % 4 != 0).any()


def test_simple_rules_order_in_the_cases_of_each_product() -> None:
    policy = fitted(TABLE, "base-stock")
    for step in SHOP.steps(policy, 20, seed=1):
        assert (step.action.order % SHOP.case == 0).all()


def test_a_product_that_the_log_never_had_is_answered_from_its_attributes(policy: SavedPolicy) -> None:
    recent, today = days(TABLE)
    new = today.iloc[:1].assign(series="a new one", stock=0.0)
    found = policy.recommend(recent, pd.concat([today, new])).set_index("series")
    assert UNKNOWN_SERIES in found.flag["a new one"]
    usual = TABLE.groupby("series").price.median()
    assert usual.min() / 2 < found.price["a new one"] < 2 * usual.max()
    # With recent rows of its own it has their scale and price.
    own = recent[recent.series == "product 1"]
    later = policy.recommend(
        pd.concat([recent, own.assign(series="a new one")]),
        pd.concat([today, today[today.series == "product 1"].assign(series="a new one")]),
    ).set_index("series")
    assert later.price["a new one"] == pytest.approx(usual["product 1"], rel=0.35)
    assert 0.3 < (later.expected_demand["a new one"] + 1) / (later.expected_demand["product 1"] + 1) < 3


def test_a_saved_policy_decides_the_same(policy: SavedPolicy, tmp_path: Path) -> None:
    policy.save(tmp_path / "shop.policy")
    again = lostsales.load(tmp_path / "shop.policy")
    pd.testing.assert_frame_equal(decisions(again, TABLE), decisions(policy, TABLE), rtol=1e-4)
