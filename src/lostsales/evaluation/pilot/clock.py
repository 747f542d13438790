"""Periods of a pilot: offset from its start, and name."""

from dataclasses import dataclass

import numpy as np

from lostsales.data.assortment import WEEK
from lostsales.data.labels import spelled
from lostsales.data.log import SalesLog
from lostsales.errors import LostSalesError
from lostsales.types import Array, Ints

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
