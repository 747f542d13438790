"""Knowledge of the next period: the calendar, and features given with rows of later periods in today."""

import numpy as np

from lostsales.data.calendar.periods import next_open_periods
from lostsales.data.problem import Problem
from lostsales.data.reading.columns import ColumnReader
from lostsales.data.reading.findings import Findings
from lostsales.data.reading.log_columns import fill_calendar
from lostsales.data.reading.table import SomeRows, Table
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
