"""The table `[clock]` of a problem: closed periods, as given and as learned from a log."""

from collections.abc import Iterable
from datetime import date, datetime
from typing import Annotated, Any, Final, Literal

import numpy as np
from pydantic import BeforeValidator, Field, field_validator, model_validator

from lostsales.data.settings import MOST_NUMBER, Settings
from lostsales.types import Array, Ints

MINUTE = 60_000_000  # microseconds
DAY = 1440 * MINUTE
WEEK_DAYS = 7
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
LEARN: Final = "learn"
NONE: Final = "none"
MOST_CELLS = 100_000_000  # calendars, series or groups times positions: bounds memory
_WANTED = 'a weekday such as "Sunday", a date such as "2026-12-25", a whole-number period, or "learn"'


def weekday_of(dates: Array) -> Ints:
    """Weekday of each date, 0 for Monday."""
    return np.asarray((dates.astype("datetime64[D]").astype(np.int64) + 3) % WEEK_DAYS)  # 1970 began on a Thursday


def weekday_named(value: Any) -> str | None:
    """Parse a weekday by its English name or first three letters; None if it is none."""
    word = value.strip().lower() if isinstance(value, str) else ""
    return next((each for each in WEEKDAYS if word in (each.lower(), each[:3].lower())), None)


def _day(value: Any) -> str | int:
    """Parse a date (as ISO text) or a whole-number period."""
    if isinstance(value, int | np.integer) and not isinstance(value, bool) and abs(int(value)) <= MOST_NUMBER:
        return int(value)
    try:
        day = value if isinstance(value, date) else date.fromisoformat(value)
    except (TypeError, ValueError):
        raise ValueError('must be a date such as "2026-12-25", or a whole-number period') from None
    return (day.date() if isinstance(day, datetime) else day).isoformat()


def _closing(value: Any) -> str | int:
    """Parse a weekday by its English name or first three letters, a date, a whole-number period, or `learn`."""
    if isinstance(value, str) and value.strip().lower() == LEARN:
        return LEARN
    try:
        return weekday_named(value) or _day(value)
    except ValueError:
        raise ValueError(f"must be {_WANTED}") from None


Day = Annotated[str | int, BeforeValidator(_day)]
Closing = Annotated[str | int, BeforeValidator(_closing)]
ClosingList = tuple[Closing, ...]
_Index = Annotated[int, Field(ge=-MOST_NUMBER, le=MOST_NUMBER)]


class ClosedPeriods(Settings):
    """Closed periods of series that share a calendar, as positions on the clock of `Calendars`."""

    weekly: tuple[Annotated[int, Field(ge=0)], ...] = ()  # positions within a week
    single: tuple[_Index, ...] = ()  # rising


class Calendars(Settings):
    """Calendars of a log: the grid of its periods, and the closed periods of each series."""

    is_dated: bool = True
    step: Annotated[int, Field(ge=0)] = 0  # in microseconds, or whole numbers; 0 if unknown
    anchor: int = 0  # the period at position 0
    week: Annotated[int, Field(ge=0, le=7 * 24 * 60)] = 0  # steps in a week; 0 if there is no such cycle
    closed: tuple[ClosedPeriods, ...] = ()  # the first is the default
    of_series: dict[str, int] = Field(default_factory=dict)  # position in `closed` of series without the default

    @model_validator(mode="after")
    def _fits(self) -> "Calendars":
        places = len(self.closed)
        if self.step and not places:
            raise ValueError("closed must have a calendar, if only an empty one")
        if places * self.week > MOST_CELLS:
            raise ValueError(f"closed has {places:,} calendars of {self.week:,} periods a week, which is too much")
        if any(not 0 <= each < places for each in self.of_series.values()):
            raise ValueError("of_series must name one of the calendars")
        if any(place >= self.week for each in self.closed for place in each.weekly):
            raise ValueError("weekly must lie within a week")
        return self

    def ids(self, names: Iterable[str]) -> Ints:
        """The position in `closed` of each series."""
        return np.array([self.of_series.get(name, 0) for name in names], dtype=np.int64)


class Clock(Settings):
    """Closed periods of the shop: they are no gap, and holding and lost-sales costs accrue over open periods only.

    Examples
    --------
    >>> Clock(closed=["sun", "2026-12-25"]).closed
    ('Sunday', '2026-12-25')

    """

    closed: Literal["learn", "none"] | ClosingList = Field(
        LEARN,
        description="`learn`: a weekday that a series (nearly) always lacks, and days that all series of the table or "
        "of a `column` lack, fewer than 14 in a row; `none`: every missing period is a gap; or a list of weekdays, "
        "dates and whole-number periods, with `learn` among them if the rest is to be learned.",
        examples=[["Sunday", "2026-12-25", "2026-12-26"]],
    )
    open: tuple[Day, ...] = Field(
        (), description="Days that may be open although `closed` has their weekday.", examples=[["2026-12-20"]]
    )
    column: str | None = Field(
        None,
        description="What shares a calendar, such as the store: a column of the series, or an attribute. By default, "
        "the one that explains most of the missing periods.",
        examples=["Store ID"],
    )
    own: dict[str, ClosingList] = Field(
        {},
        description="The list `closed` of single values of the `column`; without it, of single series.",
        examples=[{"Munich": ["Sunday", "2026-01-06"]}],
    )
    calendars: Calendars = Field(Calendars(), description="What reading a log found; not for the problem file.")

    @field_validator("closed", mode="before")
    @classmethod
    def _listed(cls, closed: Any) -> Any:
        """Turn a single weekday or date into a list."""
        return closed if isinstance(closed, list | tuple) or closed in (LEARN, NONE) else [closed]

    def closings(self, value: str = "") -> tuple[str | int, ...]:
        """Closings listed for a value of the column, or the default list; `none` is an empty list."""
        closed = self.closed if isinstance(self.closed, tuple) else (LEARN,) if self.closed == LEARN else ()
        return self.own.get(value, closed)
