"""Periods of a pilot, and the rows of a log as tables of series by periods, with profit and demand of each."""

from dataclasses import dataclass

import numpy as np

from lostsales.data.assortment import WEEK
from lostsales.data.labels import spelled
from lostsales.data.log import SalesLog
from lostsales.data.progress import Progress
from lostsales.demand.survival.imputation import impute
from lostsales.errors import LostSalesError
from lostsales.types import Array, Floats, Ints

DAY = 86_400_000_000  # microseconds


@dataclass(frozen=True)
class PilotClock:
    """First period of a pilot and usual step to the next; timestamps are in microseconds."""

    start: int
    step: int
    dated: bool

    @classmethod
    def after(cls, log: SalesLog) -> "PilotClock":
        """Clock of a pilot that starts right after the last period of a log."""
        steps = np.diff(log.period.astype(np.int64))[log.has_next[:-1]]
        if not len(steps):
            raise LostSalesError("a pilot needs series of at least two periods in the log, and this log has none")
        values, counts = np.unique(steps, return_counts=True)
        step = int(values[counts.argmax()])
        return cls(int(log.period.astype(np.int64).max()) + step, step, log.period.dtype.kind == "M")

    @property
    def is_daily(self) -> bool:
        """True if a period is a day."""
        return self.dated and self.step == DAY

    @property
    def periods_a_week(self) -> float | None:
        """Periods per week; None if periods are plain numbers."""
        return WEEK / self.step if self.dated else None

    def offset(self, period: Array) -> Ints:
        """Periods since the start, below 0 in the past."""
        return np.rint((period.astype(np.int64) - self.start) / self.step).astype(np.int64)

    def name(self, offset: int) -> str:
        """Name of the period at an offset, as the log writes it."""
        at = self.start + offset * self.step
        return spelled(np.datetime64(at, "us")) if self.dated else str(at)

    def label(self, offset: int) -> "np.datetime64 | int":
        """Period at an offset, as a value of a table."""
        at = self.start + offset * self.step
        return np.datetime64(at, "us") if self.dated else at

    def check(self, log: SalesLog) -> None:
        """Raise if the periods of a log are of another kind."""
        if (log.period.dtype.kind == "M") != self.dated:
            kinds = ("moments in time", "plain numbers")
            wanted, came = kinds if self.dated else kinds[::-1]
            raise LostSalesError(f"the pilot's periods are {wanted}, but the periods of this log are {came}")


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Profit, cash and demand of each row."""

    profit: Floats  # (rows,) lost sales at their expected cost
    cash: Floats  # (rows,) as observed
    demand: Floats  # (rows,) expected demand if censored

    @classmethod
    def of(cls, log: SalesLog, seed: int, progress: Progress | None = None) -> "Outcomes":
        """Estimate lost sales by Beran's estimator, from all rows of the log alike, whatever policy decided."""
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
    def of(cls, log: SalesLog, clock: PilotClock, names: Array, first: int | None = None) -> "PilotPanel":
        """Arrange the rows of the named series from an offset on; periods without any row are left out."""
        place = {str(name): at for at, name in enumerate(names)}
        of_series = np.array([place.get(str(name), -1) for name in log.names], dtype=np.int64)
        series, offset = of_series[log.series], clock.offset(log.period)
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
