"""Periods on a clock of equal steps: positions, closed, missing and next open periods, and closings in words."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np

from lostsales.data.calendar.clock import DAY, LEARN, MINUTE, WEEK_DAYS, WEEKDAYS, Calendars, ClosedPeriods, weekday_of
from lostsales.data.labels import spelled
from lostsales.data.settings import MOST_NUMBER
from lostsales.types import Array, Bools, Ints

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
    week: int = 0  # steps in a week; 0 if they do not divide it, or are not known to

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

    def period(self, position: Ints | int) -> Array:
        """Dates or whole numbers of positions."""
        found = np.asarray(position, dtype=np.int64) * self.step + self.anchor
        return found.astype("datetime64[us]") if self.is_dated else found

    def name(self, position: int) -> str:
        """The text of a period, as a log writes it."""
        return spelled(self.period(position))

    @property
    def is_daily(self) -> bool:
        """True if a period is a day."""
        return self.is_dated and self.step == DAY

    @property
    def periods_a_week(self) -> float | None:
        """Periods per week; None if periods are plain numbers."""
        return WEEK_DAYS * DAY / self.step if self.is_dated else None

    def weekday(self, position: Ints) -> Ints:
        """Weekday, 0 for Monday; local midnight in UTC is rounded to the nearest day."""
        return weekday_of(self.period(position) + np.timedelta64(DAY // 2 if self.step >= DAY else 0, "us"))

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


MOST_GIVEN = 366  # consecutive periods that may be given as closed
MOST_A_ROW = 50  # missing periods per row of the log, beyond which no gap is examined: bounds memory


@dataclass(frozen=True, eq=False)
class Missing:
    """Missing periods of all gaps that are not too long, gap by gap."""

    row: Ints  # (gaps,) the row before each gap
    length: Ints  # (gaps,) missing periods
    gap: Ints  # (missing,)
    series: Ints  # (missing,)
    position: Ints  # (missing,)

    @classmethod
    def between(cls, codes: Ints, position: Ints, most: int) -> "Missing":
        """Find the missing periods of rows sorted by series and period; gaps of `most` or more periods are left out.

        If timestamps are far apart (receipts by the minute) there would be too many: then no gap is examined.
        """
        skipped = np.diff(position) - 1
        row = np.flatnonzero((codes[1:] == codes[:-1]) & (skipped > 0) & (skipped < most))
        row = row if skipped[row].sum() <= MOST_A_ROW * len(codes) + MOST_GIVEN else row[:0]
        length = skipped[row]
        gap = np.repeat(np.arange(len(row)), length)
        within = np.arange(len(gap)) - np.repeat(np.cumsum(length) - length, length)
        before = row[gap]
        return cls(row, length, gap, codes[before], position[before] + 1 + within)

    def some(self, gaps: Bools) -> "Missing":
        """Select gaps."""
        kept = gaps[self.gap]
        renumbered = (np.cumsum(gaps) - 1)[self.gap[kept]]
        return Missing(self.row[gaps], self.length[gaps], renumbered, self.series[kept], self.position[kept])

    def all_of_gap(self, holds: Bools) -> Bools:
        """Gaps in which `holds` is true for every missing period, (gaps,)."""
        return np.asarray(np.bincount(self.gap, ~holds, minlength=len(self.row)) == 0)


def months_later(period: Array, months: Ints | int, at_end: bool) -> Array:
    """The same day of later months; the last day where `at_end`, or where a month is too short.

    >>> dates = np.array(["2026-01-31", "2026-02-28"], dtype="datetime64[us]")
    >>> months_later(dates, 1, at_end=True).astype("datetime64[D]").astype(str).tolist()
    ['2026-02-28', '2026-03-31']
    """
    day = period - period.astype("datetime64[M]")
    month = period.astype("datetime64[M]") + months
    last = (month + 1).astype("datetime64[us]") - np.timedelta64(DAY, "us")
    return np.asarray(last if at_end else np.minimum(month.astype("datetime64[us]") + day, last))


def ends_months(period: Array) -> bool:
    """True if every date is the last day of its month."""
    return bool(((period + np.timedelta64(DAY, "us")).astype("datetime64[M]") > period.astype("datetime64[M]")).all())


def closed_between(calendars: Calendars, names: Sequence[str], before: Array, after: Array) -> Bools:
    """Mask of series for which every period between `before` and `after` is closed, (series,)."""
    pairs = np.stack([before, after], axis=1).reshape(-1)
    grid = PeriodGrid.known(calendars, pairs)
    found = np.zeros(len(names), dtype=bool)
    if grid is None or not len(names):
        return found
    position = grid.position(pairs)
    missing = Missing.between(np.repeat(np.arange(len(names)), 2), position, MOST_GIVEN)
    closed = ClosedTable.of(calendars.closed, grid.week).has(calendars.ids(names)[missing.series], missing.position)
    found[missing.row[missing.all_of_gap(closed)] // 2] = True
    return found


def next_open_periods(calendars: Calendars, names: Sequence[str], period: Array) -> Array | None:
    """Next open period of each series by its calendar, (series,); None if the clock is unknown."""
    grid = PeriodGrid.known(calendars, period)
    if grid is None:
        return None
    closed, ids = ClosedTable.of(calendars.closed, grid.week), calendars.ids(names)
    position = grid.position(period) + 1
    for _ in range(MOST_GIVEN):
        is_closed = closed.has(ids, position)
        if not is_closed.any():
            break
        position = position + is_closed
    return grid.period(position)


LISTED_CALENDARS = 5  # calendars listed before "and N further calendars"


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
    lines = [f"{each.words}: {each.series:,} series, such as {each.example}" for each in found[:LISTED_CALENDARS]]
    return [
        *lines,
        *([f"and {len(found) - LISTED_CALENDARS:,} further calendars"] if len(found) > LISTED_CALENDARS else []),
    ]


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
