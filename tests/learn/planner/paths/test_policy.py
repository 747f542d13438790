"""The planner on sample paths in the example shop: prices a shop can charge, announced promotions, files."""

from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import lostsales
from lostsales.data.example import write_example
from lostsales.data.shop import Shop
from lostsales.learn.planner.paths.explanation import StockOutlook
from lostsales.learn.planner.paths.policy import PathPolicy
from lostsales.policy.view import View

NOW = pd.Timestamp("2026-06-29")  # a Monday


@cache
def table() -> pd.DataFrame:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        write_example("corner-shop", Path(folder) / "sales.csv")
        return pd.read_csv(Path(folder) / "sales.csv", parse_dates=["date"])


def days(promoted: int = 0, ahead: int = 0, **today: Any) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Closed rows, and the open day with rows of later days that are `ahead` many, all with this promotion flag."""
    rows = table()
    recent, opened = rows[rows.date < NOW], rows[rows.date == NOW]
    keys = opened[["product", "category", "supplier", "unit_cost", "case_size", "stock"]].assign(
        **{"promotion": 0} | today
    )
    later = [keys.assign(date=NOW + pd.Timedelta(days=day), promotion=promoted) for day in range(1, ahead + 1)]
    return recent, pd.concat([keys.assign(date=NOW), *later], ignore_index=True)


@pytest.fixture(scope="module")
def policy() -> lostsales.SavedPolicy:
    return lostsales.fit(lostsales.load_example("corner-shop"), "planner", pricing="free")


def decided(policy: lostsales.SavedPolicy, asked: tuple[pd.DataFrame, pd.DataFrame]) -> pd.DataFrame:
    found: pd.DataFrame = policy.recommend(*asked)
    return found.set_index("product").sort_index()


def test_a_shop_with_dates_is_decided_on_paths(policy: lostsales.SavedPolicy) -> None:
    inside = getattr(policy, "policy", policy)
    assert isinstance(inside, PathPolicy)
    assert inside.sets_prices


def test_prices_lie_within_those_of_the_same_state(policy: lostsales.SavedPolicy) -> None:
    for promoted in (0, 1):
        seen = table()[table().promotion == promoted].groupby("product").price.agg(["min", "max"])
        found = decided(policy, days(promotion=promoted))
        assert (found.price >= seen["min"] - 1e-9).all()
        assert (found.price <= seen["max"] + 1e-9).all()


def test_an_announced_promotion_raises_orders_and_its_cancelling_takes_it_back(policy: lostsales.SavedPolicy) -> None:
    plain, promoted, cancelled = (decided(policy, days(flag, ahead=6)) for flag in (0, 1, 0))
    assert promoted.order.sum() > 1.15 * plain.order.sum()
    pd.testing.assert_frame_equal(plain, cancelled)


def test_more_stock_never_means_a_larger_order(policy: lostsales.SavedPolicy) -> None:
    orders = [decided(policy, days(stock=float(units))).order for units in (0, 10, 40, 200)]
    for less, more in pairwise(orders):
        assert (more <= less).all()


def test_a_price_that_has_just_changed_is_kept() -> None:
    log = lostsales.load_example("corner-shop")
    rules = lostsales.Rules(price_every=7)
    policy = lostsales.fit(log, lostsales.Planner(pricing="free", rules=rules))
    recent, today = days()
    last = recent[recent.date == recent.date.max()].set_index("product").price.sort_index()
    odd = recent.copy()
    odd.loc[odd.date == odd.date.max(), "price"] += 0.1  # the day before it was another one
    kept = decided(policy, (odd, today)).price
    np.testing.assert_allclose(kept, last + 0.1)
    free = decided(lostsales.fit(log, lostsales.Planner(pricing="free")), (odd, today)).price
    assert (free != last + 0.1).any()


def test_given_prices_are_kept() -> None:
    policy = lostsales.fit(lostsales.load_example("corner-shop"), "planner", pricing="given")
    recent, today = days()
    last = recent[recent.date == recent.date.max()].set_index("product").sort_index()
    regular = last.promotion == 0
    np.testing.assert_allclose(decided(policy, (recent, today)).price[regular], last.price[regular])


def test_a_saved_policy_decides_the_same_to_the_bit(policy: lostsales.SavedPolicy, tmp_path: Path) -> None:
    policy.save(tmp_path / "policy")
    again = lostsales.load(tmp_path / "policy")
    asked = days(1, ahead=3)
    pd.testing.assert_frame_equal(decided(policy, asked), decided(again, asked), check_exact=True)


def test_decisions_are_explained(policy: lostsales.SavedPolicy) -> None:
    found = decided(policy, days())
    assert found.expected_demand.between(2, 100).all()
    assert found.demand_level.between(0.5, 2).all()
    assert found.season_factor.between(0.5, 2).all()
    assert (found.stockout_before_delivery >= found.stockout_chance).all()
    assert (found.advantage >= 0).all()
    is_other = (found.runner_up_price != found.price) | (found.runner_up_order != found.order)
    assert is_other.all()
    usual = table()[table().promotion == 0].groupby("product").price.median()
    moved = found.price != usual
    assert (np.sign(found.price_units) == np.sign(usual - found.price)).all()  # dearer: fewer units
    assert found.price_reason[moved].str.contains("the usual price").all()
    assert found.price_reason[~moved].str.startswith("the usual price").all()
    assert found.order_reason[found.order == 0].str.startswith("none").all()
    assert found.order_reason[found.order > 0].str.startswith("with it").all()
    assert not found.flag.any()


def test_the_margin_of_a_price_is_that_of_the_units_it_moves(policy: lostsales.SavedPolicy) -> None:
    found = decided(policy, days())
    usual = table()[table().promotion == 0].groupby("product").price.median()
    cost = table().groupby("product").unit_cost.last()
    at_usual = found.expected_demand - found.price_units
    wanted = (found.price - cost) * found.expected_demand - (usual - cost) * at_usual
    np.testing.assert_allclose(found.price_margin, wanted, atol=1e-6)


def test_the_runner_up_of_given_prices_is_another_order() -> None:
    policy = lostsales.fit(lostsales.load_example("corner-shop"), "planner", pricing="given")
    found = decided(policy, days())
    assert (found.runner_up_price == found.price).all()
    assert (found.runner_up_order != found.order).all()
    assert (found.advantage >= 0).all()
    assert (found.price_reason == "prices are given, only orders are decided").all()


def test_a_product_of_one_price_and_one_without_orders_are_flagged_and_decided() -> None:
    rows = table().copy()
    usual = rows[rows.promotion == 0].groupby("product").price.median()
    one = rows["product"] == "Butter 250 g"
    rows.loc[one, "price"] = usual["Butter 250 g"]
    rows.loc[rows["product"] == "Cola 1.5 l", "order"] = 0
    problem = lostsales.load_example("corner-shop").problem
    with pytest.warns(UserWarning, match="1 of 12 products were sold at one price only"):
        policy = lostsales.fit(lostsales.read_log(rows, problem), "planner", pricing="free")
    recent, today = days(stock=0.0)
    found = decided(policy, (recent, today))
    assert found.price["Butter 250 g"] == usual["Butter 250 g"]
    assert "only one price" in found.flag["Butter 250 g"]
    assert "no order was ever logged" in found.flag["Cola 1.5 l"]
    demand = found.expected_demand["Cola 1.5 l"]
    assert demand <= found.order["Cola 1.5 l"] <= 8 * demand
    assert not found.flag.drop(["Butter 250 g", "Cola 1.5 l"]).any()


def test_stock_until_the_next_delivery_by_hand() -> None:
    """Two futures of 3 + 4 and 5 + 6 units; 8 are there, and what is on the way comes after two periods."""
    shop = Shop(supply={"lead_time": 3})
    view = View(0, (), np.array([8.0]), np.zeros(1), np.zeros(1, dtype=bool), np.zeros(1), None)
    demand = np.array([[[3.0, 4.0, 1.0], [5.0, 6.0, 1.0]]])
    found = StockOutlook.of(shop, replace(view, pipeline=np.array([[0.0, 5.0]])), np.array([2.0]), demand)
    assert (found.next_delivery[0], found.stockout_chance[0], found.stockout_before[0]) == (2, 0.0, 0.5)
    assert found.cover[0] == (8 + 5 + 2) / (20 / 6)
    empty = StockOutlook.of(shop, replace(view, stock=np.array([4.0])), np.array([2.0]), demand)
    assert (empty.next_delivery[0], empty.stockout_chance[0], empty.lost[0], empty.stockout_before[0]) == (
        3,
        0.5,
        0.5,
        1,
    )


def test_the_declared_prices_reach_over_those_of_a_product(policy: lostsales.SavedPolicy) -> None:
    assert policy.may_recommend is not None
    seen = table().groupby("product").price.agg(["min", "median", "max"])
    for lowest, usual, highest in seen.to_numpy():
        prices = policy.may_recommend.prices_of(usual)
        assert prices[0] <= 1.02 * lowest
        assert prices[-1] >= 0.98 * highest
