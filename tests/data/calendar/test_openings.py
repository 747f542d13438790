"""Closings that are learned: weekdays, holidays, stores that differ; and holes that remain."""

import time
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import pytest

from lostsales.data.calendar.clock import Calendars, Clock
from lostsales.data.calendar.openings import ClockRows, find_openings
from lostsales.data.describe import describe
from lostsales.data.log import SalesLog
from lostsales.data.problem import Columns, Problem
from lostsales.data.reading.gate import read_log
from tests.data.calendar.shops import FIRST, PROBLEM, days, on_weekdays, products, shop

SUNDAY = 6


def parts(log: SalesLog) -> dict[str, int]:
    """Number of parts that each series fell into, where it is more than one."""
    names, counts = np.unique(log.names.astype(str), return_counts=True)
    return {name: count for name, count in zip(names.tolist(), counts.tolist(), strict=True) if count > 1}


def closed(log: SalesLog) -> dict[str, str]:
    """Closings in words, by an example of the series."""
    return {each.example: each.words for each in describe(log).closed}


def without(table: pd.DataFrame, name: str, first: str, last: str) -> pd.DataFrame:
    gone = (table.series == name) & (table.period >= first) & (table.period <= last)
    assert gone.any()
    return table[~gone]


def test_closed_sundays_are_no_holes() -> None:
    log = read_log(shop(days(365, on_weekdays(SUNDAY)), products(8)), PROBLEM)
    assert (len(log.names), log.notes.holes) == (8, 0)
    assert closed(log) == {"0": "every Sunday"}


def test_one_series_alone_shows_its_sundays_after_two_weeks() -> None:
    table = shop(days(20, on_weekdays(SUNDAY)), "a")
    assert parts(read_log(table, PROBLEM)) == {}
    assert parts(read_log(table[table.period < "2024-01-14"], PROBLEM)) == {"a": 2}  # one Sunday may be a hole


def test_an_isolated_missing_day_of_one_series_is_a_hole() -> None:
    table = shop(days(90, on_weekdays(SUNDAY)), "abc")
    log = read_log(without(table, "b", "2024-02-07", "2024-02-07"), PROBLEM)
    assert parts(log) == {"b": 2}
    assert describe(log).holes == ("b between 2024-02-06 and 2024-02-08",)
    alone = read_log(without(table[table.series == "b"], "b", "2024-02-07", "2024-02-07"), PROBLEM)
    assert parts(alone) == {"b": 2}


def test_three_weeks_out_of_the_assortment_are_a_hole() -> None:
    log = read_log(without(shop(days(200, on_weekdays(SUNDAY)), "abc"), "b", "2024-03-04", "2024-03-23"), PROBLEM)
    assert parts(log) == {"b": 2}
    assert closed(log) == {"a": "every Sunday"}


HOLIDAYS = ("2024-12-25", "2024-12-26", "2025-01-01", "2025-04-18", "2025-04-21")


def test_holidays_across_a_year_end_are_closed_where_all_series_lack_them() -> None:
    opening = days(300, on_weekdays(SUNDAY, also=HOLIDAYS), date(2024, 10, 1))
    log = read_log(shop(opening, "abc"), PROBLEM)
    assert parts(log) == {}
    assert closed(log) == {"a": "every Sunday and on 5 other days"}
    assert describe(log).closed[0].also == HOLIDAYS
    alone = read_log(shop(opening, "a"), PROBLEM)  # nobody else says that it was a holiday
    assert parts(alone) == {"a": 5}


def test_a_series_that_opened_on_one_sunday_keeps_its_clock() -> None:
    opening = days(365, on_weekdays(SUNDAY, but=["2024-12-22"]))
    log = read_log(shop(opening, "a"), PROBLEM)
    assert parts(log) == {}
    assert len(log) == len(opening)
    table = shop(opening, "abc")
    table = without(table, "c", "2024-12-22", "2024-12-22")  # not every product was sold on it
    assert parts(read_log(table, PROBLEM)) == {}


def test_stores_have_their_own_weekdays_and_holidays() -> None:
    clocks = {
        "north / ": on_weekdays(SUNDAY, also=["2024-05-01", "2024-08-15"]),
        "south / ": on_weekdays(0, also=["2024-05-01"]),
        "west / ": on_weekdays(SUNDAY, also=["2024-05-01", "2024-10-31"]),
        "east / ": on_weekdays(),
    }
    tables = [shop(days(366, is_open), products(3, store)) for store, is_open in clocks.items()]
    table = pd.concat(tables, ignore_index=True)
    table[["store", "product"]] = table.series.str.split(" / ", expand=True)
    expected = {
        "north / 0": "every Sunday and on 2 other days",
        "west / 0": "every Sunday and on 2 other days",
        "south / 0": "every Monday and on 1 other day",
        "east / 0": "never",
    }
    by_parts = read_log(table, PROBLEM.model_copy(update={"columns": Columns(series=("store", "product"))}))
    by_attribute = read_log(table, PROBLEM.model_copy(update={"attributes": ("store",)}))
    for log in (by_parts, by_attribute):
        assert parts(log) == {}
        assert closed(log) == expected
    hole = read_log(without(table, "east / 1", "2024-06-09", "2024-06-09"), by_attribute.problem)
    assert parts(hole) == {"east / 1": 2}  # a Sunday, on which its store is open
    nameless = read_log(table, PROBLEM)
    assert set(parts(nameless)) == {
        *products(3, "north / "),
        *products(3, "west / "),
    }  # nothing says who shares a store


def test_a_store_that_was_rebuilt_for_three_weeks_is_split() -> None:
    rebuilt = [f"2024-06-{day:02}" for day in range(3, 24)]
    kept = shop(days(200, on_weekdays(SUNDAY)), products(3, "a"))
    built = shop(days(200, on_weekdays(SUNDAY, also=rebuilt)), products(3, "b"))
    log = read_log(pd.concat([kept, built]), PROBLEM)
    assert parts(log) == {"b0": 2, "b1": 2, "b2": 2}
    assert parts(read_log(built, PROBLEM)) == {"b0": 2, "b1": 2, "b2": 2}


def test_a_product_that_is_out_of_all_stores_is_not_closed() -> None:
    table = shop(days(100, on_weekdays(SUNDAY)), [f"{store} / {item}" for store in "abc" for item in "xyz"])
    table[["store", "product"]] = table.series.str.split(" / ", expand=True)
    out = (table["product"] == "y") & (table.period >= "2024-02-05") & (table.period <= "2024-02-15")
    problem = PROBLEM.model_copy(update={"columns": Columns(series=("store", "product"))})
    demand_only = table[~out].drop(columns=["stock", "order"]).assign(stockout=False)  # no stock that could tell
    assert parts(read_log(demand_only, problem)) == {"a / y": 2, "b / y": 2, "c / y": 2}


def test_two_products_show_a_holiday_beside_a_hole_of_one() -> None:
    table = shop(days(60, on_weekdays(SUNDAY, also=["2024-02-14"])), "ab")
    log = read_log(without(table, "b", "2024-01-16", "2024-01-18"), PROBLEM)
    assert parts(log) == {"b": 2}
    assert closed(log) == {"a": "every Sunday and on 1 other day"}


def test_over_a_longer_closing_the_stock_must_follow() -> None:
    week = [f"2024-06-{day:02}" for day in range(3, 9)]
    closed_week = shop(days(200, on_weekdays(SUNDAY, also=week)), "abc")
    assert parts(read_log(closed_week, PROBLEM)) == {}
    lost_rows = shop(days(200, on_weekdays(SUNDAY)), "abc")
    lost_rows = lost_rows[~lost_rows.period.isin(pd.to_datetime(week))]  # sold, but not recorded
    assert parts(read_log(lost_rows, PROBLEM)) == {"a": 2, "b": 2, "c": 2}


def test_a_table_of_sold_items_alone_has_no_closings() -> None:
    table = shop(days(365, on_weekdays()), products(4))
    sold = table[np.random.default_rng(1).random(len(table)) < 0.6]  # no rows of days without sales
    log = read_log(sold, PROBLEM)
    assert log.problem.clock.calendars == Calendars()
    gaps = sold.groupby("series").period.diff() > pd.Timedelta(days=1)
    assert log.notes.holes == gaps.sum() > 300


def test_every_seventh_whole_period_may_be_closed() -> None:
    open_periods = [period for period in range(100) if period % 7 != 3]
    log = read_log(shop(range(len(open_periods)), "ab").assign(period=open_periods * 2), PROBLEM)
    assert parts(log) == {}
    assert closed(log) == {"a": "every 7th period"}


def test_hours_of_opening_are_a_weekly_clock() -> None:
    hours = pd.date_range("2024-01-01", periods=24 * 28, freq="h")
    opening = hours[(hours.hour >= 8) & (hours.hour < 20) & (hours.day_of_week < SUNDAY)]
    log = read_log(shop(range(len(opening)), "a").assign(period=opening), PROBLEM)
    assert parts(log) == {}
    assert closed(log) == {"a": "every Sunday and in 72 of the 168 periods of a week"}


def test_local_days_in_universal_time_have_weekdays() -> None:
    local = pd.date_range("2024-01-01", periods=300, freq="D", tz="Europe/Berlin")
    log = read_log(shop(range(258), "a").assign(period=local[local.day_of_week < SUNDAY]), PROBLEM)
    assert closed(log) == {"a": "every Sunday"}


@pytest.mark.parametrize(("frequency", "holes"), [("MS", 2), ("7D", 0), ("14D", 2)])
def test_a_week_may_be_closed_but_no_month(frequency: str, holes: int) -> None:
    periods = pd.date_range("2020-01-01", periods=40, freq=frequency).delete(20)
    log = read_log(shop(range(39), "ab").assign(period=[*periods, *periods]), PROBLEM)
    assert log.notes.holes == holes


def test_a_day_of_the_week_is_missing_on_three_open_days_a_week() -> None:
    opening = days(120, on_weekdays(1, 3, 5, 6))
    table = shop(opening, "a")
    assert closed(read_log(without(table, "a", "2024-02-07", "2024-02-07"), PROBLEM)) == {
        "a": "every Tuesday, Thursday, Saturday and Sunday"
    }
    assert parts(read_log(without(table, "a", "2024-02-07", "2024-02-07"), PROBLEM)) == {"a": 2}
    assert parts(read_log(table, PROBLEM)) == {}


def test_none_makes_every_missing_period_a_hole() -> None:
    table = shop(days(28, on_weekdays(SUNDAY)), "ab")
    log = read_log(table, PROBLEM.model_copy(update={"clock": Clock(closed="none")}))
    assert parts(log) == {"a": 4, "b": 4}


def test_a_million_rows_take_about_a_second() -> None:
    n_series, n_days = 1_000, 1_200
    is_open = np.arange(n_days) % 7 != 6
    shut = np.random.default_rng(0).random((10, n_days)) < 0.02
    store = np.arange(n_series) % 10
    series, day = np.nonzero(is_open & ~shut[store])
    period = np.datetime64("2020-01-06", "us") + day * np.timedelta64(1, "D")
    columns: dict[str, Any] = {"store": (store, np.arange(10).astype(str))}
    rows = ClockRows(series, [str(each) for each in range(n_series)], period, columns)
    began = time.perf_counter()
    found = find_openings(Clock(), rows)
    assert time.perf_counter() - began < 3  # 0.4 s on a free machine
    assert not found.is_hole.any()
    assert len(found.calendars.closed) == 10


@pytest.mark.parametrize("periods", ["receipts", "far apart"])
def test_periods_that_lie_far_apart_cost_no_more_than_others(periods: str) -> None:
    rng = np.random.default_rng(3)
    if periods == "receipts":
        moments = np.unique(rng.integers(0, 500_000, 2_000))
        period = np.datetime64("2024-01-01", "us") + moments * np.timedelta64(1, "m")
    else:
        period = np.r_[1:60:1, 2**52 : 2**52 + 60, 2**52 + 62 : 2**52 + 100]
    names = ["a", "b"]
    rows = ClockRows(
        np.repeat([0, 1], len(period)), names, np.r_[period, period], {"x": (np.arange(2), np.array(names))}
    )
    began = time.perf_counter()
    found = find_openings(Clock(), rows)
    assert time.perf_counter() - began < 1
    steps = np.diff(period).astype(np.int64)
    assert np.count_nonzero(found.is_hole) == 2 * np.count_nonzero(steps > 1.5 * steps.min())


def test_the_calendars_of_a_log_are_not_written_to_its_problem_file() -> None:
    log = read_log(shop(days(60, on_weekdays(SUNDAY)), "ab"), PROBLEM)
    assert log.problem != PROBLEM
    assert log.problem.to_toml() == PROBLEM.to_toml()
    assert log.problem.clock.calendars.closed[0].weekly == ((6 - FIRST.weekday()) % 7,)
    assert Problem.model_validate_json(log.problem.model_dump_json()) == log.problem
