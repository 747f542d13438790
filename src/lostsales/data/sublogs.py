"""Sub-logs: some series of a log, all but some of its rows, and the part that a policy is evaluated on."""

from dataclasses import replace
from typing import Any

import numpy as np

from lostsales.data.assortment import is_assortment
from lostsales.data.encoding import attribute_levels
from lostsales.data.log import AnyLog, SalesLog
from lostsales.data.pipelines import with_pipeline
from lostsales.data.receipts import receipts_by_stock
from lostsales.errors import SettingError
from lostsales.types import Array, Bools, Floats, Ints

# Columns that differ in an open row from the row before; the price and the length of the period do not.
OPENED = (
    "period",
    "features",
    "sales",
    "stock",
    "order",
    "stockout",
    "received",
    "adjustment",
    "wasted",
    "out_of_stock",
)


def without(log: AnyLog, rows: Bools) -> AnyLog:
    """The log less some rows; what follows a hole is a series of its own, opened by the sales before it."""
    kept = np.flatnonzero(~rows)
    begins = np.r_[True, (np.diff(kept) > 1) | (np.diff(log.series[kept]) > 0)] if len(kept) else np.zeros(0, bool)
    return series_parts(log, kept, begins)


def between(log: AnyLog, first: object = None, last: object = None) -> AnyLog:
    """The rows of a log from one period to another, both included.

    Parameters
    ----------
    log : SalesLog
        What `read_log` returns.
    first, last : date or whole number, optional
        As the periods of the log: "2026-03-01" or 12. Without one there is no limit.

    Returns
    -------
    SalesLog
        Each product goes on after the sales of the period before.

    Raises
    ------
    SettingError
        No row lies between, or a limit is not of the kind of the log's periods.

    Examples
    --------
    >>> import lostsales
    >>> str(lostsales.between(lostsales.load_example(), "2026-03-01", "2026-03-31").period.max())[:10]
    '2026-03-31'

    """
    is_dated = log.period.dtype.kind == "M"
    inside = np.ones(len(log), dtype=bool)
    for limit, after in ((first, np.greater_equal), (last, np.less_equal)):
        if limit is not None:
            try:
                inside &= after(log.period, _moment(limit) if is_dated else int(str(limit)))
            except ValueError:
                wanted = "a date such as 2026-03-01" if is_dated else "a whole number"
                raise SettingError(f"periods of this log are limited by {wanted}, but {limit!r} came") from None
    if not inside.any():
        raise SettingError(f"the log has no row from {first} to {last}")
    return without(log, ~inside)


def _moment(limit: object) -> Any:
    """A date; a number is none, which numpy would read as a year."""
    if isinstance(limit, int | float):
        raise ValueError
    return np.datetime64(str(limit))


def series_of(log: AnyLog, chosen: Ints) -> AnyLog:
    """Some series of a log, in the order given."""
    ends = np.r_[log.starts[1:], len(log)]
    spans = [np.arange(log.starts[each], ends[each]) for each in chosen]
    rows = np.concatenate(spans) if spans else np.zeros(0, np.int64)
    begins = np.zeros(len(rows), dtype=bool)
    begins[np.cumsum([0] + [len(span) for span in spans[:-1]])] = True
    return series_parts(log, rows, begins)


def series_parts(log: AnyLog, rows: Ints, begins: Bools) -> AnyLog:
    """Some rows of a log; a new series begins where `begins` (rows,) is True."""
    first = rows[begins]
    old = log.series[first]
    opens = first == log.starts[old]
    before = np.maximum(first - 1, 0)
    columns: dict[str, Any] = {name: column[rows] for name, column in log.row_columns.items()}
    return replace(
        log,
        **columns,
        names=log.names[old],
        series=np.cumsum(begins) - 1,
        last_sales=np.where(opens, log.last_sales[old], log.sales[before]),
        last_stockout=np.where(opens, log.last_stockout[old], log.censored[before]),
        costs=None if log.costs is None else log.costs.at(rows),
        attributes={name: values[old] for name, values in log.attributes.items()},
        levels=attribute_levels(log),
    )


def with_open_period(log: AnyLog, features: Floats, stock: Floats, period: Array) -> AnyLog:
    """The log with one open row after each series: nothing ordered or sold yet, at the last price and unit costs.

    `features` (series, features), `stock` and `period` (series,) are those of the open rows.
    """
    ends = np.r_[log.starts[1:], len(log)]
    rows = np.insert(np.arange(len(log)), ends, ends - 1)
    opened = ends + np.arange(len(ends))
    begins = np.zeros(len(rows), dtype=bool)
    begins[log.starts + np.arange(len(ends))] = True
    longer = series_parts(log, rows, begins)

    given = {"period": period, "features": features, "stock": stock}
    columns: dict[str, Any] = {name: longer.row_columns[name].copy() for name in OPENED if name in longer.row_columns}
    for name, column in columns.items():
        column[opened] = given.get(name, 0.0)
    return _with_open_pipeline(replace(longer, **columns), opened)


def _with_open_pipeline(log: AnyLog, opened: Ints) -> AnyLog:
    """The log with the pipeline of its open rows: that of the rows before them, less what arrived, and their orders."""
    if log.pipeline is None or log.ledger is None or log.received is None:
        return log
    if log.problem.lead_times.is_fixed:
        pipeline = log.pipeline.copy()
        pipeline[opened] = np.column_stack([log.pipeline[opened - 1], log.ledger.order[opened - 1]])[:, 1:]
        return replace(log, pipeline=pipeline)
    # The last receipt may not be in the table yet, but today's stock shows it.
    received, last = log.received.copy(), opened - 1
    received[last] = np.maximum(received[last], receipts_by_stock(log.ledger)[last])
    return with_pipeline(replace(log, received=received))


# Part of a larger log is precise enough: intervals are over at most twenty units, and every further row
# takes its time in each of them, and in each fit of a comparison.
EVALUATED_ROWS = 40_000  # default of `evaluate`
COMPARED_ROWS = 20_000  # default of `compare`
QUICK_ROWS = 5_000  # default of quick runs
KEPT_SERIES = 20  # are kept where there are more; long ones are shortened instead
LEAST_PERIODS = 60  # of each product of an assortment: all products are kept, as long as so many periods of each are


def evaluated_part(log: SalesLog, most: int, seed: int) -> tuple[SalesLog, tuple[str, ...]]:
    """The log, or a part of at most about `most` rows, and notes on what was left out."""
    if len(log) <= most:
        return log, ()
    notes = []
    names = np.unique(log.names)  # the parts of a series that a hole splits share a name
    wanted = most // LEAST_PERIODS if is_assortment(log) else most * len(names) // len(log)
    kept = int(np.clip(wanted, min(KEPT_SERIES, len(names)), len(names)))
    if kept < len(names):
        chosen = np.random.default_rng(seed).permutation(names)[:kept]
        log = series_of(log, np.flatnonzero(np.isin(log.names, chosen)))
        notes.append(f"evaluated on {kept:,} of {len(names):,} series, drawn at random")
    if len(log) > most:
        periods = most // kept
        if not periods:
            raise SettingError(f"rows must be at least {kept}, one per series, but {most} came")
        left = _end_of_name(log) - np.arange(len(log))
        log = without(log, left > periods)
        notes.append(f"evaluated on the last {periods:,} periods of each series")
    return log, tuple(notes)


def _end_of_name(log: SalesLog) -> Ints:
    """End of the rows of each row's series, all its parts included, (rows,)."""
    rows = np.arange(len(log))
    name = log.names[log.series]
    last = np.r_[name[1:] != name[:-1], True]
    return np.asarray(np.minimum.accumulate(np.where(last, rows + 1, len(log))[::-1])[::-1])
