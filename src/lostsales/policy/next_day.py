"""The open rows of the period after a log, as its last rows imply them."""

import numpy as np

from lostsales.data.balance import stock_after
from lostsales.data.calendar.periods import next_open_periods
from lostsales.data.labels import SERIES_SEPARATOR
from lostsales.data.log import SalesLog
from lostsales.data.reading.frames import ColumnTable
from lostsales.errors import LostSalesError
from lostsales.policy.recent_rows import RecentRows
from lostsales.types import Array, Floats, Ints

LONGEST_CYCLE = 14  # periods after which the values of a feature are looked for
FEW_VALUES = 2  # a feature with at most so many values is a state, such as a promotion, that usually ends


def next_day(recent: RecentRows) -> ColumnTable:
    """Rows of the next period for every product that the last period has.

    Stock follows from the last row, features by `features_ahead`.
    """
    log = recent.log
    if log.ledger is None:
        raise LostSalesError("the stock of the next period follows from stock and orders, but the log has none")
    ends = np.array(list(recent.newest.values()), dtype=np.int64)
    rows = ends[log.period[ends] == log.period.max()]
    names, columns = log.names[log.series[rows]], log.problem.columns
    parts = np.array([str(name).split(SERIES_SEPARATOR, len(columns.series_parts) - 1) for name in names], dtype=object)
    table: dict[str, Array] = dict(zip(columns.series_parts, parts.T, strict=True))
    following = next_open_periods(log.problem.clock.calendars, names.tolist(), log.period[rows])
    table[columns.period] = log.period_after(rows) if following is None else following
    table[columns.stock] = np.maximum(stock_after(log)[rows], 0.0)
    features = features_ahead(log)[0][log.series[rows]]
    for at, feature in enumerate(log.problem.features):
        if feature.calendar is not None:
            continue
        values = features[:, at]
        if feature.levels is not None:
            values = np.array([str(level) for level in feature.levels], dtype=object)[values.astype(np.int64)]
        table[feature.name] = values
    return ColumnTable(table, "the period after the log")


def features_ahead(log: SalesLog) -> tuple[Floats, tuple[str, ...]]:
    """Features of the period after each series, (series, features), and the names of those that are assumed.

    A feature that always has the value of some periods before, as a weekday has, goes on so. Of the others, a promotion
    or another feature of two values or categories is as usual for its product, and a number stays as it was. Features
    of the calendar are left to `fill_calendar`.
    """
    ends = np.r_[log.starts[1:], len(log)] - 1
    found, assumed = log.features[ends].copy(), []
    place = np.arange(len(log)) - log.starts[log.series]
    for index, feature in enumerate(log.problem.features):
        if feature.calendar is not None:
            continue
        values = log.features[:, index]
        lag = cycle_of(values, place)
        if lag is not None:
            found[:, index] = values[ends - np.minimum(lag - 1, place[ends])]
            continue
        assumed.append(feature.name)
        if feature.levels is not None or len(np.unique(values)) <= FEW_VALUES:
            found[:, index] = _usual(log, values, ends)
    return found, tuple(assumed)


def cycle_of(values: Floats, place: Ints) -> int | None:
    """The least lag after which all values come back, None where there is none or it is hardly seen."""
    for lag in range(1, LONGEST_CYCLE + 1):
        rows = np.flatnonzero(place >= lag)
        if len(rows) < lag:
            return None
        if (values[rows] == values[rows - lag]).all():
            return lag
    return None


def _usual(log: SalesLog, values: Floats, rows: Ints) -> Floats:
    """The most frequent value of the product of each row."""
    products = log.products
    found, code = np.unique(values, return_inverse=True)
    counts = np.bincount(products.of_row * len(found) + code, minlength=len(products) * len(found))
    return np.asarray(found[counts.reshape(-1, len(found)).argmax(axis=1)][products.of_row[rows]])
