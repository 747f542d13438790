"""Knowledge of coming periods: open rows that recent rows imply, the calendar, and later rows given with today."""

import numpy as np

from lostsales.data.calendar.clock import DAY
from lostsales.data.calendar.periods import next_open_periods
from lostsales.data.economics import next_stock
from lostsales.data.labels import SERIES_SEPARATOR
from lostsales.data.problem import Problem
from lostsales.data.reading.columns import ColumnReader
from lostsales.data.reading.findings import Findings
from lostsales.data.reading.frames import ColumnTable
from lostsales.data.reading.log_columns import fill_calendar
from lostsales.data.reading.table import SomeRows, Table
from lostsales.errors import LostSalesError
from lostsales.policy.recent_rows import RecentRows
from lostsales.policy.view import Features
from lostsales.types import Array, Bools, Floats, Ints

MOST_AHEAD = 400  # later periods that are kept


def split_today(problem: Problem, today: Table) -> tuple[Table, Table | None]:
    """The open rows, those of the first period of each series, and the rows of later periods, None where all are open.

    What is wrong with rows is found where they are read.
    """
    names = problem.columns
    if not {*names.series_parts, names.period} <= set(today.columns):
        return today, None
    reader = ColumnReader(today, Findings(today.name), problem.format)
    codes = reader.series(names.series_parts)[0]
    if len(np.unique(codes)) == len(codes):
        return today, None
    period = reader.period(names.period)
    order = np.lexsort((period, codes))
    is_later = np.zeros(len(codes), dtype=bool)
    first = np.r_[True, codes[order][1:] != codes[order][:-1]]
    opens = period[order][np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))]
    is_later[order] = (period[order] > opens) & (codes[order] >= 0)
    if not is_later.any():
        return today, None
    return SomeRows(today, np.flatnonzero(~is_later)), SomeRows(today, np.flatnonzero(is_later))


def rows_that_are_open(problem: Problem, today: Table) -> Ints:
    """The rows of a table that are open, rising: those that are decided for."""
    found, _ = split_today(problem, today)
    return found.kept if isinstance(found, SomeRows) and found is not today else np.arange(today.rows)


def coming_features(problem: Problem, names: Array, period: Array, later: Table | None) -> Features | None:
    """The features of the next period of series, each (series,), NaN where they are unknown; None where all are."""
    coming = np.full((len(names), len(problem.features)), np.nan)
    following = next_open_periods(problem.clock.calendars, names.tolist(), period) if problem.calendar else None
    if following is None:
        following = np.full(len(names), np.datetime64("NaT"), dtype="datetime64[us]")
    if later is not None:
        at, given, features = _next_rows(problem, names, later)
        coming[at] = features
        if given.dtype.kind == "M":
            following[at] = given
    known = np.flatnonzero(~np.isnat(following))
    if problem.calendar and len(known):
        own = coming[known]
        fill_calendar(problem, following[known], own)
        coming[known] = own
    return None if np.isnan(coming).all() else tuple(coming.T)


def later_features(problem: Problem, names: Array, later: Table | None) -> Floats | None:
    """Features of later periods of series, (series, periods, features), NaN where they are unknown; None without."""
    if later is None or not problem.features:
        return None
    codes, _, features, order, series = _later_rows(problem, names, later)
    begins = np.r_[True, codes[order][1:] != codes[order][:-1]]
    ahead = np.arange(len(order)) - np.maximum.accumulate(np.where(begins, np.arange(len(order)), 0))
    found = np.full((len(names), min(int(ahead.max()) + 1, MOST_AHEAD), features.shape[1]), np.nan)
    kept = ahead < MOST_AHEAD
    found[series[codes[order][kept]], ahead[kept]] = features[order][kept]
    return found


def _next_rows(problem: Problem, names: Array, later: Table) -> tuple[Ints, Array, Floats]:
    """The series that have later rows, and the period and features of the first of each."""
    codes, period, features, order, series = _later_rows(problem, names, later)
    first = order[np.r_[True, codes[order][1:] != codes[order][:-1]]]
    return series[codes[first]], period[first], features[first]


def _later_rows(problem: Problem, names: Array, later: Table) -> tuple[Ints, Array, Floats, Ints, Ints]:
    """Codes, periods and features of later rows, their order by series and period, and the series of each code."""
    findings, columns = Findings(f"today ({later.name})", later.place), problem.columns
    reader = ColumnReader(later, findings, problem.format)
    codes, texts = findings.series_of = reader.series(columns.series_parts)
    period = findings.period_of = reader.period(columns.period)
    features, _ = read_features(problem, later, reader)
    order = np.lexsort((period, codes))
    again = np.r_[False, (codes[order][1:] == codes[order][:-1]) & (period[order][1:] == period[order][:-1])]
    findings.check(again, "today must have one row a series and period", verb="is one of several", rows=order)
    findings.raise_if_any()
    place = {name: at for at, name in enumerate(names.tolist())}
    return codes, period, features, order, np.array([place[text] for text in texts])


def read_features(problem: Problem, rows: Table, reader: ColumnReader) -> tuple[Floats, Bools]:
    """The features, and rows with a level that the log never had, whose code is -1; NaN those of the calendar."""
    features, unseen = np.full((rows.rows, len(problem.features)), np.nan), np.zeros(rows.rows, dtype=bool)
    # An unknown level is a flag here, and no finding.
    lenient = ColumnReader(rows, Findings(rows.name), problem.format)
    for index, feature in enumerate(problem.features):
        if feature.calendar is not None:
            continue
        if feature.kind == "numeric":
            features[:, index] = reader.number(feature.name, negative=True, truths=True)
        else:
            present = reader.labels(feature.name)[0] >= 0
            features[:, index] = lenient.levels(feature)[1]
            unseen |= present & (features[:, index] < 0)
    return features, unseen


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
