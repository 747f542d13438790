"""The open rows of the period after a log, as its last rows imply them."""

import numpy as np

from lostsales.data.calendar.clock import DAY
from lostsales.data.calendar.periods import next_open_periods
from lostsales.data.economics import next_stock
from lostsales.data.labels import SERIES_SEPARATOR
from lostsales.data.reading.frames import ColumnTable
from lostsales.errors import LostSalesError
from lostsales.policy.recent_rows import RecentRows
from lostsales.types import Array, Floats, Ints

MONTH = (28 * DAY, 31 * DAY)  # microseconds between two months
FEW_VALUES = 2  # a feature with at most so many values is a state, such as a promotion, that usually ends


def next_day(recent: RecentRows) -> ColumnTable:
    """Rows of the next period for every product that the last period has.

    Stock follows from the last row. A promotion or another feature of two values or categories is as usual for the
    product, other features are as in the last row.
    """
    log = recent.log
    if log.ledger is None:
        raise LostSalesError("the stock of the next period follows from stock and orders, but the log has none")
    ends = np.array(list(recent.newest.values()), dtype=np.int64)
    rows = ends[log.period[ends] == log.period.max()]
    names, columns = log.names[log.series[rows]], log.problem.columns
    stock = next_stock(log.ledger.stock[rows], log.ledger.arrived[rows], log.sales[rows], log.problem.flow)
    parts = np.array([str(name).split(SERIES_SEPARATOR, len(columns.series_parts) - 1) for name in names], dtype=object)
    table: dict[str, Array] = dict(zip(columns.series_parts, parts.T, strict=True))
    table[columns.period] = _next_period(recent, names, rows)
    table[columns.stock] = np.maximum(stock + log.ledger.moved[rows], 0.0)
    for at, feature in enumerate(log.problem.features):
        if feature.calendar is not None:
            continue
        values = log.features[:, at]
        if feature.levels is None:
            is_state = len(np.unique(values)) <= FEW_VALUES
            table[feature.name] = _usual(recent, values, rows) if is_state else values[rows]
        else:
            levels = np.array([str(level) for level in feature.levels], dtype=object)
            table[feature.name] = levels[_usual(recent, values, rows).astype(np.int64)]
    return ColumnTable(table, "the period after the log")


def _next_period(recent: RecentRows, names: Array, rows: Ints) -> Array:
    log = recent.log
    last, step = log.period[rows], log.usual_step
    found = next_open_periods(log.problem.clock.calendars, names.tolist(), last)
    if found is not None:
        return found
    if last.dtype.kind == "M" and MONTH[0] <= step <= MONTH[1]:
        month = last.astype("datetime64[M]")
        return np.asarray((month + 1).astype("datetime64[us]") + (last - month))
    return np.asarray(last + (np.timedelta64(step, "us") if last.dtype.kind == "M" else max(step, 1)))


def _usual(recent: RecentRows, values: Floats, rows: Ints) -> Floats:
    """The most frequent value in the rows of each product."""
    products = recent.log.products
    found, code = np.unique(values, return_inverse=True)
    counts = np.bincount(products.of_row * len(found) + code, minlength=len(products) * len(found))
    return np.asarray(found[counts.reshape(-1, len(found)).argmax(axis=1)][products.of_row[rows]])
