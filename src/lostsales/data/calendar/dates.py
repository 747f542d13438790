"""Features that follow from the date of a period: weekday, position in the year, month and public holidays."""

from functools import cache
from typing import Any

import numpy as np

from lostsales.data.calendar.clock import DAY, WEEKDAYS, weekday_of
from lostsales.errors import SettingError
from lostsales.types import Array, Bools, Floats, Ints

WEEKDAY, WEEK, MONTH, HOLIDAYS = "weekday", "week", "month", "holidays"
CALENDAR_WORDS = 'weekday, week, month, or "holidays:" and a country such as holidays:US or holidays:DE-BY'
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
WAVES = 2  # harmonics of the year with which demand may rise and fall
LONGEST_PERIOD = 31  # days of a period in which holidays are counted


def calendar_features(words: tuple[str, ...]) -> tuple[dict[str, Any], ...]:
    """Fields of the calendar features that the words name; an unknown word raises an error.

    >>> [each["name"] for each in calendar_features(("weekday", "week"))]
    ['weekday', 'year_sin_1', 'year_cos_1', 'year_sin_2', 'year_cos_2']
    """
    found: list[dict[str, Any]] = []
    for word in words:
        kind, _, country = word.partition(":")
        if word == WEEKDAY:
            found.append({"name": word, "kind": "categorical", "levels": WEEKDAYS, "calendar": word})
        elif word == MONTH:
            found.append({"name": word, "kind": "categorical", "levels": MONTHS, "calendar": word})
        elif word == WEEK:
            waves = [f"year_{wave}_{number + 1}" for number in range(WAVES) for wave in ("sin", "cos")]
            found += [{"name": name, "calendar": word} for name in waves]
        elif kind == HOLIDAYS and country:
            _check_country(country)
            name = "holiday" if sum(each.startswith(HOLIDAYS) for each in words) == 1 else f"holiday_{country}"
            found.append({"name": name, "calendar": word})
        else:
            raise ValueError(f"calendar may name {CALENDAR_WORDS}, but it names {word!r}")
    return tuple(found)


def calendar_values(name: str, word: str, period: Array, step: int) -> Floats:
    """Calendar feature at periods (rows,), datetime64; a period lasts `step` microseconds from its date on.

    For periods longer than a day, "holidays" counts the days; the weekday is that of the first day.
    """
    days = _days(period, step)
    if word == WEEKDAY:
        return weekday_of(days).astype(np.float64)
    if word == MONTH:
        return np.asarray(days.astype("datetime64[M]").astype(np.int64) % 12, dtype=np.float64)
    if word == WEEK:
        _, wave, number = name.split("_")
        angle = 2 * np.pi * int(number) * _share_of_year(days)
        return np.asarray(np.sin(angle) if wave == "sin" else np.cos(angle))
    length = int(np.clip(step // DAY, 1, LONGEST_PERIOD))
    unique, which = np.unique(days, return_inverse=True)
    is_holiday = sum(
        _are_holidays(word.partition(":")[2], unique + ahead).astype(np.float64) for ahead in range(length)
    )
    return np.asarray(is_holiday)[which]


def _days(period: Array, step: int) -> Array:
    """Day of each period; if periods last a day or more, local midnight in UTC is rounded to the nearest day."""
    moments = period.astype("datetime64[us]").astype(np.int64) + (DAY // 2 if step >= DAY else 0)
    return np.asarray((moments // DAY).astype("datetime64[D]"))


def _share_of_year(days: Array) -> Floats:
    """Fraction of the year that has passed, 0 on January 1; leap years are a day longer."""
    years = days.astype("datetime64[Y]")
    first, following = years.astype("datetime64[D]"), (years + 1).astype("datetime64[D]")
    return np.asarray((days - first).astype(np.float64) / (following - first).astype(np.float64))


def _are_holidays(country: str, days: Array) -> Bools:
    years = np.unique(days.astype("datetime64[Y]")).astype(np.int64) + 1970
    return np.isin(days.astype(np.int64), np.concatenate([_holidays(country, int(year)) for year in years]))


@cache
def _holidays(country: str, year: int) -> Ints:
    """Public holidays of a year as days since 1970."""
    found = sorted(_country(country)(years=year))
    return np.array(found, dtype="datetime64[D]").astype(np.int64)


def _check_country(country: str) -> None:
    try:
        _country(country)(years=2024)
    except NotImplementedError:
        raise ValueError(
            f"calendar names the holidays of {country!r}, which the package holidays does not know: give a country "
            "code such as US or DE, or a region such as DE-BY"
        ) from None


def _country(country: str) -> Any:
    """Calendar of a country or region in the package `holidays`."""
    try:
        from holidays import country_holidays
    except ImportError:
        raise SettingError("a calendar of holidays needs the package: pip install 'lostsales[calendar]'") from None
    code, _, part = country.partition("-")
    return lambda years: country_holidays(code, subdiv=part or None, years=years)
