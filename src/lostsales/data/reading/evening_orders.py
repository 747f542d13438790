"""Orders that a shop places at closing time and writes on that day's row, laid out as orders of the next opening.

`order_placed = "close"` declares them. Layers behind the gate then see the usual layout: the order of a row was decided
when its period opened, and `arrival`, `lead_time` and `order_days` count from that opening. An order that is on the
shelf the next morning is one with `arrival = "before"`.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from lostsales.data.economics import UnitCosts
from lostsales.data.ledger import Ledger
from lostsales.data.log import SalesLog
from lostsales.data.problem import Problem
from lostsales.data.reading.findings import Findings
from lostsales.data.reading.log_columns import LogColumns, previous_rows
from lostsales.data.receipts import receipts_by_stock
from lostsales.types import Floats, Ints, exceeds


def lay_out(columns: LogColumns, problem: Problem, findings: Findings) -> tuple[LogColumns, Problem]:
    """The columns with the order of each row decided at its opening and a stock that does not hold it yet.

    Of a problem that leaves it open whether the stock of a row holds what arrives before its doors open, the result
    says it, so that a few recent rows are read as the log was.
    """
    stock, order = columns.rows["stock"], columns.rows["order"]
    if stock is None or order is None or (problem.order_placed == "open" and not problem.stock_includes_arrivals):
        return columns, problem
    rows, costs = dict(columns.rows), columns.costs
    previous = previous_rows(columns.codes, columns.period)
    if problem.order_placed == "close":
        _check(columns, problem, findings, previous)
        rows["order"] = _of_previous(order, previous)
        costs = _shifted(costs, previous)
    if problem.order_placed == "close" and problem.stock_includes_arrivals is None and problem.arrival == "before":
        problem = problem.model_copy(update={"stock_includes_arrivals": _includes(rows, previous)})
    if problem.stock_includes_arrivals:
        rows["stock"] = stock - (rows["order"] if rows["received"] is None else rows["received"])
    return replace(columns, rows=rows, costs=costs), problem


def with_first_orders(log: SalesLog, starts: Ints) -> SalesLog:
    """The log with orders in the rows that open a series: they were placed the evening before, which has no row.

    They are what must have arrived, by receipts or by the stock. Where the stock of such a row held them, only the sum
    is known: the usual order of the series, or the whole stock where that is less, stands for them.
    """
    ledger = log.ledger
    if ledger is None or log.problem.order_placed == "open" or not len(starts):
        return log
    stock, order, last = ledger.stock.copy(), ledger.order.copy(), len(log) - 1
    if log.problem.stock_includes_arrivals and log.received is None:
        on_shelf = stock[starts] + order[starts]
        order[starts] = np.minimum(_usual(order, log)[log.series[starts]], on_shelf)
        stock[starts] = on_shelf - order[starts]
        return replace(log, stock=stock, order=order)
    arrived = _arrived_by_stock(ledger, log.problem) if log.received is None else log.received
    lead = log.problem.lead_times
    due = starts + max(lead.longest - 1, 0)  # the row in which such an order arrives
    is_seen = lead.is_fixed & (due <= last) & (log.series[np.minimum(due, last)] == log.series[starts])
    order[starts] = np.where(is_seen, arrived[np.minimum(due, last)], 0.0)
    return replace(log, order=order)


def _arrived_by_stock(ledger: Ledger, problem: Problem) -> Floats:
    """Arrivals implied by the next stock; in the last row of a series, the sales beyond the stock."""
    if problem.arrival == "after":
        return receipts_by_stock(ledger)
    left = np.where(ledger.has_next, np.r_[ledger.stock[1:], 0.0] - ledger.moved, 0.0)
    return np.asarray(np.maximum(left - ledger.stock + ledger.sales, 0.0))


def _of_previous(column: Floats, previous: Ints) -> Floats:
    return np.where(previous < 0, 0.0, column[np.maximum(previous, 0)])


def _shifted(costs: UnitCosts | None, previous: Ints) -> UnitCosts | None:
    """An order costs what the row says on which it was written; the first row of a series has no such row."""
    if costs is None or not isinstance(costs.order, np.ndarray):
        return costs
    return costs._replace(order=costs.order[np.where(previous < 0, np.arange(len(previous)), previous)])


def _check(columns: LogColumns, problem: Problem, findings: Findings, previous: Ints) -> None:
    """Refuse records whose moment is unclear where orders are placed at closing time."""
    names, order, received = problem.columns, columns.rows["order"], columns.rows["received"]
    if columns.on_order is not None:
        findings.add(
            f'{names.on_order} cannot be read with order_placed = "close", as it does not say whether the evening\'s '
            "order is part of it: leave it out, what is on the way follows from the orders"
        )
    if received is None or problem.arrival == "after":
        return
    before = _of_previous(order, previous)
    differs = (previous >= 0) & (exceeds(order, before) | exceeds(before, order))
    same_day, next_day = (
        np.count_nonzero(differs & ~exceeds(received, each) & ~exceeds(each, received)) for each in (order, before)
    )
    if same_day > next_day:
        findings.add(
            f"{names.received} must stand on the row of the period in which it can be sold first, but in {same_day:,} "
            "rows it is the order that was placed at the close of the same row: where all that is ordered arrives, "
            f'set [columns] received = "no {names.received}"'
        )


def _includes(rows: dict[str, Any], previous: Ints) -> bool:
    """True if the next stock follows from the previous one with the arrivals since, rather than with those before.

    Where both do or none does, it is so unless more was sold than the stock.
    """
    stock, sales = rows["stock"], rows["sales"]
    arrived = rows["order"] if rows["received"] is None else rows["received"]
    now = np.flatnonzero(previous >= 0)
    before = previous[now]
    moved = 0.0 if rows["adjustment"] is None else rows["adjustment"][before]
    left = stock[before] - sales[before] + moved
    holds = np.count_nonzero(np.isclose(stock[now], left + arrived[now]))
    known = previous[before] >= 0
    lacks = np.count_nonzero(np.isclose(stock[now], left + arrived[before]) & known)
    return bool(holds > lacks if holds != lacks else not exceeds(sales, stock).any())


def _usual(order: Floats, log: SalesLog) -> Floats:
    """The median order of each series, the lower of two, without those of its first row, (series,)."""
    is_first = np.zeros(len(log), dtype=bool)
    is_first[log.starts] = True
    ranked = order[np.lexsort((order, ~is_first, log.series))]  # the first row first
    length = np.diff(np.r_[log.starts, len(log)])
    return np.asarray(np.where(length > 1, ranked[log.starts + length // 2], 0.0))
