"""Closings in words."""

from dataclasses import dataclass

import numpy as np

from lostsales.data.calendar.clock import WEEKDAYS, Calendars, ClosedPeriods
from lostsales.data.calendar.periods import DAY, WEEK_DAYS, PeriodGrid
from lostsales.data.labels import spelled
from lostsales.types import Array

MOST_SHOWN = 5  # calendars listed before "and N further calendars"


@dataclass(frozen=True)
class Closings:
    """Closings that some series share."""

    series: int  # how many share it
    example: str  # one of them
    every: tuple[str, ...]  # days that are closed every week
    also: tuple[str, ...]  # further closed periods, each by its date or number
    words: str


def closings(calendars: Calendars, names: Array) -> tuple[Closings, ...]:
    """Closings of all series in words, the most frequent first; empty if nothing is closed."""
    if not calendars.closed:
        return ()
    different = np.unique(names.astype(str))
    ids = calendars.ids(different.tolist())
    grid = PeriodGrid(calendars.is_dated, calendars.step, calendars.anchor, calendars.week)
    found = []
    for place, each in enumerate(calendars.closed):
        own = different[ids == place]
        if len(own):
            every, parts = _every(each, grid)
            also = tuple(spelled(day) for day in _shown_periods(each, grid))
            found.append(Closings(len(own), str(own[0]), every, also, _words(every, parts, len(also), grid)))
    return tuple(sorted(found, key=lambda each: -each.series))


def closing_lines(found: tuple[Closings, ...]) -> list[str]:
    """One line per calendar, with its series if there are several calendars."""
    if len(found) < 2:
        return [each.words for each in found]
    lines = [f"{each.words}: {each.series:,} series, such as {each.example}" for each in found[:MOST_SHOWN]]
    return [*lines, *([f"and {len(found) - MOST_SHOWN:,} further calendars"] if len(found) > MOST_SHOWN else [])]


def _every(closed: ClosedPeriods, grid: PeriodGrid) -> tuple[tuple[str, ...], int]:
    """Days that are closed every week, and the number of closed periods on other weekdays."""
    if not grid.is_dated:
        return ("7th period",) * len(closed.weekly), 0
    counts = np.bincount(grid.weekday(np.array(closed.weekly, dtype=np.int64)), minlength=WEEK_DAYS)
    whole = counts == max(grid.week // WEEK_DAYS, 1)
    return tuple(np.array(WEEKDAYS)[whole].tolist()), int(counts[~whole].sum())


def _shown_periods(closed: ClosedPeriods, grid: PeriodGrid) -> Array:
    periods = grid.period(np.array(closed.single, dtype=np.int64))
    # A local midnight in universal time is shown as the day that it begins.
    return (periods + np.timedelta64(DAY // 2, "us")).astype("datetime64[D]") if grid.step == DAY else periods


def _words(every: tuple[str, ...], parts: int, also: int, grid: PeriodGrid) -> str:
    unit = "day" if grid.is_dated and grid.step == DAY else "period"
    weekdays = " and ".join(filter(None, (", ".join(every[:-1]), *every[-1:])))
    phrases = [
        f"every {weekdays}" if every else "",
        f"in {parts:,} of the {grid.week:,} periods of a week" if parts else "",
        f"on {also:,} {'other ' if every or parts else ''}{unit}{'s' if also > 1 else ''}" if also else "",
    ]
    return " and ".join(filter(None, phrases)) or "never"
