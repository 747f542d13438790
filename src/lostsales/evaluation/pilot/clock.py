"""The clock of a pilot: its first period is at position 0."""

from lostsales.data.calendar.periods import PeriodGrid
from lostsales.data.log import SalesLog
from lostsales.errors import LostSalesError


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
