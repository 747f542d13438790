"""Periods of a log on one clock for all series: columns of a panel, coming periods, and seasonal cycles."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lostsales.data.calendar.clock import DAY, WEEK_DAYS
from lostsales.data.calendar.periods import ClosedTable, PeriodGrid, ends_months, months_later
from lostsales.data.log import SalesLog
from lostsales.data.products import Products
from lostsales.types import Array, Ints

YEAR = 365.25 * DAY  # microseconds
WEEKS = 52  # in a year; its last day or two belong to the last week
MONTHS = 12
MOST_CLOSED = 60  # closed periods beyond twice the horizon that are searched for open ones


class Cycle(NamedTuple):
    """Seasonal cycle: the position of each column within it."""

    length: int  # positions
    columns: int  # periods; more than `length` if a position has several
    shift: Ints | int  # (columns,) positions, or the position of column 0 if it advances by 1 per column

    def position(self, columns: Ints) -> Ints:
        """Position of columns within the cycle, (columns,)."""
        return (columns + self.shift) % self.length if isinstance(self.shift, int) else self.shift[columns]


@dataclass(frozen=True)
class PeriodColumns:
    """Columns of the rows of a log on a common clock."""

    column: Ints  # (rows,) from 0, the first period of any series
    grid: PeriodGrid | None  # None if periods are months, or irregular
    is_monthly: bool
    first: int  # position of column 0 on the grid, or month

    @classmethod
    def of(cls, log: SalesLog, products: Products) -> "PeriodColumns":
        """Assign columns to the rows of a log; irregular periods are counted back from the last of each product."""
        steps = _steps(log, products)
        grid = None
        if not len(steps) or steps.min() > 0:
            grid = PeriodGrid.known(log.problem.clock.calendars, log.period)
            grid = grid or (PeriodGrid.of(log.period, steps) if len(steps) else _one_step(log))
        if grid is not None:
            position = grid.position(log.period)
            return cls(position - position.min(), grid, False, int(position.min()))
        if log.period.dtype.kind == "M":
            months = log.period.astype("datetime64[M]").astype(np.int64)
            if len(np.unique(np.stack([products.of_row, months]), axis=1).T) == len(log) and steps.min() >= 28 * DAY:
                return cls(months - months.min(), None, True, int(months.min()))
        rows = np.bincount(products.of_row, minlength=len(products))
        order = np.lexsort((log.period, products.of_row))
        place = np.empty(len(log), dtype=np.int64)
        place[order] = np.arange(len(log)) - np.repeat(np.cumsum(rows) - rows, rows)
        return cls(place + (rows.max() - rows)[products.of_row], None, False, 0)

    def coming(self, log: SalesLog, products: Products, last: Ints, horizon: int) -> tuple[Ints, Array]:
        """Columns and periods of the next open periods of each product, each (products, horizon)."""
        ahead = np.arange(1, horizon + 1)
        columns = last[:, None] + ahead
        if self.grid is None:
            return columns, self._periods_off_grid(log, products, columns, ahead)
        calendars = log.problem.clock.calendars
        if calendars.step and calendars.closed:
            table, ids = ClosedTable.of(calendars.closed, self.grid.week), calendars.ids(products.names.tolist())
            wide = last[:, None] + np.arange(1, 2 * horizon + MOST_CLOSED + 1)
            closed = table.has(np.repeat(ids, wide.shape[1]), (wide + self.first).reshape(-1)).reshape(wide.shape)
            columns = np.take_along_axis(wide, np.argsort(closed, axis=1, kind="stable")[:, :horizon], axis=1)
        return columns, self.grid.period(columns + self.first)

    def _periods_off_grid(self, log: SalesLog, products: Products, columns: Ints, ahead: Ints) -> Array:
        last = np.zeros(len(products), dtype=log.period.dtype)
        order = np.argsort(log.period, kind="stable")
        last[products.of_row[order]] = log.period[order]
        if self.is_monthly:
            months = columns + self.first - last.astype("datetime64[M]").astype(np.int64)[:, None]
            return months_later(last[:, None], months, ends_months(log.period))
        steps = _steps(log, products)
        step = int(np.median(steps[steps > 0])) if (steps > 0).any() else 1
        return (last.astype(np.int64)[:, None] + step * ahead).astype(log.period.dtype)

    def cycles(self, columns: int, season: int | None) -> tuple[Cycle, ...]:
        """Seasonal cycles that follow from the dates, the shortest first, or the given `season` alone."""
        if season is not None:
            return (Cycle(season, season, 0),) if season > 1 else ()
        if self.is_monthly:
            return (Cycle(MONTHS, MONTHS, self.first % MONTHS),)
        if self.grid is None or not self.grid.is_dated:
            return ()
        step, found = self.grid.step, []
        every = np.arange(columns)
        periods = self.grid.period(every + self.first)
        if step < DAY and DAY % step == 0:
            found.append(Cycle(DAY // step, DAY // step, self.first % (DAY // step)))
        if step <= DAY:
            found.append(Cycle(WEEK_DAYS, max(WEEK_DAYS * DAY // step, 1), self.grid.weekday(every + self.first)))
        length = WEEKS if step <= WEEK_DAYS * DAY else max(round(YEAR / step), 1)
        # Half a day later: a period may begin slightly before midnight.
        day = (periods + np.timedelta64(DAY // 2, "us")) - periods.astype("datetime64[Y]")
        place = (day.astype(np.int64) * length / (length * 7 * DAY if length == WEEKS else YEAR)).astype(np.int64)
        return (
            (*found, Cycle(length, round(YEAR / step), np.minimum(place, length - 1))) if length > 1 else tuple(found)
        )


def _steps(log: SalesLog, products: Products) -> Ints:
    """Steps between consecutive rows of a product, also across a hole, in microseconds or whole numbers."""
    steps = np.diff(log.period.astype(np.int64))
    return np.asarray(steps[np.diff(products.of_row) == 0])


def _one_step(log: SalesLog) -> PeriodGrid | None:
    """Grid of a log with one row per product: steps of a day, or of 1."""
    is_dated = log.period.dtype.kind == "M"
    return PeriodGrid.of(log.period, np.array([DAY if is_dated else 1]))
