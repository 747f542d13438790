"""The period after the log: its rows as far as the log determines them, and the features of the periods to come."""

import numpy as np

from lostsales.data.balance import stock_after
from lostsales.data.calendar.openings import ClockRows, on_given_closed, shared_columns
from lostsales.data.encoding import costs_as_features
from lostsales.data.labels import SERIES_SEPARATOR, spelled
from lostsales.data.log import SalesLog
from lostsales.data.reading.log_columns import fill_calendar
from lostsales.data.sublogs import series_of
from lostsales.evaluation.assortment import on_sale
from lostsales.policy.next_day import cycle_of, features_ahead
from lostsales.types import Array, Floats

MOST_CLOSED = 14  # periods in a row


def open_rows(log: SalesLog) -> dict[str, Array]:
    """A table of today's rows for every product that is still sold, under the names of the problem.

    Stock follows from the balance, features by `features_ahead`, unit costs and attributes stay.
    """
    products = log.products
    last = np.full(len(products), -1)
    last[products.of_segment] = np.arange(len(log.names))  # the last part of a product that holes split
    part = costs_as_features(series_of(log, last[on_sale(log, products)]))
    names, ends = log.problem.columns, np.r_[part.starts[1:], len(part)] - 1
    parts = names.series_parts
    named = [str(name).split(SERIES_SEPARATOR, len(parts) - 1) for name in part.names]
    columns: dict[str, Array] = {
        column: np.array([each[at] for each in named], dtype=object) for at, column in enumerate(parts)
    }
    columns[names.period] = _next_open_period(part)
    features = next_features(part)[0]
    for at, feature in enumerate(part.problem.features):
        values = features[:, at]
        if feature.levels is not None:
            columns[feature.name] = np.array(feature.levels, dtype=object)[values.astype(np.int64)]
        else:
            columns[feature.name] = values
    columns[names.stock] = np.maximum(stock_after(part)[ends], 0.0)
    return columns | {name: values for name, values in part.attributes.items() if name not in columns}


def next_features(log: SalesLog) -> tuple[Floats, tuple[str, ...]]:
    """Features of the period after each series, (series, features), and the names of those that are assumed."""
    found, assumed = features_ahead(log)
    fill_calendar(log.problem, _next_open_period(log), found)
    return found, assumed


def next_period(log: SalesLog) -> Array:
    """One usual step after the last period of each series, (series,)."""
    ends = np.r_[log.starts[1:], len(log)] - 1
    return log.period_after(ends)


def _next_open_period(log: SalesLog) -> Array:
    """The next period of each series that is not given as closed, (series,)."""
    period, first = next_period(log), log.period[np.r_[log.starts[1:], len(log)] - 1]
    step = period - first
    shared = shared_columns(log.problem.columns.series_parts, log.names, log.attributes)
    for _ in range(MOST_CLOSED):
        rows = ClockRows(np.arange(len(period)), log.names.tolist(), period, shared)
        closed = on_given_closed(log.problem.clock, rows)
        if not closed.any():
            break
        period = np.where(closed, period + step, period)
    return period


def coming_features(
    log: SalesLog | None, name: str, today: tuple[Floats, ...], periods: int, first: str = ""
) -> tuple[list[tuple[Floats, ...]], tuple[str, ...]]:
    """Features of the periods after today's of one series, and the names of those that are only carried over.

    A feature that followed a cycle in the log of the series goes on with it, those of the calendar follow from the
    dates after `first`, today's period; `today` has one entry a feature, (1,).
    """
    names = () if log is None else tuple(feature.name for feature in log.problem.features)
    rows = np.zeros(0, dtype=np.int64)
    if log is not None and len(found := np.flatnonzero(log.names == name)):
        at = int(found[-1])
        rows = np.arange(log.starts[at], np.r_[log.starts[1:], len(log)][at])
    carried, columns = [], []
    dated = _calendar_ahead(log, first, periods)
    for index, values in enumerate(today):
        if index in dated:
            columns.append(dated[index].tolist())
            continue
        seen = np.r_[log.features[rows, index], values] if log is not None and len(rows) else values
        lag = cycle_of(seen, np.arange(len(seen)))
        if lag is None:
            carried.append(names[index] if index < len(names) else str(index))
        columns.append([seen[-lag:][step % lag] if lag else values[0] for step in range(periods)])
    coming = [tuple(np.array([column[step]]) for column in columns) for step in range(periods)]
    return coming, tuple(carried)


def _calendar_ahead(log: SalesLog | None, first: str, periods: int) -> dict[int, Floats]:
    """The features of the calendar in coming periods, by their index; none if the periods cannot be determined."""
    if log is None or not log.problem.calendar or not periods:
        return {}
    try:
        dates = np.array(coming_periods(log, first, periods + 1)[1:], dtype="datetime64[us]")
    except ValueError:
        return {}
    features = np.zeros((periods, len(log.problem.features)))
    fill_calendar(log.problem, dates, features)
    return {at: features[:, at] for at, each in enumerate(log.problem.features) if each.calendar is not None}


def coming_periods(log: SalesLog | None, first: str, periods: int) -> list[str]:
    """The texts of periods from today's on, in the usual step of the log; numbered if that cannot be determined."""
    try:
        if log is not None and log.period.dtype.kind == "M" and log.usual_step:
            return [spelled(np.datetime64(first, "us") + at * log.usual_step) for at in range(periods)]
        return [str(int(first) + at) for at in range(periods)]
    except ValueError:
        return [first if at == 0 else f"{first} + {at}" for at in range(periods)]
