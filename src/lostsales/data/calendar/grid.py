"""Periods as positions on a clock of equal steps, closed or not."""

from dataclasses import dataclass

import numpy as np

from lostsales.data.calendar.clock import Calendars
from lostsales.data.settings import MOST_NUMBER
from lostsales.types import Array, Ints

MINUTE = 60_000_000  # microseconds
DAY = 1440 * MINUTE
WEEK_DAYS = 7
# Relative tolerance of a step: local days in UTC are an hour (4 %) longer or shorter twice a year.
_JITTER = 0.05
MOST_CLOSED = 14  # days; a gap of this length or more is not learned as a closing
MOST_CLOSED_UNKNOWN = 2  # same bound in periods of unknown length: whole numbers without a cycle of seven


@dataclass(frozen=True)
class PeriodGrid:
    """Equal steps from an anchor on."""

    is_dated: bool
    step: int  # microseconds, or whole numbers
    anchor: int  # the period at position 0, in the first week of all or earlier
    week: int  # steps in a week; 0 if they do not divide it

    @classmethod
    def of(cls, period: Array, steps: Ints) -> "PeriodGrid | None":
        """Grid of a log's periods, given the steps between them; None if there is none (months, timestamps)."""
        is_dated = period.dtype.kind == "M"
        unit = int(steps.min())
        first, last = int(period.min().astype(np.int64)), int(period.max().astype(np.int64))
        if max(abs(first), abs(last)) // unit > MOST_NUMBER or (is_dated and unit < MINUTE):
            return None
        if is_dated and abs(unit - DAY) <= _JITTER * DAY:
            unit = DAY
        # Open on Monday, Wednesday and Friday alone: steps of two and three days.
        day = DAY if is_dated else 1
        for step in (unit, *((day,) if day < unit < WEEK_DAYS * day else ())):
            if _are_multiples(steps, step):
                week = _week(is_dated, step)
                return cls(is_dated, step, first % (step * max(week, 1)), week)
        return None

    @classmethod
    def known(cls, calendars: Calendars, period: Array) -> "PeriodGrid | None":
        """Grid of a log read earlier; None if it has none, or if periods do not lie on it."""
        if not calendars.step or calendars.is_dated != (period.dtype.kind == "M"):
            return None
        grid = cls(calendars.is_dated, calendars.step, calendars.anchor, calendars.week)
        off = (period - grid.period(grid.position(period))).astype(np.int64)
        return grid if (np.abs(off) <= _JITTER * grid.step).all() else None

    def position(self, period: Array) -> Ints:
        """Steps from the anchor, (rows,)."""
        from_anchor = period.astype(np.int64) - self.anchor
        return (from_anchor + self.step // 2) // self.step

    def period(self, position: Ints) -> Array:
        """Dates or whole numbers of positions."""
        found = np.asarray(position, dtype=np.int64) * self.step + self.anchor
        return found.astype("datetime64[us]") if self.is_dated else found

    def weekday(self, position: Ints) -> Ints:
        """Weekday, 0 for Monday; local midnight in UTC is rounded to the nearest day."""
        days = (self.period(position).astype(np.int64) + (DAY // 2 if self.step >= DAY else 0)) // DAY
        return (days + 3) % WEEK_DAYS

    def most_missing(self, *, weekly: bool) -> int:
        """Upper bound (exclusive) on the consecutive periods of a closing; `weekly` if a cycle of seven was found."""
        if self.is_dated:
            return -(-MOST_CLOSED * DAY // self.step)
        return MOST_CLOSED if weekly else MOST_CLOSED_UNKNOWN


def _are_multiples(steps: Ints, step: int) -> bool:
    counts = (steps + step // 2) // step
    return bool((np.abs(steps - counts * step) <= _JITTER * step).all())


def _week(is_dated: bool, step: int) -> int:
    if not is_dated:
        return WEEK_DAYS if step == 1 else 0
    return WEEK_DAYS * DAY // step if step <= DAY and DAY % step == 0 else 0
