"""Consistency of a table: between the columns of a row, the rows of a series, and the records of a log."""

from dataclasses import replace

import numpy as np

from lostsales.data.calendar.clock import LEARN, WEEKDAYS, Clock, weekday_of
from lostsales.data.economics import units_available
from lostsales.data.labels import spelled, texts_of
from lostsales.data.log import AnyLog, SalesLog
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
        lead = "leave out supply.lead_time and " if problem.lead_times.longest > 1 else ""
        hint = (
            f" (the stock as the period opens; where arrivals are sold in their own period, {lead}set arrival = "
            '"before")'
        )
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


def check_salvage(findings: Findings, problem: Problem, salvage: Floats | None, price: Floats) -> None:
    """A unit that is left brings no more than one that is sold."""
    if salvage is not None:
        name = problem.product.salvage if isinstance(problem.product.salvage, str) else "[product] salvage"
        findings.check(exceeds(salvage, price), f"{name} must not exceed the price", salvage, among=price)


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


def check_calendar(findings: Findings, problem: Problem, period: Array) -> None:
    """Add a finding where a calendar meets periods that are no dates."""
    if problem.calendar and period.dtype.kind != "M":
        column = problem.columns.period
        findings.add(
            f"{column} must be dates, as the problem's calendar ({', '.join(problem.calendar)}) reads them, but it has "
            "whole numbers: leave calendar out, or give the dates"
        )


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
    return f"{WEEKDAYS[int(weekday_of(day))]} {spelled(day)}"


# Exact sell-outs that no row is recorded as out of stock beside may be chance where they are few.
LEAST_SELLOUTS = 20  # rows
LEAST_SELLOUT_SHARE = 0.01  # of the rows
# Zeros are missing where gaps come often, not where a product pauses for a season or years change in week numbers.
LEAST_GAPS = 0.05  # of the rows with a next one
LEAST_MISSING = 0.1  # of the periods within the lives of products
LONGEST_GAP = 7  # periods that a gap counts at most
MOST_ZEROS = 0.01  # of the rows
LEAST_FOR_ZEROS = 30  # rows, below which missing rows of zero sales are not looked for


def with_stockouts_by(log: SalesLog) -> SalesLog:
    """Log with stock-outs as the problem declares them, or by the stock if the record contradicts it.

    A flag or a time out of stock that is never set while many rows sold all there was would switch censoring off. The
    problem of the result says that the stock tells, so that a few recent rows are read as the log was.
    """
    by, recorded = log.problem.stockouts_by, log.records_stockouts
    if log.stock is None or not recorded or by == "record":
        return noted_sellouts(log)
    if by is None:
        sold_out = int(np.count_nonzero(~exceeds(log.available, log.sales)))
        if log.censored.any() or sold_out < max(LEAST_SELLOUTS, LEAST_SELLOUT_SHARE * len(log)):
            return noted_sellouts(log)
        notes = replace(log.notes, unrecorded_sellouts=sold_out, record_ignored=True)
        log = replace(log, notes=notes, problem=log.problem.model_copy(update={"stockouts_by": "stock"}))
    return replace(log, stockout=None, out_of_stock=None)


def noted_sellouts(log: AnyLog) -> AnyLog:
    """The log that notes how many rows sold all there was and are not recorded as out of stock."""
    if log.stock is None or not log.records_stockouts:
        return log
    sold_out = ~exceeds(log.available, log.sales) & ~log.censored
    return replace(log, notes=replace(log.notes, unrecorded_sellouts=int(np.count_nonzero(sold_out))))


def missing_zeros(log: SalesLog, is_hole: Bools) -> tuple[int, float]:
    """Periods within the lives of products that have no row, and their share; 0 where no zeros seem to be missing.

    `is_hole` (rows - 1,) marks rows that are followed by a gap that is no closing.
    """
    pairs, holes = log.has_next[:-1], int(np.count_nonzero(is_hole))
    zeros = int(np.count_nonzero(log.sales == 0))
    few_gaps = holes < LEAST_GAPS * np.count_nonzero(pairs)
    if len(log) < LEAST_FOR_ZEROS or not holes or few_gaps or zeros > MOST_ZEROS * len(log):
        return 0, 0.0
    gaps = np.rint(np.diff(log.period).astype(np.int64)[is_hole] / log.steps.min()) - 1
    missing = int(np.minimum(gaps, LONGEST_GAP).sum())
    share = missing / (len(log) + missing)
    return (missing, share) if share >= LEAST_MISSING else (0, 0.0)
