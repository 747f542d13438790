"""Whether a period is the next open one after another, by calendars that are known."""

from collections.abc import Sequence

import numpy as np

from lostsales.data.calendar.clock import Calendars
from lostsales.data.calendar.closed_table import ClosedTable
from lostsales.data.calendar.grid import PeriodGrid
from lostsales.data.calendar.missing import Missing
from lostsales.data.calendar.openings import MOST_GIVEN
from lostsales.types import Array, Bools, Ints


def closed_between(calendars: Calendars, names: Sequence[str], before: Array, after: Array) -> Bools:
    """Where every period between one of a series and a later one of it is closed, (series,)."""
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


def missing_between(step: int, before: Array, after: Array) -> Ints:
    """Periods of a step between one and a later one, rounded, (n,)."""
    return np.rint((after - before).astype(np.int64) / step).astype(np.int64) - 1
