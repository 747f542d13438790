"""Views and history blocks of rows of a log and of open periods.

A history block H'_{(t-i):t} (Section 3.2) holds all that a decision at depth i may depend on: the anchor's demand, then
from the newest period back features, stock and, in closed periods, the action. If orders take time, the open period
has its pipeline too, and where they have their days its position in their cycle.
"""

from dataclasses import dataclass, replace

import numpy as np

from lostsales.data.encoding import costs_as_features, feature_columns
from lostsales.data.feature import Feature
from lostsales.data.log import AnyLog, SalesLog
from lostsales.data.problem import Problem
from lostsales.demand.censoring.runs import Runs
from lostsales.errors import LostSalesError
from lostsales.policy.policy import Policy
from lostsales.policy.recent_demand import RecentDemand
from lostsales.policy.shelf import believed_ages
from lostsales.policy.view import Action, ClosedPeriod, View, order_limit
from lostsales.types import Floats, Ints


@dataclass(frozen=True, eq=False)
class HistoryPeriod:
    """One period of a history, one entry a row; the open one has no action yet."""

    features: tuple[Floats, ...]
    stock: Floats
    action: Action | None = None
    pipeline: Floats | None = None  # (rows, columns) of the open period
    order_phase: Ints | None = None  # of the open period


def history_block(
    features: tuple[Feature, ...],
    anchor_demand: Floats,
    periods: list[HistoryPeriod],
    scale: Floats | float = 1.0,
    attributes: Floats | None = None,
    usual_price: Floats | float = 1.0,
) -> Floats:
    """H'_{(t-i):t}, newest period first, (rows, coordinates).

    Units are divided by the scale of each row's series, prices by its usual price; attributes (rows, columns) come
    last, a categorical feature is one indicator a level.
    """
    columns = [anchor_demand / scale]
    for period in periods:
        columns += [*feature_columns(features, period.features), period.stock / scale]
        if period.pipeline is not None:
            columns += list(period.pipeline.T / scale)
        if period.order_phase is not None:
            columns.append(period.order_phase.astype(np.float64))
        if period.action is not None:
            columns += [period.action.price / usual_price, period.action.order / scale]
    return np.column_stack(columns if attributes is None else [*columns, attributes])


def blocks_of_rows(
    log: SalesLog,
    anchor_demand: Floats,
    rows: Ints,
    depth: int,
    scale: Floats | float = 1.0,
    attributes: Floats | None = None,
    usual_price: Floats | float = 1.0,
) -> Floats:
    """The history blocks of rows of a log, `depth` closed periods long; `anchor_demand` is by row."""
    stock, order = _stock_and_order(log)
    periods = []
    for back in range(depth + 1):
        at = rows - back
        action = Action(log.price[at], order[at]) if back else None
        periods.append(HistoryPeriod(tuple(log.features[at].T), stock[at], action, *_supply_of_rows(log, at, back)))
    return history_block(log.problem.features, anchor_demand, periods, scale, attributes, usual_price)


def blocks_of_view(
    features: tuple[Feature, ...],
    view: View,
    rows: Ints,
    depth: int,
    run: Ints | None = None,
    scale: Floats | float = 1.0,
    attributes: Floats | None = None,
    usual_price: Floats | float = 1.0,
) -> Floats:
    """The history blocks of series of a view, `depth` periods long; the anchor lies `run` or `depth` periods back."""
    pipeline = None if view.pipeline is None else view.pipeline[rows]
    phase = None if view.order_phase is None else view.order_phase[rows]
    periods = [HistoryPeriod(tuple(each[rows] for each in view.features), view.stock[rows], None, pipeline, phase)]
    closed = list(reversed(view.past))
    for each in closed[:depth]:
        action = Action(each.action.price[rows], each.action.order[rows])
        periods.append(HistoryPeriod(tuple(one[rows] for one in each.view.features), each.view.stock[rows], action))
    back = np.full(len(rows), depth) if run is None else run
    seen = [view.last_sales, *(each.view.last_sales for each in closed[: int(back.max(initial=0))])]
    anchor_demand = np.stack(seen)[back, rows]
    return history_block(features, anchor_demand, periods, scale, attributes, usual_price)


def _supply_of_rows(log: SalesLog, rows: Ints, back: int) -> tuple[Floats | None, Ints | None]:
    """Pipeline and position in the cycle of order days, of the open period only."""
    if back:
        return None, None
    return None if log.pipeline is None else log.pipeline[rows], log.problem.supply.order_phase(log.period[rows])


def limits_of_rows(log: SalesLog, rows: Ints) -> Floats | None:
    """The most that the supply lets each row order, (rows,); None where it sets no limit."""
    pipeline, phase = _supply_of_rows(log, rows, 0)
    return order_limit(log.problem, _stock_and_order(log)[0][rows], pipeline, phase)


def supply_columns(problem: Problem) -> int:
    """Number of columns of a history block that describe the pipeline and the order days."""
    return problem.pipeline_length + (problem.supply.order_cycle is not None)


def log_as_asked(policy: Policy, log: AnyLog) -> AnyLog:
    """The log with the features that a policy asks for, unit costs that vary among them where it uses them."""
    return log if policy.asks == log.problem.features else costs_as_features(log)


def view_of_rows(log: SalesLog, runs: Runs, rows: Ints) -> View:
    """The open periods of rows whose depth is known, with their past back to the anchor."""
    order = _stock_and_order(log)[1]
    depth = runs.depth[rows].astype(np.int16)
    first = log.starts[log.series[rows]]
    past = []
    for back in range(max(int(depth.max(initial=0)), 1), 0, -1):
        at = np.maximum(rows - back, first)
        price = np.where(rows - back >= first, log.price[at], np.nan)  # before its series, and never read
        past.append(ClosedPeriod(_open_period(log, runs, at), Action(price, order[at])))
    opened = _open_period(log, runs, rows)
    names = log.names[log.series[rows]]
    recent = recent_demand(log, runs, log.series[rows], rows)
    ages = None if log.stock is None else believed_ages(log, log.series[rows], rows, log.stock[rows])
    return replace(
        opened,
        last_stockout=depth > 0,
        depth=depth,
        past=tuple(past),
        names=names,
        recent=recent,
        dates=log.period[rows],
        ages=ages,
        season_end=None if log.season_end is None else log.season_end[rows],
        salvage=None if log.salvage is None else log.salvage[rows],
    )


def recent_demand(log: SalesLog, runs: Runs, series: Ints, end: Ints) -> RecentDemand:
    """Demand that products of a log had shown before the rows `end`, also before a gap in their periods."""
    begins = np.r_[True, log.names[1:] != log.names[:-1]]
    first = log.starts[np.maximum.accumulate(np.where(begins, np.arange(len(log.names)), 0))]
    return RecentDemand(
        runs.observed.least,
        ~runs.observed.is_observed,
        first[series],
        end,
        log.period,
        price=log.price,
        features=log.features,
    )


def last_observed(log: SalesLog, runs: Runs, rows: Ints, opening: Floats | None = None) -> Floats:
    """Observation of the period before each row: its demand where it is observed, else its sales, (rows,).

    Before the first row of a series it is `opening`, (series,), by default the last sales of the log.
    """
    before = np.maximum(rows - 1, 0)
    seen = np.where(runs.observed.is_observed[before], runs.observed.demand[before], log.sales[before])
    opening = log.last_sales if opening is None else opening
    return np.where(rows > log.starts[log.series[rows]], seen, opening[log.series[rows]])


def _open_period(log: SalesLog, runs: Runs, rows: Ints) -> View:
    stock, no = _stock_and_order(log)[0][rows], np.zeros(len(rows), dtype=bool)
    last_sales = last_observed(log, runs, rows)
    return View(
        period=0,
        features=tuple(log.features[rows].T),
        stock=stock,
        last_sales=last_sales,
        last_stockout=no,
        depth=no.astype(np.int16),
        last_demand=None,
        pipeline=None if log.pipeline is None else log.pipeline[rows],
        order_phase=log.problem.supply.order_phase(log.period[rows]),
    )


def _stock_and_order(log: SalesLog) -> tuple[Floats, Floats]:
    if log.stock is None or log.order is None:
        raise LostSalesError("a policy decides on stock and orders, and this log has none")
    return log.stock, log.order
