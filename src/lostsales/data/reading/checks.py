"""Constraints between the columns of a log."""

import numpy as np

from lostsales.data.economics import next_stock, units_available
from lostsales.data.labels import texts_of
from lostsales.data.log import SalesLog
from lostsales.data.problem import Problem
from lostsales.data.reading.findings import Findings, PlainText
from lostsales.types import Array, Bools, Floats, Ints, exceeds


def check_stock(
    findings: Findings, problem: Problem, stock: Floats, arrived: Floats, sales: Floats, stockout: Bools | None
) -> None:
    """Stock fits the capacity, sales fit what was available, and a stock-out sold all of it."""
    names = problem.columns
    if problem.capacity is not None:
        over = exceeds(stock, problem.capacity)
        findings.check(over, f"{names.stock} must fit the capacity {problem.capacity:g}", stock)
    available = units_available(stock, arrived, problem.arrival, problem.capacity)
    findings.check(
        exceeds(sales, available), f"{names.sales} must not exceed what was available", sales, among=available
    )
    if stockout is not None:
        wanted = f"where {names.stockout} says that demand was hidden, {names.sales} must be all that was available"
        findings.check(stockout & exceeds(available, sales), wanted, sales, among=available)


def check_duplicates(findings: Findings, codes: Ints, period: Array, ordering: Ints | None) -> None:
    """No series has two rows of one period."""
    rows = np.arange(len(codes)) if ordering is None else ordering
    code, time = codes[rows], period[rows]
    again = np.r_[False, (code[1:] == code[:-1]) & (time[1:] == time[:-1]) & (code[1:] >= 0)]
    findings.check(
        again,
        "a series must have one row a period",
        lambda positions: np.array(
            [PlainText(findings.place(int(rows[each - 1]))) for each in positions], dtype=object
        ),
        verb="repeats",
        rows=rows,
    )


def check_constant(findings: Findings, name: str, attribute: tuple[Ints, Array], series: Ints) -> None:
    """An attribute is the same in all rows of a series."""
    codes = attribute[0]
    rows = np.flatnonzero((codes >= 0) & (series >= 0))
    if not len(rows):
        return
    first = np.zeros(series.max() + 1, dtype=np.int64)
    first[series[rows[::-1]]] = rows[::-1]  # the last write wins: the first row
    differs = (codes != codes[first[series]]) & (codes >= 0) & (series >= 0)
    if differs.any():
        findings.check(differs, f"attribute {name} must be the same in all rows of a series", texts_of(attribute))


def off_balance(log: SalesLog) -> tuple[int, int]:
    """Rows that have a next row, and how many of their next stocks the balance cannot give."""
    if log.stock is None or log.order is None:
        return 0, 0
    problem, pairs = log.problem, log.has_next[:-1]
    arrived = log.order if log.received is None else log.received
    moved = 0.0 if log.adjustment is None else log.adjustment[:-1]
    stock, came, sales = log.stock[:-1], arrived[:-1], log.sales[:-1]
    expected = next_stock(stock, came, sales, problem.arrival, problem.balance, problem.capacity) + moved
    off = exceeds(log.stock[1:], expected)
    short = exceeds(expected, log.stock[1:])
    # Under "netted" hidden demand takes from the order too, so that a stock-out only bounds the next stock from above.
    off |= short & ~log.censored[:-1] if problem.balance == "netted" and problem.arrival == "after" else short
    return int(np.count_nonzero(pairs)), int(np.count_nonzero(off & pairs))
