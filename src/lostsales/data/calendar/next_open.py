"""Next open periods, by known calendars or by the stock."""

from collections.abc import Sequence

import numpy as np

from lostsales.data.calendar.clock import Calendars
from lostsales.data.calendar.closed_table import ClosedTable
from lostsales.data.calendar.grid import PeriodGrid
from lostsales.data.calendar.learning import CHANCE, LACKS_TOGETHER, LEAST_SERIES
from lostsales.data.calendar.missing import MOST_GIVEN, Missing
from lostsales.types import Array, Bools


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


def closed_by_stock(before: Array, follows: Bools, idle_share: float) -> Bools:
    """Mask of series closed since their last period `before`, inferred from the stock, (series,).

    A closing is inferred if the stock of (nearly) all series with the same last period is what their last row left
    (`follows`), unless that is likely by chance: in a share `idle_share` of open periods stock does not change either.
    """
    _, same, series = np.unique(before, return_inverse=True, return_counts=True)
    following = np.bincount(same.reshape(-1), follows, minlength=len(series))
    closed = (series >= LEAST_SERIES) & (following >= LACKS_TOGETHER * series) & (idle_share**series < CHANCE)
    return np.asarray(closed[same.reshape(-1)] & follows)
