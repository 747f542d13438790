"""Features of dates: across years and leap days, with known holidays."""

import numpy as np
import pytest

from lostsales.data.calendar.clock import DAY
from lostsales.data.calendar.dates import calendar_features, calendar_values
from lostsales.types import Array


def days(*texts: str) -> Array:
    return np.array(texts, dtype="datetime64[us]")


def test_weekdays_across_a_year_and_a_leap_day() -> None:
    week = np.arange("2023-12-31", "2024-03-02", dtype="datetime64[D]").astype("datetime64[us]")
    found = calendar_values("weekday", "weekday", week, DAY)
    assert found[0] == 6  # a Sunday
    assert found[week == np.datetime64("2024-02-29")] == 3  # a Thursday
    np.testing.assert_array_equal(np.diff(found) % 7, 1)


def test_months() -> None:
    assert calendar_values("month", "month", days("2023-12-31", "2024-01-01", "2024-02-29"), DAY).tolist() == [11, 0, 1]


def test_waves_come_back_after_a_year_of_any_length() -> None:
    starts = days("2023-01-01", "2024-01-01", "2025-01-01")
    np.testing.assert_allclose(calendar_values("year_sin_1", "week", starts, DAY), 0, atol=1e-12)
    np.testing.assert_allclose(calendar_values("year_cos_2", "week", starts, DAY), 1, atol=1e-12)
    middle = calendar_values("year_cos_1", "week", days("2024-07-02"), DAY)  # 183 of 366 days
    assert middle[0] == pytest.approx(-1, abs=1e-12)
    year = np.arange("2024-01-01", "2025-01-01", dtype="datetime64[D]").astype("datetime64[us]")
    assert abs(calendar_values("year_sin_1", "week", year, DAY).sum()) < 1e-9


def test_holidays_of_a_country_and_of_a_part_of_it() -> None:
    when = days("2024-07-04", "2024-12-25", "2025-01-01", "2025-01-06")
    assert calendar_values("holiday", "holidays:US", when, DAY).tolist() == [1, 1, 1, 0]
    assert calendar_values("holiday", "holidays:DE", when, DAY).tolist() == [0, 1, 1, 0]
    assert calendar_values("holiday", "holidays:DE-BY", when, DAY).tolist() == [0, 1, 1, 1]


def test_a_week_counts_its_holidays() -> None:
    weeks = days("2024-12-23", "2024-12-30")
    assert calendar_values("holiday", "holidays:DE", weeks, 7 * DAY).tolist() == [2, 1]


def test_local_midnight_in_universal_time_is_the_day_that_begins() -> None:
    summer_and_winter = days("2024-06-30T22:00", "2024-12-24T23:00")
    assert calendar_values("weekday", "weekday", summer_and_winter, DAY).tolist() == [0, 2]
    assert calendar_values("holiday", "holidays:DE", summer_and_winter, DAY).tolist() == [0, 1]


def test_two_countries_have_features_of_their_own() -> None:
    assert [each["name"] for each in calendar_features(("holidays:US", "holidays:CA"))] == ["holiday_US", "holiday_CA"]
