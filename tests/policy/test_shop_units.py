"""The wrapper between relative units and those of the shop, where products differ."""

import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import lostsales
from lostsales.data.business_rules import BusinessRules, OwnRules
from lostsales.data.log import SalesLog
from lostsales.data.problem import Costs, Problem
from lostsales.policy.recommendation import UNSEEN
from lostsales.policy.shop_units import InShopUnits, relative_view
from lostsales.policy.view import EARLIER_PERIODS, Action, ClosedPeriod, View

METHODS = ("base-stock", "s-S-p", "newsvendor", "behaviour", "fqi-imputed", "c-fqi", "pc-fqi")
SIZES = (2.0, 20.0, 200.0)


def shop(seed: int = 0, times: float = 1.0, dearer: float = 1.0, **problem: Any) -> SalesLog:
    """Three products in proportion; quantities or prices and costs of the last one may be multiplied."""
    rng, frames = np.random.default_rng(seed), []
    for number, (size, usual) in enumerate(zip(SIZES, (4.0, 6.0, 8.0), strict=True)):
        last = number == len(SIZES) - 1
        stock, rows = np.ceil(1.5 * size), []
        for period in range(80):
            price = usual * (0.75 if rng.random() < 0.3 else 1.0)
            demand = float(rng.poisson(size * (price / usual) ** -1.5))
            order = np.ceil(max(1.5 * size * rng.uniform(0.5, 1.5) - stock, 0.0))
            available = stock + order
            sales = min(demand, available)
            factor, money = (times, dearer) if last else (1.0, 1.0)
            quantities = [each * factor for each in (stock, order, sales)]
            rows.append((f"product {number}", period, price * money, *quantities, demand > available))
            stock = available - sales
        columns = ["series", "period", "price", "stock", "order", "sales", "stockout"]
        frame, worth = pd.DataFrame(rows, columns=columns), usual * (dearer if last else 1.0)
        frames.append(frame.assign(penalty=0.2 * worth, purchase=0.5 * worth, shelf=0.02 * worth))
    costs = Costs(lost="penalty", order="purchase", holding="shelf")
    return lostsales.read_log(pd.concat(frames), Problem(arrival="before", costs=costs, **problem))


def recommended(log: SalesLog, method: str, stock: float, times: float = 1.0) -> tuple[Any, pd.DataFrame]:
    settings: dict[str, Any] = {"iterations": 2} if "fqi" in method else {}
    policy = lostsales.fit(log, method, **settings)
    level = np.array(SIZES) * stock * np.array([1.0, 1.0, times])
    today = pd.DataFrame({"series": [f"product {each}" for each in range(3)], "period": 80, "stock": level})
    today = today.assign(penalty=[0.8, 1.2, 1.6], purchase=[2.0, 3.0, 4.0], shelf=[0.08, 0.12, 0.16])
    return policy, policy.recommend(None, today.assign(last_sales=np.array(SIZES) * np.array([1.0, 1.0, times])))


@pytest.mark.parametrize("method", METHODS)
def test_orders_and_prices_are_in_proportion_to_each_product(method: str, tmp_path: Path) -> None:
    policy, answer = recommended(shop(), method, stock=0.0)
    assert isinstance(policy, InShopUnits)
    assert (answer["order"] == answer["order"].round()).all()
    assert (answer["order"] <= 10 * np.array(SIZES)).all()
    assert (answer["price"] / [4.0, 6.0, 8.0]).between(0.7, 1.05).all()
    policy.save(tmp_path / "policy")
    again = lostsales.load(tmp_path / "policy")
    pd.testing.assert_frame_equal(again.recommend(None, _today(answer)), policy.recommend(None, _today(answer)))


def _today(answer: pd.DataFrame) -> pd.DataFrame:
    return answer[["series", "period"]].assign(stock=3.0, last_sales=2.0, penalty=1.0, purchase=3.0, shelf=0.1)


@pytest.mark.parametrize("method", ["base-stock", "newsvendor"])
def test_multiplying_one_product_multiplies_its_decision_and_nothing_else(method: str) -> None:
    _, usual = recommended(shop(), method, stock=0.5)
    _, more = recommended(shop(times=1.1**24), method, stock=0.5, times=1.1**24)
    _, dearer = recommended(shop(dearer=3.0), method, stock=0.5)
    assert more["order"].iloc[2] == pytest.approx(1.1**24 * usual["order"].iloc[2], rel=0.02)
    np.testing.assert_array_equal(more["order"].iloc[:2], usual["order"].iloc[:2])
    np.testing.assert_array_equal(dearer["order"].iloc[:2], usual["order"].iloc[:2])
    np.testing.assert_array_equal(dearer["price"].iloc[:2], usual["price"].iloc[:2])


def test_rules_of_the_shop_hold_in_its_own_units() -> None:
    _, answer = recommended(shop(rules={"multiple": 6, "greatest_price_change_percent": 50}), "base-stock", stock=0.0)
    assert (answer["order"] % 6 == 0).all()


def test_series_that_do_not_differ_are_fitted_as_they_are() -> None:
    log, _ = lostsales.simulate("released", episodes=5, seed=1)
    assert not isinstance(lostsales.fit(log, "base-stock"), InShopUnits)


@pytest.mark.parametrize("method", ["base-stock", "c-fqi"])
def test_prices_and_orders_that_the_problem_lists_are_kept_to_where_series_differ(method: str) -> None:
    orders = (0.0, 2.0, 10.0, 25.0, 100.0, 300.0)
    _, answer = recommended(shop(prices=(3.0, 4.0, 6.0, 8.0), orders=orders), method, stock=0.0)
    assert answer["price"].isin((3.0, 4.0, 6.0, 8.0)).all()
    assert answer["order"].isin(orders).all()
    assert answer["order"].is_monotonic_increasing
    assert answer["order"].iloc[2] >= 100.0 > 25.0 >= answer["order"].iloc[0]


def test_a_price_that_the_product_never_had_is_flagged() -> None:
    policy, _ = recommended(shop(), "base-stock", stock=0.0)
    decision = policy.explain(_open_view(policy))
    assert decision.unseen is not None
    flags = policy.recommend(None, _today(pd.DataFrame({"series": ["product 0"], "period": [80]})))["flag"]
    assert flags.str.contains(UNSEEN).tolist() == decision.unseen[:1].tolist()


def _open_view(policy: Any) -> Any:
    from lostsales.data.reading.table import open_table
    from lostsales.policy.open_day import read_open_day

    today = pd.DataFrame({"series": ["product 0"], "period": [80], "stock": [3.0], "last_sales": [2.0]})
    return read_open_day(policy.problem, None, open_table(today), policy.usual_demand).view


@pytest.mark.parametrize("method", ["newsvendor", "behaviour"])
def test_rules_of_some_products_are_obeyed_where_series_differ(method: str, tmp_path: Path) -> None:
    log = shop(rules=BusinessRules(own=(OwnRules(where={"series": ("product 1",)}, multiple=7),)))
    policy: Any = lostsales.fit(log, method)
    assert isinstance(policy, InShopUnits)
    policy.save(tmp_path / "policy")
    today = pd.DataFrame({"series": ["product 1", "product 2"], "period": 80, "stock": 0.0})
    today = today.assign(penalty=1.0, purchase=3.0, shelf=0.1)
    orders = lostsales.load(tmp_path / "policy").recommend(None, today)["order"]
    assert orders[0] % 7 == 0 < orders[0]


def test_a_long_past_is_counted_in_time_that_grows_with_its_length() -> None:
    """Each closed period holds those before it; following all of them would take 2^60 steps."""
    ones = np.ones(2)
    past: tuple[ClosedPeriod, ...] = ()
    for period in range(60):
        stock = ones * 12 * period
        view = View(period, (), stock, stock, ones > 1, np.zeros(2, np.int16), None, past)
        past = (*past, ClosedPeriod(view, Action(ones, stock)))
    began = time.monotonic()
    opened = View(60, (), ones * 24, ones * 12, ones > 1, np.zeros(2, np.int16), None, past)
    counted = relative_view(opened, ones * 12, ones)
    assert time.monotonic() - began < 10
    assert counted.stock.tolist() == [2, 2]
    assert [each.view.stock[0] for each in counted.past] == list(range(60 - EARLIER_PERIODS, 60))
    assert [each.action.order[0] for each in counted.past] == list(range(60 - EARLIER_PERIODS, 60))
