"""Closed periods of many series as arrays for look-up."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np

from lostsales.data.calendar.clock import LEARN, WEEKDAYS, ClosedPeriods
from lostsales.data.calendar.grid import DAY, PeriodGrid
from lostsales.types import Bools, Ints


@dataclass(frozen=True, eq=False)
class ClosedTable:
    """Closed periods of calendars."""

    weekly: Bools  # (calendars, week) positions within a week
    calendar: Ints  # (single closings,)
    position: Ints  # (single closings,)

    @classmethod
    def of(cls, closed: Sequence[ClosedPeriods], week: int) -> "ClosedTable":
        """Build the table from a list of calendars."""
        weekly = np.zeros((len(closed), week), dtype=bool)
        for calendar, each in enumerate(closed):
            weekly[calendar, list(each.weekly)] = True
        counts = [len(each.single) for each in closed]
        single = [position for each in closed for position in each.single]
        return cls(weekly, np.repeat(np.arange(len(closed)), counts), np.array(single, dtype=np.int64))

    def has(self, calendar: Ints, position: Ints) -> Bools:
        """Mask of positions that are closed in their calendar, (n,)."""
        week = self.weekly.shape[1]
        found = self.weekly[calendar, position % week] if week else np.zeros(len(position), dtype=bool)
        if not len(self.position) or not len(position):
            return found
        low, high = int(self.position.min()), int(self.position.max())
        width = high - low + 1
        inside = (position >= low) & (position <= high)
        keys = calendar[inside] * width + position[inside] - low
        found[inside] |= np.isin(keys, self.calendar * width + self.position - low)
        return found


def given_closings(closings: Sequence[str | int], grid: PeriodGrid) -> ClosedPeriods:
    """Positions of the weekdays and days in a list of closings."""
    weekdays = [WEEKDAYS.index(each) for each in closings if each in WEEKDAYS]
    weekly = np.flatnonzero(np.isin(grid.weekday(np.arange(grid.week)), weekdays)) if grid.is_dated else ()
    days = [each for each in closings if each not in WEEKDAYS and each != LEARN]
    return ClosedPeriods(weekly=tuple(map(int, weekly)), single=tuple(positions_of(days, grid)))


def positions_of(days: Sequence[str | int], grid: PeriodGrid) -> list[int]:
    """Sorted positions of days: all periods of a day if they are shorter, only a period that begins on it if longer."""
    found: set[int] = set()
    for each in days:
        period = np.array([date.fromisoformat(each) if isinstance(each, str) else each])
        period = period.astype("datetime64[us]" if grid.is_dated else np.int64)
        first = int(grid.position(period)[0])
        is_one = grid.step <= DAY or abs(int((grid.period(np.array([first])) - period).astype(np.int64)[0])) < DAY
        found.update(range(first, first + max(DAY // grid.step, 1)) if grid.is_dated and is_one else ())
        found.update(() if grid.is_dated else (first,))
    return sorted(found)
