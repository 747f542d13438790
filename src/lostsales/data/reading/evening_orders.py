"""Orders that a shop places at closing time and writes on that day's row: found by the day's sales, and laid out.

`order_placed = "close"` declares them. Layers behind the gate then see the usual layout: the order of a row was decided
when its period opened, and `arrival`, `lead_time` and `order_days` count from that opening. An order that is on the
shelf the next morning is one with `arrival = "before"`.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lostsales.data.economics import UnitCosts
from lostsales.data.ledger import Ledger
from lostsales.data.log import SalesLog
from lostsales.data.problem import Problem
from lostsales.data.reading.findings import Findings
from lostsales.data.reading.log_columns import LogColumns, previous_rows
from lostsales.data.receipts import receipts_by_stock
from lostsales.types import Bools, Floats, Ints, exceeds


def opening_stock(closing: Floats, arrived: Floats, sales: Floats, moved: Floats, previous: Ints) -> Floats:
    """Stock when each period opens, (rows,), given the row before it in its series (-1 for none).

    It is the closing stock of the row before, and what arrived in that row if it came after the count: then the
    stocks follow from each other with the arrivals of the row before, otherwise with those of the row itself. The first
    row of a series opens with what it sold and left.
    """
    now = np.flatnonzero(previous >= 0)
    before = previous[now]
    left = closing[before] - sales[now] + moved[now]
    counted = np.count_nonzero(np.isclose(closing[now], left + arrived[now]))
    is_counted = counted >= np.count_nonzero(np.isclose(closing[now], left + arrived[before]))
    opening = closing + sales - moved - (arrived if is_counted else 0.0)
    opening[now] = closing[before] + (0.0 if is_counted else arrived[before])
    return np.asarray(np.maximum(opening, 0.0))


LEAST_DECISIONS = 40  # rows with an order, below which regressions on up to fourteen columns are not trusted
REGRESSED_ROWS = 20_000  # of more rows an even subset is used: bounds time
LEAST_SHARE = 0.5  # of what the opening leaves unexplained, explained by the sales of the same period
LEAST_SPREAD = 0.02  # what the opening must leave unexplained, relative to the spread of orders
SOLD_AT_ONCE = 0.001  # share of rows that sold more than their stock, beyond which it is no slip
BACK = 2  # earlier periods that a manager looks at
STEPS = 15  # of the iterations towards least absolute deviations
WEEK = 7  # periods of the weekly pattern


@dataclass(frozen=True)
class OrderMoment:
    """Regression of orders on the state at the opening, and its improvement by the sales of the period."""

    rows: int
    share: float  # of what the opening leaves unexplained, explained by the period's own sales
    slope: float  # units ordered for a unit sold in the same period

    @property
    def is_close(self) -> bool:
        """True if orders were placed at closing time: they rise with the sales of the same period."""
        return self.rows >= LEAST_DECISIONS and self.share >= LEAST_SHARE and self.slope > 0

    @property
    def sentence(self) -> str:
        """The finding with what to do."""
        return (
            "orders seem to be placed at closing time and written on that day's row: the day's own sales explain "
            f'{self.share:.0%} of what is left of them by the morning; set order_placed = "close", and arrival = '
            '"before" where such an order can be sold the next day'
        )


def order_moment(log: SalesLog) -> OrderMoment | None:
    """Time at which the orders of a log were decided; None without orders, or with `order_placed = "close"`."""
    ledger = log.ledger
    if ledger is None or log.problem.order_placed == "close":
        return None
    sold_at_once = np.count_nonzero(exceeds(ledger.sales, ledger.stock)) > SOLD_AT_ONCE * len(log)
    if log.problem.arrival == "before" and sold_at_once and not log.notes.balance_broken:
        return None  # orders of a row are sold in that row, so they were placed before its sales
    return moment_of(
        ledger.stock, ledger.order, ledger.sales, log.has_next, ~exceeds(log.available, log.sales), log.price
    )


def moment_of(
    stock: Floats, order: Floats, sales: Floats, has_next: Bools, sold_out: Bools, price: Floats | None = None
) -> OrderMoment | None:
    """Time of order decisions from columns sorted by series and period; None if too few rows show it.

    Two regressions of least absolute deviations are compared, of orders on what was known at the opening (stock, price,
    earlier sales and orders, the place in a week) and on that and the sales of the period, over rows with an order and
    stock left over: what was sold where nothing is left follows from what was ordered.
    """
    rows = len(stock)
    if rows <= BACK:
        return None
    series = np.r_[0, np.cumsum(~has_next[:-1])]
    at = np.arange(rows)
    full = (at >= BACK) & (series == np.r_[series[:BACK], series[:-BACK]]) & ~sold_out & (order > 0)
    kept = np.flatnonzero(full)
    kept = kept[:: -(-len(kept) // REGRESSED_ROWS)] if len(kept) > REGRESSED_ROWS else kept
    earlier = [column[kept - back] for back in range(1, BACK + 1) for column in (sales, order)]
    week = (at[kept, None] % WEEK == np.arange(1, WEEK)).astype(np.float64)
    known = np.column_stack([stock[kept], *earlier, week, *([] if price is None else [price[kept]])])
    finite = np.isfinite(known).all(axis=1) & np.isfinite(sales[kept]) & np.isfinite(order[kept])
    kept, known = kept[finite], known[finite]
    if len(kept) < LEAST_DECISIONS:
        return None
    codes = np.unique(series[kept], return_inverse=True)[1]
    scale = _by_series(np.abs(order[kept]), codes)
    target, own, known = (
        _centred(each / scale[:, None], codes) for each in (order[kept, None], sales[kept, None], known)
    )
    spread = float(np.median(np.abs(target)))
    left, _ = _least_absolute(target[:, 0], known)
    after, slope = _least_absolute(target[:, 0], np.column_stack([own, known]))
    if not left > LEAST_SPREAD * spread:
        return OrderMoment(len(kept), 0.0, slope)
    return OrderMoment(len(kept), max(1 - (after / left) ** 2, 0.0), slope)


def _by_series(values: Floats, codes: Ints) -> Floats:
    """The mean of each row's series, (rows,)."""
    return np.asarray((np.bincount(codes, values) / np.bincount(codes))[codes])


def _centred(columns: Floats, codes: Ints) -> Floats:
    return columns - np.column_stack([_by_series(column, codes) for column in columns.T])


def _least_absolute(target: Floats, columns: Floats) -> tuple[float, float]:
    """The median absolute residual and the first coefficient, by iteratively reweighted least squares."""
    design = np.column_stack([columns, np.ones(len(target))])
    weight = np.ones(len(target))
    slopes = np.zeros(design.shape[1])
    for _ in range(STEPS):
        root = np.sqrt(weight)[:, None]
        slopes = np.linalg.lstsq(design * root, target * root[:, 0], rcond=1e-10)[0]
        residual = np.abs(target - design @ slopes)
        weight = 1 / np.maximum(residual, 1e-4 + 1e-2 * float(residual.mean()))
    return float(np.median(np.abs(target - design @ slopes))), float(slopes[0])


def lay_out(columns: LogColumns, problem: Problem, findings: Findings) -> tuple[LogColumns, Problem]:
    """The columns with the order of each row decided at its opening and a stock that does not hold it yet.

    Of a problem that leaves it open whether the stock of a row holds what arrives before its doors open, the result
    says it, so that a few recent rows are read as the log was.
    """
    stock, order = columns.rows["stock"], columns.rows["order"]
    is_usual = problem.order_placed == "open" and not problem.stock_includes_arrivals and not columns.at_close
    if stock is None or order is None or is_usual:
        return columns, problem
    rows, costs = dict(columns.rows), columns.costs
    previous = previous_rows(columns.codes, columns.period)
    if problem.order_placed == "close":
        _check(columns, problem, findings, previous)
        rows["order"] = _of_previous(order, previous)
        costs = _shifted(costs, previous)
    if columns.at_close:
        arrived, moved = rows["order"] if rows["received"] is None else rows["received"], rows["adjustment"]
        moved = np.zeros(len(stock)) if moved is None else moved
        rows["stock"] = opening_stock(stock, arrived, rows["sales"], moved, previous)
        problem = problem.model_copy(update={"stock_includes_arrivals": None})
    elif problem.order_placed == "close" and problem.stock_includes_arrivals is None and problem.arrival == "before":
        problem = problem.model_copy(update={"stock_includes_arrivals": _includes(rows, previous)})
    if problem.stock_includes_arrivals:
        rows["stock"] = rows["stock"] - (rows["order"] if rows["received"] is None else rows["received"])
    return replace(columns, rows=rows, costs=costs), problem


def with_first_orders(log: SalesLog, starts: Ints) -> SalesLog:
    """The log with orders in the rows that open a series: they were placed the evening before, which has no row.

    They are what must have arrived, by receipts or by the stock. If the stock of such a row held them, only the sum
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

    If both do or none does, it is so unless more was sold than the stock.
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
