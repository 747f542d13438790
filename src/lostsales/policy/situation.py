"""The open day of a shop: recent rows and today's rows as the view that a policy decides on."""

from dataclasses import dataclass

import numpy as np

from lostsales.arrays import Array, Floats, Ints
from lostsales.data.columns import ColumnReader
from lostsales.data.findings import Findings
from lostsales.data.gate import HOLE, read_table
from lostsales.data.labels import spelled
from lostsales.data.log import SalesLog
from lostsales.data.problem import Problem
from lostsales.data.table import Table
from lostsales.demand.runs import find_runs
from lostsales.policy.rollout import Action, Closed, View

NO_HISTORY = "no known demand: the last sales count as demand"
NOTHING_KNOWN = "nothing known of the past: the usual demand stands in"
UNSEEN_LEVEL = "a category that the log never had"
GAP = "periods are missing between the recent rows and today"


@dataclass(frozen=True, eq=False)
class Situation:
    """Today's rows, in their order, and what is said about each."""

    series: Array  # (rows,) text
    period: Array
    view: View
    last_price: Floats  # (rows,) NaN where unknown
    flags: list[list[str]]  # by row


def situation(problem: Problem, recent: Table | None, today: Table, usual_demand: float) -> Situation:
    """Read and check both tables, and find each series' depth and history.

    A series whose recent rows hold no known demand is answered as if its last sales were its demand; one with no past
    at all as if it had seen the usual demand. Both are flagged.
    """
    log = read_table(recent, problem) if recent is not None and recent.rows else None
    codes, texts, period, features, stock, last_sales, flags = _read_today(problem, today)
    names = texts[codes]
    rows = len(names)
    last_row, depth, demand_before = np.full(rows, -1), np.zeros(rows, dtype=np.int64), last_sales.copy()
    known = ~np.isnan(last_sales)
    runs = None
    if log is not None:
        runs = find_runs(log)
        ends = np.r_[log.starts[1:], len(log)] - 1
        newest = dict(zip(log.names, ends, strict=True))  # the last part of a series that holes split
        last_row = np.array([newest.get(name, -1) for name in names])
        _flag_gaps(log, last_row, period, flags)
        has = last_row >= 0
        at = last_row[has]
        hidden = ~runs.observed.known[at]
        deep = np.where(hidden, runs.depth[at] + 1, 0)
        lost = hidden & (runs.depth[at] < 0)
        depth[has] = np.where(lost, 0, deep)
        demand_before[has] = np.where(lost | ~hidden, log.sales[at], runs.observed.demand[at])
        demand_before[has] = np.where(~hidden, runs.observed.demand[at], demand_before[has])
        known[has] = ~lost
        for row in np.flatnonzero(has)[lost]:
            flags[row].append(NO_HISTORY)
    for row in np.flatnonzero(~known & (last_row < 0)):
        flags[row].append(NOTHING_KNOWN)
    demand_before = np.where(np.isnan(demand_before), usual_demand, demand_before)
    past = () if log is None or runs is None else _past(log, runs.observed.demand, last_row, int(depth.max(initial=0)))
    view = View(0, tuple(features.T), stock, demand_before, depth > 0, depth, None, past)
    last_price = np.full(rows, np.nan)
    if log is not None:
        last_price[last_row >= 0] = log.price[last_row[last_row >= 0]]
    period = period.astype(np.int64) if period.dtype.kind == "f" else period
    return Situation(names, period, view, last_price, flags)


def _past(log: SalesLog, demand: Floats, last_row: Ints, longest: int) -> tuple[Closed, ...]:
    """The last closed periods, oldest first; where a series is shorter its first row stands in and is never read."""
    stock, order = np.asarray(log.stock), np.asarray(log.order)
    safe_row = np.maximum(last_row, 0)
    first = log.starts[log.series[safe_row]]
    closed = []
    for back in range(longest - 1, -1, -1):
        at = np.maximum(safe_row - back, first)
        before = np.where(at > first, demand[np.maximum(at - 1, 0)], log.last_sales[log.series[at]])
        nothing = np.zeros(len(at), dtype=bool)
        view = View(0, tuple(log.features[at].T), stock[at], before, nothing, nothing.astype(np.int16), None)
        closed.append(Closed(view, Action(log.price[at], order[at])))
    return tuple(closed)


def _flag_gaps(log: SalesLog, last_row: Ints, period: Array, flags: list[list[str]]) -> None:
    """A series whose recent rows do not reach yesterday has no usable past."""
    steps = np.diff(log.period)[log.has_next[:-1]]
    if not len(steps):
        return
    for row in np.flatnonzero(last_row >= 0):
        if period[row] - log.period[last_row[row]] > HOLE * steps.min():
            flags[row].append(GAP)
            last_row[row] = -1


def _read_today(problem: Problem, today: Table) -> tuple[Ints, Array, Array, Floats, Floats, Floats, list[list[str]]]:
    findings, names = Findings(today.name), problem.columns
    reader = ColumnReader(today, findings)
    wanted = [*names.series_parts, names.period, names.stock, *(feature.name for feature in problem.features)]
    if missing := [column for column in wanted if column not in today.columns]:
        findings.add(f"missing column {', '.join(map(repr, missing))}")
    findings.raise_if_any()
    codes, texts = findings.series_of = reader.series(names.series_parts)
    period = findings.period_of = reader.period(names.period)
    flags: list[list[str]] = [[] for _ in range(today.rows)]
    features = np.empty((today.rows, len(problem.features)))
    for index, feature in enumerate(problem.features):
        if feature.kind == "numeric":
            features[:, index] = reader.number(feature.name, negative=True)
            continue
        level_codes, level_texts = reader.labels(feature.name)
        known = {spelled(level): place for place, level in enumerate(feature.levels or ())}
        level = np.array([known.get(text, -1) for text in level_texts] + [-1])[level_codes]
        features[:, index] = level
        for row in np.flatnonzero(level < 0):
            flags[row].append(UNSEEN_LEVEL)
    stock = reader.number(names.stock)
    last_sales = reader.optional(names.last_sales, gaps=True)
    twice = np.bincount(codes[codes >= 0], minlength=len(texts)) > 1
    findings.check(twice[codes] & (codes >= 0), "today must have one row a series, and it has another")
    findings.raise_if_any()
    return (
        codes,
        texts,
        period,
        features,
        stock,
        np.full(today.rows, np.nan) if last_sales is None else last_sales,
        flags,
    )
