"""What today's tables say of the next period: the calendar by itself, announced features by rows of later periods."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from lostsales.data.problem import Problem
from lostsales.data.reading.gate import read_log
from lostsales.data.reading.table import open_table
from lostsales.errors import LogError
from lostsales.policy.open_day import OpenDay, read_open_day

CLOSED: Any = {"closed": ["Sunday"]}


def problem_of_a_log() -> Problem:
    """With the clock that reading a log found: days, closed on Sundays."""
    days = pd.date_range("2026-03-02", periods=40)
    days = days[days.day_of_week != 6]
    frame = pd.DataFrame({"series": "a", "period": days, "stock": 5, "price": 2.0, "order": 1, "sales": 1, "promo": 0})
    return read_log(frame, Problem(features=["promo"], calendar=["weekday", "holidays:DE"], clock=CLOSED)).problem


def today(rows: list[tuple[str, str, float | None, float]]) -> OpenDay:
    frame = pd.DataFrame(rows, columns=["series", "period", "stock", "promo"])
    return read_open_day(problem_of_a_log(), None, open_table(frame), 1.0)


def test_the_calendar_of_the_next_open_day_is_known() -> None:
    found = today([("a", "2026-04-02", 3.0, 0.0), ("b", "2026-04-04", 3.0, 1.0)])  # Thursday and Saturday before Easter
    promo, weekday, holiday = found.view.features
    assert (promo.tolist(), weekday.tolist(), holiday.tolist()) == ([0, 1], [3, 5], [0, 0])
    assert found.view.coming is not None
    promo, weekday, holiday = found.view.coming
    assert np.isnan(promo).all()
    assert weekday.tolist() == [4, 0]  # Good Friday, and Easter Monday after a closed Sunday
    assert holiday.tolist() == [1, 1]


def test_rows_of_later_periods_announce_features_and_are_not_decided_for() -> None:
    rows = [("a", "2026-04-07", 3.0, 0.0), ("a", "2026-04-09", None, 0.0), ("a", "2026-04-08", None, 1.0)]
    found = today([*rows, ("b", "2026-04-07", 2.0, 0.0)])
    assert found.keys["series"].tolist() == ["a", "b"]
    assert found.view.stock.tolist() == [3, 2]
    assert found.view.coming is not None
    promo, weekday, _ = found.view.coming
    assert promo[0] == 1
    assert np.isnan(promo[1])
    assert weekday.tolist() == [2, 2]


def test_two_rows_of_one_period_are_refused() -> None:
    with pytest.raises(LogError, match="today must have one row a series, but row 0"):
        today([("a", "2026-04-07", 3.0, 0.0), ("a", "2026-04-07", 3.0, 0.0)])
    with pytest.raises(LogError, match="one row a series and period, but row 2"):
        today([("a", "2026-04-07", 3.0, 0.0), ("a", "2026-04-08", 3.0, 0.0), ("a", "2026-04-08", 3.0, 0.0)])


def test_a_bad_feature_of_a_later_row_is_named() -> None:
    with pytest.raises(LogError, match="promo must be present, but row 1"):
        today([("a", "2026-04-07", 3.0, 0.0), ("a", "2026-04-08", 3.0, np.nan)])


def test_periods_that_are_no_dates_are_refused() -> None:
    frame = pd.DataFrame({"series": ["a"], "period": [7], "stock": [1.0], "promo": [0.0]})
    with pytest.raises(LogError, match="period must be dates"):
        read_open_day(problem_of_a_log(), None, open_table(frame), 1.0)
