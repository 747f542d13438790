"""Constraints between the columns of a log."""

import numpy as np

from lostsales.data.calendar.clock import LEARN, WEEKDAYS, Clock
from lostsales.data.economics import units_available
from lostsales.data.labels import spelled, texts_of
from lostsales.data.problem import Problem
from lostsales.data.reading.findings import Findings, PlainText
from lostsales.types import Array, Bools, Floats, Ints, exceeds


def check_stock(
    findings: Findings, problem: Problem, stock: Floats, arrived: Floats, sales: Floats, adjustment: Floats | None
) -> None:
    """Stock fits the capacity, and sales fit what was available; a positive correction adds to it."""
    names = problem.columns
    if problem.capacity is not None:
        over = exceeds(stock, problem.capacity)
        findings.check(over, f"{names.stock} must fit the capacity {problem.capacity:g}", stock)
    available = units_available(stock, arrived, problem.flow)
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
    if out_of_stock is not None and (share := problem.columns.in_stock_share) is not None:
        findings.check(exceeds(-out_of_stock, 0.0), f"{share} must be from 0 to 1", 1.0 - out_of_stock)
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
        "a series must have one row per period",
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


def check_clock(findings: Findings, clock: Clock, period: Array) -> None:
    """The days of the clock are of the kind of the periods."""
    is_dated = period.dtype.kind == "M"
    wanted, kind = ("dates", str) if is_dated else ("whole numbers", int)
    lists = {"closed": clock.closings(), "open": clock.open} | {f"own.{key}": each for key, each in clock.own.items()}
    for key, days in lists.items():
        wrong = [day for day in days if day != LEARN and not isinstance(day, kind)]
        if wrong:
            also = " (weekdays need dates)" if wrong[0] in WEEKDAYS else ""
            findings.add(f"[clock] {key} must have {wanted} as the periods are{also}, but it has {wrong[0]!r}")


def check_closings(findings: Findings, on_closed: Bools, period: Array, ordering: Ints | None) -> None:
    """No row is of a period that is given as closed; `on_closed` and `period` are in order."""
    findings.check(
        on_closed,
        "the period of a row must not be one that [clock] gives as closed",
        lambda rows: np.array([PlainText(_named_day(period[each])) for each in rows], dtype=object),
        verb="is of",
        rows=np.arange(len(period)) if ordering is None else ordering,
        hint=lambda: "leave the row out, or name the day under [clock] open",
    )


def _named_day(period: object) -> str:
    if not isinstance(period, np.datetime64):
        return spelled(period)
    day = period.astype("datetime64[D]")
    return f"{WEEKDAYS[(int(day.astype(np.int64)) + 3) % 7]} {spelled(day)}"
