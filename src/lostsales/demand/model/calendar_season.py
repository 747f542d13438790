"""Seasonal indices that all series share, by date: weekdays and weeks of the year."""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
from pydantic import Field

from lostsales.data.calendar.clock import DAY, WEEK_DAYS, weekday_of
from lostsales.data.log import SalesLog
from lostsales.demand.model.panel import panel_of
from lostsales.demand.model.periods import PeriodColumns
from lostsales.demand.model.season import LEAST_CYCLES, LEAST_WINDOW, centred_level, shared_index
from lostsales.saved_fields import numbers
from lostsales.types import Array, Floats, Ints

WEEKS = 52
INDEX_RANGE = 1e-3, 1e6  # bounds of an index, which must stay positive


@dataclass(frozen=True, eq=False)
class CalendarSeason:
    """Seasonal indices of weekdays and weeks of the year; 1 means no effect.

    Examples
    --------
    >>> sundays = CalendarSeason(DAY, np.array([1.0] * 6 + [2.0]), np.ones(52))
    >>> sundays.index(np.array(["2026-11-14", "2026-11-15"], dtype="datetime64[us]"))
    array([1., 2.])

    """

    step: Annotated[
        int, Field(ge=0, le=WEEK_DAYS * DAY)
    ]  # microseconds from one period to the next, 0 where periods are no dates
    weekday: Annotated[Floats, numbers(WEEK_DAYS, least=INDEX_RANGE[0], most=INDEX_RANGE[1])]
    week: Annotated[Floats, numbers(WEEKS, least=INDEX_RANGE[0], most=INDEX_RANGE[1])]

    @classmethod
    def none(cls) -> "CalendarSeason":
        """No season."""
        return cls(0, np.ones(WEEK_DAYS), np.ones(WEEKS))

    @classmethod
    def of(cls, log: SalesLog) -> "CalendarSeason":
        """Estimate the indices from the uncensored demands of a log, shrunk by their variation between cycles."""
        clock = PeriodColumns.of(log, log.products)
        if clock.grid is None or not clock.grid.is_dated or clock.grid.step > WEEK_DAYS * DAY:
            return cls.none()
        panel = panel_of(log, 1, None)
        width = panel.demand.shape[1]
        dates = clock.grid.period(np.arange(width) + clock.first + int(clock.column.max()) + 1 - width)
        return cls.learned(panel.demand, panel.exposure * ~panel.censored, dates, clock.grid.step)

    @classmethod
    def learned(cls, demand: Floats, exposure: Floats, dates: Array, step: int) -> "CalendarSeason":
        """Estimate the indices from demands (series, periods) at dates (periods,); exposure 0 leaves a demand out."""
        demand, index = demand * (exposure > 0), {"weekday": np.ones(WEEK_DAYS), "week": np.ones(WEEKS)}
        for name, place, days in (("weekday", weekday_of(dates), WEEK_DAYS), ("week", week_of(dates), WEEKS * 7)):
            columns = max(days * DAY // step, 1)
            if columns < 2 or len(dates) < LEAST_CYCLES * columns:
                continue
            level = centred_level(demand, exposure, columns * max(1, -(-LEAST_WINDOW // columns)))
            index[name] = np.clip(shared_index(demand, exposure, level, place, len(index[name])), *INDEX_RANGE)
            exposure = exposure * index[name][place]
        return cls(step, index["weekday"], index["week"])

    @cached_property
    def is_none(self) -> bool:
        """True if no index differs from 1."""
        return self.step == 0 or bool((self.weekday == 1).all() and (self.week == 1).all())

    def index(self, dates: Array) -> Floats:
        """Index of dates, in their shape."""
        if self.is_none or dates.dtype.kind != "M":
            return np.ones(dates.shape)
        return np.asarray(self.weekday[weekday_of(dates)] * self.week[week_of(dates)])

    def coming(self, dates: Array, periods: int) -> Floats:
        """Index of the periods that start at dates, (dates, periods)."""
        if dates.dtype.kind != "M":
            return np.ones((len(dates), periods))
        return self.index(dates[:, None] + np.arange(periods) * np.timedelta64(self.step, "us"))


def week_of(dates: Array) -> Ints:
    """Week of the year, from 0, by the middle of the seven days from each date on; the last days are in week 51."""
    middle = dates.astype("datetime64[D]") + np.timedelta64(3, "D")
    day = (middle - middle.astype("datetime64[Y]").astype("datetime64[D]")).astype(np.int64)
    return np.asarray(np.minimum(day // 7, WEEKS - 1))
