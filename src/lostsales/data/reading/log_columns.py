"""The columns of a log: those that a table must have, and their values."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lostsales.data.calendar.dates import calendar_values
from lostsales.data.economics import UnitCosts
from lostsales.data.feature import Feature
from lostsales.data.log import SalesLog
from lostsales.data.problem import Columns, Problem
from lostsales.data.reading.columns import ColumnReader
from lostsales.data.reading.findings import Findings, listed
from lostsales.data.reading.supply import LotColumns, read_on_order
from lostsales.data.reading.table import Table
from lostsales.types import Array, Bools, Floats, Ints


def as_sales_only(problem: Problem, columns: Collection[str], allowed: bool) -> tuple[Problem, bool]:
    """The problem as a table names its columns, and whether the table may lack stock-out flags and prices.

    A table of sales alone may where that is `allowed`, or where its columns have the names of forecasting libraries.
    """
    named = problem.named_as_in(columns)
    names = named.columns
    sales_only = (allowed or named is not problem) and names.stock not in columns and names.order not in columns
    named = named.with_share_in(columns)
    priced = names.price in columns or named.price is not None or named.prices is not None
    return (named.model_copy(update={"price": 1.0}) if sales_only and not priced else named), sales_only


@dataclass(frozen=True, eq=False)
class LogColumns:
    """The columns of a table, in its own order of rows."""

    codes: Ints  # (rows,) the series of each row, as a position in `texts`
    texts: Array  # names of the series
    period: Array  # (rows,)
    rows: dict[str, Any]  # by field of `SalesLog`: (rows,) or (rows, features), None where the table has none
    costs: UnitCosts | None
    missing_costs: tuple[str, ...]
    last_sales: Floats | None  # (rows,)
    last_stockout: Bools | None  # (rows,)
    attributes: dict[str, tuple[Ints, Array]]  # by name: codes (rows,) and their texts
    on_order: Floats | None  # (rows, pipeline length)
    lots: LotColumns
    described: tuple[Feature, ...]  # the features, categorical ones with their levels


def require_columns(table: Table, problem: Problem, findings: Findings, may_lack_flags: bool) -> None:
    """Find the columns that a table lacks, and a price that is given twice."""
    names, have = problem.columns, table.columns
    if missing := [column for column in _wanted(problem, have, may_lack_flags) if column not in have]:
        hint = ""
        if names.stockout in missing:
            hint = f" (or {names.stock!r} and {names.order!r})"
        elif names.order in missing and names.received in have:
            hint = f" (a ledger without orders: [columns] order = {names.received!r})"
        constant = "; where the price never changes, the problem may say price = 2 instead"
        findings.add(
            f"missing column {', '.join(map(repr, missing))}{hint}; the table has {listed(have)}"
            + (constant if names.price in missing else "")
        )
    if problem.price is not None and names.price in have:
        findings.add(
            f"the problem says price = {problem.price:g}, but the table has a column {names.price!r} too: "
            "take the key out of the problem to read the column, or the column out of the table"
        )


def _wanted(problem: Problem, have: tuple[str, ...], may_lack_flags: bool) -> list[str]:
    """The columns that a table with these ones must have."""
    names, costs, supply = problem.columns, problem.costs, problem.supply
    recorded = () if problem.stockouts_by == "stock" and names.stock in have else names.records_of_absence
    wanted = [*names.series_parts, names.period, names.sales]
    if _only_price(problem) is None:
        wanted.append(names.price)
    if names.stock in have or names.order in have:
        wanted += [names.stock, *([names.order] if _only_order(problem) is None else [])]
    elif not (recorded or may_lack_flags):
        wanted.append(names.stockout)
    wanted += [*recorded, *([problem.open_time] if recorded and isinstance(problem.open_time, str) else [])]
    wanted += [*problem.feature_columns, *problem.attributes]
    either = costs.lost, costs.order, costs.holding, supply.multiple, supply.minimum
    return list(dict.fromkeys([*wanted, *(each for each in either if isinstance(each, str))]))


def read_columns(reader: ColumnReader, problem: Problem, may_lack_flags: bool) -> LogColumns:
    """Read every column; what is wrong with a value goes to the findings of the reader."""
    names, open_time = problem.columns, problem.open_time
    codes, texts = reader.findings.series_of = reader.series(names.series_parts)
    period = reader.findings.period_of = reader.period(names.period)
    stocked = names.stock in reader.table.columns
    described, features = _features(reader, problem.features)
    rows = {
        "features": features,
        "price": _decided(reader, names.price, _only_price(problem)),
        "sales": reader.number(names.sales),
        "stock": reader.number(names.stock) if stocked else None,
        "order": _decided(reader, names.order, _only_order(problem), gaps=_may_lack_order(problem, codes, period))
        if stocked
        else None,
        "stockout": _stockout(reader, names, may_lack_flags),
        "received": reader.optional(names.received),
        "adjustment": reader.optional(names.adjustment, negative=True),
        "out_of_stock": _out_of_stock(reader, names),
        "open_time": reader.number(open_time) if isinstance(open_time, str) else None,
    }
    costs, missing_costs = _costs(reader, problem)
    return LogColumns(
        codes=codes,
        texts=texts,
        period=period,
        rows=rows,
        costs=costs,
        missing_costs=missing_costs,
        last_sales=reader.optional(names.last_sales, gaps=True),
        last_stockout=reader.flag(names.last_stockout, gaps=True),
        attributes={name: reader.labels(name) for name in problem.attributes},
        on_order=read_on_order(reader, problem),
        lots=LotColumns.read(reader, problem.supply),
        described=described,
    )


def _only_price(problem: Problem) -> float | None:
    """The one price that there can be: as given, or the only one of the list."""
    return problem.price if problem.price is not None else _single(problem.prices)


def _only_order(problem: Problem) -> float | None:
    return _single(problem.orders)


def _single(values: tuple[float, ...] | None) -> float | None:
    return values[0] if values is not None and len(values) == 1 else None


def _decided(reader: ColumnReader, column: str, only: float | None, gaps: bool | Bools = False) -> Floats:
    """Prices or orders; where they can have one value only, the table need not have them."""
    if only is not None and column not in reader.table.columns:
        return np.full(reader.table.rows, only, dtype=np.float64)
    return reader.number(column, gaps=gaps)


def _may_lack_order(problem: Problem, codes: Ints, period: Array) -> bool | Bools:
    """The last row of each series where orders are placed at closing time: this evening's may still be open."""
    if problem.order_placed == "open":
        return False
    previous = previous_rows(codes, period)
    is_last = np.ones(len(codes), dtype=bool)
    is_last[previous[previous >= 0]] = False
    return is_last


def previous_rows(codes: Ints, period: Array) -> Ints:
    """The row of the same series before each row, -1 where there is none, (rows,) in the table's own order."""
    ordering = np.lexsort((period, codes))
    previous = np.full(len(codes), -1)
    same = codes[ordering[1:]] == codes[ordering[:-1]]
    previous[ordering[1:][same]] = ordering[:-1][same]
    return previous


def _stockout(reader: ColumnReader, names: Columns, may_lack_flags: bool) -> Bools | None:
    """The flag; without one a table of sales alone has no stock-outs."""
    recorded = names.stockout in reader.table.columns or names.records_of_absence
    if may_lack_flags and not recorded:
        return np.zeros(reader.table.rows, dtype=bool)
    return reader.flag(names.stockout)


def _out_of_stock(reader: ColumnReader, names: Columns) -> Floats | None:
    """The time out of stock; of a share in stock what is left of 1, of a flag that says in stock or not, 1 or 0."""
    if names.out_of_stock is not None:
        return reader.number(names.out_of_stock)
    if names.in_stock_share is not None:
        return 1.0 - reader.number(names.in_stock_share)
    in_stock = None if names.in_stock is None else reader.flag(names.in_stock)
    return None if in_stock is None else (~in_stock).astype(np.float64)


def _features(reader: ColumnReader, features: tuple[Feature, ...]) -> tuple[tuple[Feature, ...], Floats]:
    """The features with the levels of categorical ones, and their values, (rows, features)."""
    matrix = np.empty((reader.table.rows, len(features)), order="F")
    described = list(features)
    for index, feature in enumerate(features):
        if feature.calendar is not None:
            matrix[:, index] = 0.0  # until the length of a period is known
        elif feature.kind == "numeric":
            matrix[:, index] = reader.number(feature.name, negative=True, truths=True)
        else:
            described[index], matrix[:, index] = reader.levels(feature)
    return tuple(described), matrix


def _costs(reader: ColumnReader, problem: Problem) -> tuple[UnitCosts | None, tuple[str, ...]]:
    """The unit costs, or None and the names of those that are neither given nor in the table."""
    names, given = problem.columns, problem.costs
    found: dict[str, Floats | float] = {}
    missing = []
    for role, cost, column in (
        ("lost", given.lost, names.lost_cost),
        ("order", given.order, names.order_cost),
        ("holding", given.holding, names.holding_cost),
    ):
        if isinstance(cost, float):
            found[role] = cost
        elif isinstance(cost, str) or column in reader.table.columns:
            found[role] = reader.number(cost or column)
        else:
            missing.append(role)
    return None if missing else UnitCosts(**found, fixed_order=given.fixed_order), tuple(missing)


def with_calendar(log: SalesLog) -> SalesLog:
    """The log with the features of its calendar."""
    if not log.problem.calendar:
        return log
    features = log.features.copy()
    fill_calendar(log.problem, log.period, features)
    return replace(log, features=features)


def fill_calendar(problem: Problem, period: Array, features: Floats) -> None:
    """Write the features of the calendar at periods (rows,) into their columns of (rows, features)."""
    clock = problem.clock.calendars
    step = clock.step if clock.is_dated else 0
    for index, feature in enumerate(problem.features):
        if feature.calendar is not None:
            features[:, index] = calendar_values(feature.name, feature.calendar, np.asarray(period), step)
