"""Periods of a pilot, and the rows of a log as tables of series by periods, with profit and demand of each."""

from dataclasses import dataclass

import numpy as np

from lostsales.data.calendar.periods import PeriodGrid
from lostsales.data.log import SalesLog
from lostsales.data.progress import Progress
from lostsales.demand.imputing import impute
from lostsales.errors import LostSalesError
from lostsales.types import Array, Floats, Ints


def clock_after(log: SalesLog) -> PeriodGrid:
    """Clock of a pilot that starts right after the last period of a log."""
    if not log.usual_step:
        raise LostSalesError("a pilot needs series of at least two periods in the log, and this log has none")
    return PeriodGrid(log.period.dtype.kind == "M", log.usual_step, int(log.period.max().astype(int)) + log.usual_step)


def check_periods(clock: PeriodGrid, log: SalesLog) -> None:
    """Raise if the periods of a log are of another kind."""
    if (log.period.dtype.kind == "M") != clock.is_dated:
        kinds = ("moments in time", "plain numbers")
        wanted, came = kinds if clock.is_dated else kinds[::-1]
        raise LostSalesError(f"the pilot's periods are {wanted}, but the periods of this log are {came}")


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Profit, cash and demand of each row."""

    profit: Floats  # (rows,) lost sales at their expected cost
    cash: Floats  # (rows,) as observed
    demand: Floats  # (rows,) expected demand if censored

    @classmethod
    def of(cls, log: SalesLog, seed: int, progress: Progress | None = None) -> "Outcomes":
        """Estimate lost sales from all rows of the log alike, whatever policy decided."""
        filled = impute(log, replicates=0, quick=True, seed=seed, progress=progress)
        return cls(log.profit(filled.expected_lost), log.cash, filled.expected_demand)


@dataclass(frozen=True, eq=False)
class PilotPanel:
    """Index of the row of each series and period, -1 if there is none."""

    log: SalesLog
    names: Array  # (series,) text
    offsets: Ints  # (periods,) since the start of the pilot, rising
    row: Ints  # (series, periods)

    @classmethod
    def of(cls, log: SalesLog, clock: PeriodGrid, names: Array, first: int | None = None) -> "PilotPanel":
        """Arrange the rows of the named series from an offset on; periods without any row are left out."""
        place = {str(name): at for at, name in enumerate(names)}
        of_series = np.array([place.get(str(name), -1) for name in log.names], dtype=np.int64)
        series, offset = of_series[log.series], clock.position(log.period)
        rows = np.flatnonzero((series >= 0) & (True if first is None else offset >= first))
        offsets, column = np.unique(offset[rows], return_inverse=True)
        row = np.full((len(names), len(offsets)), -1, dtype=np.int64)
        row[series[rows], column.reshape(-1)] = rows
        return cls(log, names, offsets, row)

    def table(self, values: Array) -> Floats:
        """Values of rows by series and period, NaN if there is no row."""
        return np.where(self.row >= 0, values[np.maximum(self.row, 0)], np.nan)


def past_mean(values: Floats, window: int) -> Floats:
    """Mean over the last periods, or over all if a series has no row in them, (series,).

    >>> past_mean(np.array([[1.0, 2.0, 6.0], [5.0, np.nan, np.nan]]), 2).tolist()
    [4.0, 5.0]
    """
    last = values[:, -window:]
    own = zip(last, values, strict=True)
    return np.array([np.nanmean(recent if np.isfinite(recent).any() else all_of_it) for recent, all_of_it in own])
