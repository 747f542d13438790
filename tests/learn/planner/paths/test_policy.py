"""The planner on sample paths in the example shop: prices a shop can charge, announced promotions, files."""

from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import lostsales
from lostsales.data.example import write_example
from lostsales.learn.planner.paths.policy import PathPolicy

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
    assert found.stockout_chance.between(0, 1).all()
    assert (found.advantage[found.runner_up_price.notna()] >= 0).all()
