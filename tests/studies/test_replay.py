"""The replayed shop of the case studies: balance, profit by hand, and every way from the same books."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import lostsales
from docs.studies.replay import Books, Shop, manager, play, profit, rows, today
from docs.studies.ways import Outcome, ours, usual_way


def shop_of(demand: list[list[float]], lead_time: int = 2) -> Shop:
    table = np.array(demand)
    count, length = table.shape
    return Shop(
        series=np.array([f"series {each}" for each in range(count)]),
        periods=np.datetime64("2026-01-05") + 7 * np.arange(length).astype("timedelta64[D]"),
        demand=table,
        is_known=np.ones(table.shape, dtype=bool),
        price=np.full(count, 3.0),
        order_cost=np.full(count, 1.0),
        lost_cost=np.full(count, 0.5),
        holding_cost=np.full(count, 0.2),
        lead_time=lead_time,
    )


def test_an_order_can_be_sold_after_its_lead_time_and_unmet_demand_is_lost() -> None:
    shop = shop_of([[4.0, 4.0, 4.0, 4.0]])
    books = play(shop, Books.opened(shop, np.array([6.0])), range(4), lambda _books, now: np.array([5.0 - now]))
    assert books.order.tolist() == [[5, 4, 3, 2]]
    assert books.stock.tolist() == [[6, 2, 5, 5]]  # 5 of the first order arrive in the third period, 4 in the fourth
    assert books.sales.tolist() == [[4, 2, 4, 4]]
    assert books.in_stock(shop).tolist() == [[True, False, True, True]]
    assert books.on_way(shop, 3).tolist() == [[3]]
    # (3 - 1) a unit sold, 0.5 a unit lost, 0.2 a unit left
    assert profit(shop, books).round(9).tolist() == [[8 - 0.4, 4 - 1, 8 - 0.2, 8 - 0.2]]


def test_books_before_a_window_are_those_of_the_manager_for_every_way() -> None:
    rng = np.random.default_rng(0)
    shop = shop_of(rng.poisson(5, (6, 30)).astype(float).tolist())
    books = play(shop, Books.opened(shop, np.full(6, 15.0)), range(30), manager(shop, 3.0, 8))
    other = play(shop, books, range(20, 30), lambda _books, _now: np.full(6, 9.0))
    for name in ("stock", "order", "sales"):
        np.testing.assert_array_equal(getattr(other, name)[:, :20], getattr(books, name)[:, :20])
    assert (other.order[:, 20:] == 9).all()
    log = lostsales.read_log(rows(shop, other, range(30)), shop.problem)
    assert log.notes.off_balance_rows == 0
    assert log.notes.balance_rows > 100


def test_a_policy_of_the_product_decides_from_the_books() -> None:
    rng = np.random.default_rng(1)
    promotion = rng.integers(0, 2, (4, 24)).astype(float)
    shop = replace(shop_of(rng.poisson(5, (4, 24)).astype(float).tolist()), features={"promotion": promotion})
    books = play(shop, Books.opened(shop, np.full(4, 15.0)), range(24), manager(shop, 3.0, 8))
    open_rows = today(shop, books, 20)
    assert len(open_rows) == 4 * 3  # the open week, and two in which promotions are announced
    assert open_rows["stock"].notna().sum() == open_rows["on_order_1"].notna().sum() == 4
    log = lostsales.read_log(rows(shop, books, range(20)), shop.problem)
    decide = ours(shop, lostsales.fit(log, "base-stock"))
    full = play(shop, books, range(20, 21), lambda _books, _now: np.full(4, 1_000.0))
    assert (decide(books, 20) >= 0).all()
    assert decide(full, 21).tolist() == [0, 0, 0, 0]  # a thousand on the way


def test_the_usual_way_orders_a_sure_demand_without_a_safety_stock() -> None:
    pytest.importorskip("statsforecast")
    from statsforecast.models import Naive

    shop = shop_of([[5.0] * 12, [2.0] * 12])
    books = play(shop, Books.opened(shop, np.array([50.0, 50.0])), range(12), lambda _books, _now: np.zeros(2))
    wanted = usual_way(shop, Naive())(books, 10)
    # three weeks are covered: until the order of the week after can be sold
    np.testing.assert_allclose(wanted, [3 * 5.0 - books.stock[0, 10], 3 * 2.0 - books.stock[1, 10]], atol=1e-6)


def test_differences_are_paired_by_series_and_unknown_demand_is_not_counted() -> None:
    shop = shop_of([[4.0, 4.0, 9.0], [1.0, 1.0, 1.0]], lead_time=1)
    shop = replace(shop, is_known=np.array([[True, True, False], [True, True, True]]))
    nothing, more = (_ordering(shop, units) for units in (0.0, 4.0))
    ways = {"statsforecast, none": [nothing], "lostsales, more": [more]}
    outcome = Outcome(shop, (range(1, 3),), ways)
    best, worst = outcome.rows()
    gaps = [np.mean((profit(shop, more) - profit(shop, nothing))[row, 1:][shop.is_known[row, 1:]]) for row in range(2)]
    assert (best.way, worst.way) == ("lostsales, more", "statsforecast, none")
    assert best.behind_best_usual == pytest.approx(np.mean(gaps))
    assert best.std_error == pytest.approx(abs(gaps[0] - gaps[1]) / 2)
    assert worst.std_error is None
    assert pd.isna(outcome.profits(best.way)[0, 1])


def _ordering(shop: Shop, units: float) -> Books:
    """The books of a shop that orders the same in every period."""
    count = len(shop.series)
    return play(shop, Books.opened(shop, np.full(count, 4.0)), range(3), lambda _books, _now: np.full(count, units))
