"""The open day, from hand-made tables of recent rows and today's."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from lostsales.data.calendar.clock import Clock
from lostsales.data.feature import Feature
from lostsales.data.problem import Problem
from lostsales.data.reading.gate import read_log
from lostsales.data.reading.table import open_table
from lostsales.errors import LogError
from lostsales.policy.open_day import (
    GAP,
    NO_HISTORY,
    NOTHING_KNOWN,
    ONLY_STOCKOUTS,
    UNSEEN_LEVEL,
    OpenDay,
    read_open_day,
)
from lostsales.policy.recent_rows import RecentRows
from lostsales.policy.view import EARLIER_PERIODS
from tests.tables import write_csv

USUAL = 7.5


def closed(series: Any, sales: list[float], stockouts: str, first: Any = 1, **more: Any) -> pd.DataFrame:
    """Rows of a series from the period `first`; in `stockouts` an x is a stock-out, and else two units are left."""
    hidden = [mark == "x" for mark in stockouts]
    return pd.DataFrame(
        {
            "series": series,
            "period": [first + step for step in range(len(sales))],
            "stock": [sold + (0 if out else 2) for sold, out in zip(sales, hidden, strict=True)],
            "price": [10.0 + step for step in range(len(sales))],
            "order": [1.0 + step for step in range(len(sales))],
            "sales": sales,
            "stockout": hidden,
        }
        | more
    )


def today(series: Any, period: Any = 5, **more: Any) -> pd.DataFrame:
    names = series if isinstance(series, list) else [series]
    return pd.DataFrame({"series": names, "period": period, "stock": 4.0} | more)


def read(recent: Any, now: Any, problem: Problem | None = None) -> OpenDay:
    problem = problem or Problem()
    rows = RecentRows.read(problem, open_table(recent)) if recent is not None and len(recent) else None
    return read_open_day(problem, rows, open_table(now), USUAL)


def flags_of(found: OpenDay) -> list[list[str]]:
    """The flags of each row."""
    rows = len(found.view.stock)
    return [[text for text, holds in found.flags.items() if holds[row]] for row in range(rows)]


def fault(recent: Any, now: Any, problem: Problem | None = None) -> str:
    """The only thing that is wrong."""
    with pytest.raises(LogError) as caught:
        read(recent, now, problem)
    (only,) = caught.value.findings
    return only


@pytest.mark.parametrize(
    ("stockouts", "depth", "anchor"),
    [("....", 0, 13), ("...x", 1, 12), ("..xx", 2, 11), (".xxx", 3, 10), ("xxx.", 0, 13), (".x.x", 1, 12)],
)
def test_depth_and_anchor_by_hand(stockouts: str, depth: int, anchor: float) -> None:
    found = read(closed("a", [10.0, 11.0, 12.0, 13.0], stockouts), today("a"))
    view = found.view
    assert flags_of(found) == [[]]
    assert view.depth.tolist() == [depth]
    assert view.last_stockout.tolist() == [depth > 0]
    assert view.last_sales.tolist() == [13]
    assert len(view.past) == depth + EARLIER_PERIODS
    past = view.past[-max(depth, 1) :]
    opened = past[0].view if depth else view  # the first period after the anchor
    assert opened.last_sales.tolist() == [anchor]
    kept = range(max(depth, 1))[::-1]  # the last period is kept for its price
    assert [float(each.action.price[0]) for each in past] == [13.0 - back for back in kept]
    assert [float(each.action.order[0]) for each in past] == [4.0 - back for back in kept]
    assert found.view.last_price.tolist() == [13]


@pytest.mark.parametrize(
    ("balance", "stock", "depth", "demand"),
    [("netted", 3.0, 0, 14.0), ("netted", 0.0, 1, 13.0), ("netted", 9.0, 1, 13.0), ("lost-sales", 3.0, 1, 13.0)],
)
def test_under_the_netted_balance_the_stock_of_today_gives_the_demand_back(
    balance: Any, stock: float, depth: int, demand: float
) -> None:
    """13 were there, 4 came, 3 are left: 14 were wanted. None left says nothing, more than came is no such balance."""
    recent = closed("a", [10.0, 11.0, 12.0, 13.0], "...x")
    found = read(recent, today("a", stock=stock), Problem(balance=balance)).view
    assert (found.depth.tolist(), found.last_sales.tolist()) == ([depth], [demand])
    assert found.last_stockout.tolist() == [depth > 0]


def test_the_sales_before_the_first_row_may_be_the_anchor() -> None:
    first = {"last_sales": [9.0, None], "last_stockout": [False, None]}
    found = read(closed("a", [3.0, 4.0], "xx", **first), today("a", 3))
    assert found.view.depth.tolist() == [2]
    assert found.view.past[0].view.last_sales.tolist() == [9]
    assert flags_of(found) == [[]]
    hidden = read(closed("a", [3.0, 4.0], "xx", **first | {"last_stockout": [True, None]}), today("a", 3))
    assert hidden.view.depth.tolist() == [2]
    assert hidden.view.past[-2].view.last_sales.tolist() == [9]  # at least 9 were wanted, more than usual
    assert flags_of(hidden) == [[ONLY_STOCKOUTS]]


@pytest.mark.parametrize(
    ("sales", "depth", "anchor"),
    [([0.0], 1, USUAL), ([2.0, 0.0, 0.0], 3, USUAL), ([3.0, 4.0], 2, USUAL), ([9.0, 8.0, 0.0], 3, 9.0)],
)
def test_where_all_recent_rows_are_stockouts_they_are_the_run(sales: list[float], depth: int, anchor: float) -> None:
    """The demand before a run is the usual one or the largest sales of the run; what was not there was not sold."""
    found = read(closed("a", sales, "x" * len(sales)), today("a", 1 + len(sales), stock=0.0))
    view = found.view
    assert flags_of(found) == [[ONLY_STOCKOUTS]]
    assert (view.depth.tolist(), view.last_stockout.tolist()) == ([depth], [True])
    assert len(view.past) == depth + EARLIER_PERIODS
    assert view.past[-depth].view.last_sales.tolist() == [anchor]
    shown = [float(each.view.last_sales[0]) for each in view.past[len(view.past) - depth + 1 :]]
    assert [*shown, *view.last_sales.tolist()] == sales
    assert [float(each.action.price[0]) for each in view.past[-depth:]] == [10.0 + step for step in range(depth)]


def test_an_older_row_with_known_demand_is_the_anchor_of_the_same_run() -> None:
    known = read(closed("a", [10.0, 2.0, 0.0, 0.0], ".xxx"), today("a", 5, stock=0.0)).view
    only = read(closed("a", [2.0, 0.0, 0.0], "xxx", first=2), today("a", 5, stock=0.0)).view
    assert known.depth.tolist() == only.depth.tolist() == [3]
    assert (known.past[-3].view.last_sales[0], only.past[-3].view.last_sales[0]) == (10.0, USUAL)


def test_without_a_flag_in_the_log_a_sell_out_hides_demand() -> None:
    recent = closed("a", [3.0, 4.0], ".x").drop(columns="stockout")
    assert read(recent, today("a", 3)).view.depth.tolist() == [1]


@pytest.mark.parametrize("recent", [None, closed("a", [], ""), pd.DataFrame()])
def test_day_one(recent: pd.DataFrame | None) -> None:
    found = read(recent, today(["a", "b", "c"], last_sales=[3.0, None, 2.0], last_stockout=[False, None, True]))
    assert flags_of(found) == [[], [NOTHING_KNOWN], [NO_HISTORY]]
    assert found.view.last_sales.tolist() == [3, USUAL, 2]
    assert found.view.depth.tolist() == [0, 0, 0]
    assert np.isnan(found.view.last_price).all()
    assert flags_of(read(recent, today("a"))) == [[NOTHING_KNOWN]]


def test_many_series_in_the_order_of_today() -> None:
    recent = pd.concat([closed("a", [1.0, 2.0], ".x"), closed("b", [3.0, 4.0], ".."), closed("c", [5.0, 6.0], "xx")])
    found = read(recent.sample(frac=1, random_state=1), today(["c", "new", "a", "b"], 3, stock=[1.0, 2.0, 3.0, 4.0]))
    assert found.keys["series"].tolist() == ["c", "new", "a", "b"]
    assert found.view.stock.tolist() == [1, 2, 3, 4]
    assert found.view.depth.tolist() == [2, 0, 1, 0]
    assert found.view.last_sales.tolist() == [6, USUAL, 2, 4]
    assert flags_of(found) == [[ONLY_STOCKOUTS], [NOTHING_KNOWN], [], []]
    np.testing.assert_array_equal(found.view.last_price, [11, np.nan, 11, 11])


def test_a_hole_before_today_is_flagged() -> None:
    recent = pd.concat([closed("a", [1.0, 2.0], ".x"), closed("b", [3.0, 4.0], "..", first=2)])
    found = read(recent, today(["a", "b"], 4, last_sales=[None, 1.0]))
    assert flags_of(found) == [[GAP, NOTHING_KNOWN], []]
    assert found.view.last_sales.tolist() == [USUAL, 4]
    single = pd.concat([closed("a", [1.0], "."), closed("b", [3.0], ".", first=3)])
    assert flags_of(read(single, today(["a", "b"], 4))) == [[GAP, NOTHING_KNOWN], []]


def test_only_what_follows_the_last_hole_in_recent_counts() -> None:
    recent = pd.concat([closed("a", [1.0, 2.0], ".."), closed("a", [3.0, 4.0], "xx", first=5)])
    found = read(recent, today("a", 7))
    assert flags_of(found) == [[ONLY_STOCKOUTS]]
    assert found.view.depth.tolist() == [2]


def closed_on_sundays(names: str, count: int, also: tuple[str, ...] = ()) -> pd.DataFrame:
    """Rows from Monday 2024-01-01 on; two units are left in each row, and what was sold is ordered again."""
    days = [
        day for day in pd.date_range("2024-01-01", periods=count) if day.day_of_week < 6 and str(day.date()) not in also
    ]
    sales = [float(3 + step % 4) for step in range(len(days))]
    parts = [closed(name, sales, "." * len(days)).assign(period=days) for name in names]
    rows = pd.concat(parts, ignore_index=True)
    return rows.assign(stock=10.0, order=rows.sales)


def clock_of(log_rows: pd.DataFrame, **keys: Any) -> Problem:
    """The problem of a log, with the calendars that were found in it."""
    return read_log(log_rows, Problem(clock=Clock(**keys))).problem


def test_monday_follows_saturday_where_sundays_are_closed() -> None:
    problem = clock_of(closed_on_sundays("ab", 41))
    saturday = closed_on_sundays("ab", 41).groupby("series").tail(1)
    assert saturday.period.unique()[0].day_name() == "Saturday"
    for day, flags in ((11, []), (12, []), (13, [GAP, NOTHING_KNOWN])):  # also open on a Sunday, for once
        now = today(["a", "b"], pd.Timestamp(2024, 2, day))
        assert flags_of(read(saturday, now, problem)) == [flags] * 2


def test_recent_rows_of_two_weeks_show_sundays_that_the_policy_does_not_know() -> None:
    now = today("a", pd.Timestamp("2024-01-22"))
    assert flags_of(read(closed_on_sundays("a", 20), now)) == [[]]
    assert flags_of(read(closed_on_sundays("a", 20).tail(6), now)) == [[GAP, NOTHING_KNOWN]]


def test_a_holiday_before_today_shows_in_the_stock_of_all_series() -> None:
    problem = clock_of(closed_on_sundays("abc", 41))
    recent = closed_on_sundays("abc", 41).groupby("series").tail(8)
    tuesday = today(["a", "b", "c"], pd.Timestamp("2024-02-13"), stock=10.0)  # as the last rows left it
    assert flags_of(read(recent, tuesday, problem)) == [[]] * 3
    moved = tuesday.assign(stock=[10.0, 7.0, 8.0])  # Monday's rows did not come in
    assert flags_of(read(recent, moved, problem)) == [[GAP, NOTHING_KNOWN]] * 3
    alone = tuesday[tuesday.series == "a"]
    assert flags_of(read(recent[recent.series == "a"], alone, problem)) == [[GAP, NOTHING_KNOWN]]


def test_holidays_of_the_log_and_given_ones_are_known_in_recent_rows() -> None:
    table = closed_on_sundays("abc", 60, also=("2024-02-07", "2024-02-12"))
    problem = clock_of(table, closed=["learn", "2024-03-05"])
    recent = table[(table.series == "a") & (table.period >= "2024-02-05")]
    assert (read_log(recent, problem).notes.holes, read_log(recent).notes.holes) == (0, 2)  # alone it cannot tell
    until_monday = closed_on_sundays("a", 64).tail(3)
    wednesday = today("a", pd.Timestamp("2024-03-06"))
    assert flags_of(read(until_monday, wednesday, problem)) == [[]]
    assert flags_of(read(until_monday, wednesday, clock_of(table))) == [[GAP, NOTHING_KNOWN]]


def test_today_must_be_open_by_the_clock() -> None:
    problem = clock_of(closed_on_sundays("ab", 41), closed=["Sunday"])
    now = today("a", pd.Timestamp("2024-02-11"))
    assert fault(None, now, problem).startswith(
        "the period of a row must not be one that [clock] gives as closed, but row 0 (series=a, period=2024-02-11) is "
        "of Sunday 2024-02-11"
    )


@pytest.mark.parametrize("numbered", [True, False])
def test_series_as_numbers_or_text_and_periods_as_dates(numbered: bool) -> None:
    day = pd.Timestamp("2026-03-01")
    dates = closed(17, [1.0, 2.0], ".x").assign(period=[day, day + pd.Timedelta(days=1)])
    now = today(17 if numbered else "17", day + pd.Timedelta(days=2))
    found = read(dates, now)
    assert found.view.depth.tolist() == [1]
    assert flags_of(found) == [[]]
    assert found.keys["series"].tolist() == [17 if numbered else "17"]  # as it came
    late = read(dates, now.assign(period=day + pd.Timedelta(days=3)))
    assert flags_of(late) == [[GAP, NOTHING_KNOWN]]


def test_several_columns_may_name_a_series() -> None:
    problem = Problem.model_validate({"columns": {"series": ("shop", "sku"), "period": "day"}})
    recent = closed("x", [1.0, 2.0], ".x").rename(columns={"series": "sku", "period": "day"}).assign(shop=1)
    now = pd.DataFrame({"shop": [2, 1], "sku": "x", "day": 3, "stock": 1.0})
    found = read(recent, now, problem)
    assert flags_of(found) == [[NOTHING_KNOWN], []]
    assert {name: values.tolist() for name, values in found.keys.items()} == {
        "shop": [2, 1],
        "sku": ["x", "x"],
        "day": [3, 3],
    }


def test_an_unseen_level_is_a_flag_and_its_spelling_does_not_matter(tmp_path: Any) -> None:
    season = Feature(name="season", kind="categorical", levels=("low", "high"))
    promotion = Feature(name="promotion", kind="categorical", levels=(0, 1))
    problem = Problem(features=(season, promotion))
    path = write_csv(
        tmp_path / "today.csv",
        {
            "series": ["a", "b", "c"],
            "period": [1, 1, 1],
            "stock": [1, 1, 1],
            "season": ["high", "summer", "low"],
            "promotion": ["1.0", "0", "2"],
        },
    )
    found = read(None, path, problem)
    assert [UNSEEN_LEVEL in flags for flags in flags_of(found)] == [False, True, True]
    assert [each.tolist() for each in found.view.features] == [[1, -1, 0], [1, 0, -1]]
    absent = today(["a", "b"], season=["low", None], promotion=1)
    assert fault(None, absent, problem) == "season must be present, but row 1 (series=b, period=5) has none"


def test_a_recent_price_that_the_policy_never_saw_is_a_fact() -> None:
    problem = Problem(prices=(2.0, 4.0), orders=(0.0, 1.0))
    assert read(closed("a", [1.0, 2.0], ".x"), today("a", 3), problem).view.last_price.tolist() == [11]


def test_columns_that_nobody_asked_for_are_ignored() -> None:
    found = read(closed("a", [1.0], ".", mood="fine"), today("a", 2, mood=None, price=-3.0, sales="none"))
    assert flags_of(found) == [[]]


@pytest.mark.parametrize(
    ("now", "reason"),
    [
        (today(["a", "b"], stock=[1.0, np.nan]), r"stock must be present, but row 1 (series=b, period=5) has none"),
        (today(["a", "b"], stock=[1.0, -2.0]), "stock must not be negative, but row 1 (series=b, period=5) has -2"),
        (today(["a", "b"], stock=["much", 1]), "stock must be a number, but row 0 (series=a, period=5) has 'much'"),
        (today(["a", "b"], stock=[1.0, 31.0]), "stock must fit the capacity 30, but row 1 (series=b, period=5) has 31"),
        (
            today(["a", "b", "a"]),
            "today must have one row a series, but row 0 (series=a, period=5) is one of several; "
            "row 2 (series=a, period=5) is one of several",
        ),
        (today(["a", None]), "series must be present, but row 1 has none"),
        (today("a", 1.5), "period must be a whole number or a date such as 2026-03-01, but row 0 (series=a) has 1.5"),
        (today("a", last_sales=[-1.0]), "last_sales must not be negative, but row 0 (series=a, period=5) has -1"),
        (today("a").drop(columns="stock"), "missing column 'stock'; the table has 'series', 'period'"),
        (today("a", 4), "today must come after every recent row, but row 0 (series=a, period=4) follows 4"),
        (today("a", pd.Timestamp("2026-03-01")), "periods must be whole numbers as in recent, but today has dates"),
    ],
)
def test_mistakes_in_today_are_named(now: pd.DataFrame, reason: str) -> None:
    recent = closed("a", [1.0, 2.0, 3.0, 4.0], "....")
    assert fault(recent, now, Problem(capacity=30)) == reason


def test_both_tables_are_called_by_their_names() -> None:
    with pytest.raises(LogError, match=r"^today \(the table\) is not"):
        read(None, today("a", stock=np.nan))
    with pytest.raises(LogError, match=r"^recent \(the table\) is not(.|\n)*sales must not exceed"):
        read(closed("a", [9.0], ".", stock=3.0), today("a"))
    problem = Problem(features=(Feature(name="economy"),))
    assert fault(None, today("a"), problem).startswith("missing column 'economy'; the table has 'series'")
