"""Constraints between the columns of a log."""

import numpy as np

from lostsales.data.economics import units_available
from lostsales.data.labels import texts_of
from lostsales.data.problem import Problem
from lostsales.data.reading.findings import Findings, PlainText
from lostsales.types import Array, Floats, Ints, exceeds


def check_stock(
    findings: Findings, problem: Problem, stock: Floats, arrived: Floats, sales: Floats, adjustment: Floats | None
) -> None:
    """Stock fits the capacity, and sales fit what was available; a positive correction adds to it."""
    names = problem.columns
    if problem.capacity is not None:
        over = exceeds(stock, problem.capacity)
        findings.check(over, f"{names.stock} must fit the capacity {problem.capacity:g}", stock)
    available = units_available(stock, arrived, problem.arrival, problem.capacity)
    if adjustment is not None:
        available = available + np.maximum(adjustment, 0.0)
    over = exceeds(sales, available)
    hint = ""
    if problem.arrival == "after" and over.any() and not exceeds(sales[over], (available + arrived)[over]).all():
        hint = ' (the stock as the period opens; where arrivals are sold in their own period, set arrival = "before")'
    findings.check(over, f"{names.sales} must not exceed what was available{hint}", sales, among=available)


def check_out_of_stock(
    findings: Findings, problem: Problem, out_of_stock: Floats | None, open_time: Floats | None
) -> None:
    """A period has a length, and the time out of stock fits it."""
    if out_of_stock is None or problem.open_time is None:
        return
    length = open_time if open_time is not None else np.full(len(out_of_stock), float(problem.open_time))
    name = problem.columns.out_of_stock
    findings.check(length <= 0, f"{problem.open_time} must be positive", length)
    findings.check(exceeds(out_of_stock, length), f"{name} must not exceed open_time", out_of_stock, among=length)


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
