"""Calendars of openings in words."""

from dataclasses import dataclass

import numpy as np

from lostsales.data.calendar.clock import WEEKDAYS, Calendars, ClosedPeriods
from lostsales.data.calendar.grid import DAY, WEEK_DAYS, PeriodGrid
from lostsales.data.labels import spelled
from lostsales.types import Array

MOST_SHOWN = 5


@dataclass(frozen=True)
class Closings:
    """When some series are closed."""

    series: int  # how many share it
    example: str  # one of them
    every: tuple[str, ...]  # what is closed every week
    also: tuple[str, ...]  # further closed periods, each by its date or number
    words: str


def closings(calendars: Calendars, names: Array) -> tuple[Closings, ...]:
    """The calendars of series in words, the commonest first; none where nothing is closed."""
    if not calendars.closed:
        return ()
    different = np.unique(names.astype(str))
    ids = calendars.ids(different.tolist())
    grid = PeriodGrid(calendars.is_dated, calendars.step, calendars.anchor, calendars.week)
    found = []
    for place, each in enumerate(calendars.closed):
        own = different[ids == place]
        if len(own):
            every = _every(each, grid)
            also = tuple(spelled(day) for day in _shown_periods(each, grid))
            found.append(Closings(len(own), str(own[0]), every, also, _words(every, len(also), grid)))
    return tuple(sorted(found, key=lambda each: -each.series))


def closing_lines(found: tuple[Closings, ...]) -> list[str]:
    """A line a calendar; who it belongs to where there are several."""
    if len(found) < 2:
        return [each.words for each in found]
    lines = [f"{each.words}: {each.series:,} series, such as {each.example}" for each in found[:MOST_SHOWN]]
    return [*lines, *([f"and {len(found) - MOST_SHOWN:,} further calendars"] if len(found) > MOST_SHOWN else [])]


def _every(closed: ClosedPeriods, grid: PeriodGrid) -> tuple[str, ...]:
    if not grid.is_dated:
        return tuple("7th period" for _ in closed.weekly)
    per_day = grid.week // WEEK_DAYS if grid.week else 1
    weekday = grid.weekday(np.array(closed.weekly, dtype=np.int64))
    counts = np.bincount(weekday, minlength=WEEK_DAYS)
    days = tuple(name for name, count in zip(WEEKDAYS, counts.tolist(), strict=True) if count == per_day)
    parts = int(counts[counts < per_day].sum())
    return (*days, *((f"week in {parts:,} of {grid.week:,} periods",) if parts else ()))


def _shown_periods(closed: ClosedPeriods, grid: PeriodGrid) -> Array:
    periods = grid.period(np.array(closed.single, dtype=np.int64))
    # A local midnight in universal time is shown as the day that it begins.
    return (periods + np.timedelta64(DAY // 2, "us")).astype("datetime64[D]") if grid.step == DAY else periods


def _words(every: tuple[str, ...], also: int, grid: PeriodGrid) -> str:
    unit = "day" if grid.is_dated and grid.step == DAY else "period"
    days = f"on {also:,} {'other ' if every else ''}{unit}{'s' if also > 1 else ''}" if also else ""
    weekly = f"every {' and '.join((', '.join(every[:-1]), every[-1]) if every[1:] else every)}" if every else ""
    return " and ".join(filter(None, (weekly, days))) or "never"
