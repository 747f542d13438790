"""The columns of a log: those that a table must have, and their values."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from lostsales.data.calendar.dates import calendar_values
from lostsales.data.column_names import fit
from lostsales.data.economics import UnitCosts
from lostsales.data.feature import Feature
from lostsales.data.log import SalesLog
from lostsales.data.problem import Columns, Costs, Problem
from lostsales.data.reading.columns import ColumnReader
from lostsales.data.reading.findings import Findings, listed
from lostsales.data.reading.perishing import read_perishing
from lostsales.data.reading.supply import LotColumns, read_on_order
from lostsales.data.reading.table import Table, open_table
from lostsales.types import Array, Bools, Floats, Ints

HALF_CENT = 0.0051  # by which a revenue differs from price times sales, if it was rounded


def named_in(problem: Problem, columns: Collection[str], may_lack_price: bool) -> Problem:
    """The problem as a table names its columns; prices are 1 where it may lack them.

    So may a table whose columns have the names of forecasting libraries.
    """
    named = problem.named_as_in(columns)
    may_lack_price |= named is not problem
    named = named.with_share_in(columns)
    priced = named.columns.price_in(columns) is not None or named.price is not None or named.prices is not None
    return named.model_copy(update={"price": 1.0}) if may_lack_price and not priced else named


@dataclass(frozen=True, eq=False)
class LogColumns:
    """The columns of a table, in its own order of rows."""

    codes: Ints  # (rows,) the series of each row, as a position in `texts`
    texts: Array  # names of the series
    period: Array  # (rows,)
    rows: dict[str, Any]  # by field of `SalesLog`: (rows,) or (rows, features), None where the table has none
    costs: UnitCosts | None
    missing_costs: tuple[str, ...]
    given_costs: Costs  # as rows of such a log have them
    last_sales: Floats | None  # (rows,)
    last_stockout: Bools | None  # (rows,)
    attributes: dict[str, tuple[Ints, Array]]  # by name: codes (rows,) and their texts
    on_order: Floats | None  # (rows, pipeline length)
    lots: LotColumns
    described: tuple[Feature, ...]  # the features, categorical ones with their levels
    at_close: bool = False  # the stock was counted when the period ended


def require_columns(table: Table, problem: Problem, findings: Findings) -> None:
    """Find the columns that a table lacks, and a price that is given twice."""
    names, have = problem.columns, table.columns
    if missing := [column for column in _wanted(problem, have) if column not in have]:
        hint = ""
        if names.order in missing and names.received in have:
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


def _wanted(problem: Problem, have: tuple[str, ...]) -> list[str]:
    """The columns that a table with these ones must have."""
    names, costs, supply = problem.columns, problem.costs, problem.supply
    recorded = () if problem.stockouts_by == "stock" and names.stock in have else names.records_of_absence
    wanted = [*names.series_parts, names.period, names.sales]
    if _only_price(problem) is None:
        wanted.append(names.price_in(have) or names.price)
    if (stock := names.stock_in(have)) is not None or names.order in have:
        wanted += [stock or names.stock, *([names.order] if _only_order(problem) is None else [])]
    wanted += [*recorded, *([problem.open_time] if recorded and isinstance(problem.open_time, str) else [])]
    wanted += [*problem.feature_columns, *problem.attributes]
    either = *costs.columns, *problem.product.columns, supply.multiple, supply.minimum
    return list(dict.fromkeys([*wanted, *(each for each in either if isinstance(each, str))]))


def read_columns(reader: ColumnReader, problem: Problem) -> LogColumns:
    """Read every column; what is wrong with a value goes to the findings of the reader."""
    names, open_time = problem.columns, problem.open_time
    codes, texts = reader.findings.series_of = reader.series(names.series_parts)
    period = reader.findings.period_of = reader.period(names.period)
    stock = names.stock_in(reader.table.columns)
    described, features = _features(reader, problem.features)
    sales = reader.number(names.sales)
    rows = {
        "features": features,
        "price": _price(reader, problem, sales, codes, period),
        "sales": sales,
        "stock": None if stock is None else reader.number(stock),
        "order": _decided(reader, names.order, _only_order(problem), gaps=_may_lack_order(problem, codes, period))
        if stock is not None
        else None,
        "stockout": _stockout(reader, names),
        "received": reader.optional(names.received),
        "adjustment": reader.optional(names.adjustment, negative=True),
        "out_of_stock": _out_of_stock(reader, names),
        "open_time": reader.number(open_time) if isinstance(open_time, str) else None,
        "season_end": read_season_end(reader, problem, period),
        "salvage": read_salvage(reader, problem),
        **read_perishing(reader, problem),
    }
    costs, missing_costs, given_costs = read_costs(reader, problem)
    return LogColumns(
        codes=codes,
        texts=texts,
        period=period,
        rows=rows,
        costs=costs,
        missing_costs=missing_costs,
        given_costs=given_costs,
        last_sales=reader.optional(names.last_sales, gaps=True),
        last_stockout=reader.flag(names.last_stockout, gaps=True),
        attributes={name: reader.labels(name) for name in problem.attributes},
        on_order=read_on_order(reader, problem),
        lots=LotColumns.read(reader, problem.supply),
        described=described,
        at_close=stock is not None and stock != names.stock,
    )


def _only_price(problem: Problem) -> float | None:
    """The one price that there can be: as given, or the only one of the list."""
    return problem.price if problem.price is not None else _single(problem.prices)


def _only_order(problem: Problem) -> float | None:
    return _single(problem.orders)


def _single(values: tuple[float, ...] | None) -> float | None:
    return values[0] if values is not None and len(values) == 1 else None


def _price(reader: ColumnReader, problem: Problem, sales: Floats, codes: Ints, period: Array) -> Floats:
    """Prices, from the revenue where the table has none."""
    names, only, have = problem.columns, _only_price(problem), reader.table.columns
    if only is not None or names.revenue is None or names.revenue not in have:
        return _decided(reader, names.price, only)
    given = reader.number(names.price, gaps=True) if names.price in have else np.full(len(sales), np.nan)
    revenue = reader.number(names.revenue, gaps=~np.isnan(given))
    price = np.where(np.isnan(given), price_of_revenue(revenue, sales, codes, period), given)
    without = np.isnan(price) & ~np.isnan(revenue) & ~np.isnan(sales)
    wanted = f"{names.revenue} must give a price in some row of each product (a column {names.price!r} would)"
    reader.findings.check(without, wanted, verb="sold nothing, nor did any other row of its product;")
    return price


def price_of_revenue(revenue: Floats, sales: Floats, codes: Ints, period: Array) -> Floats:
    """Revenue per unit, (rows,); in rows without a sale the price before, else the next one, NaN if there is none.

    >>> revenue, sales, period = np.array([0, 4.5, 0, 9.9]), np.array([0, 3, 0, 10]), np.arange(4)
    >>> price_of_revenue(revenue, sales, np.zeros(4, dtype=int), period)
    array([1.5 , 1.5 , 1.5 , 0.99])
    """
    ordering = np.lexsort((period, codes))
    with np.errstate(divide="ignore", invalid="ignore"):
        exact = np.where(sales > 0, revenue / sales, np.nan)
        cents = np.round(exact, 2)
        found = np.where(np.abs(cents * sales - revenue) <= HALF_CENT, cents, np.round(exact, 4))[ordering]
    series, rows = codes[ordering], np.arange(len(found))
    known = ~np.isnan(found)
    before = np.maximum.accumulate(np.where(known, rows, -1))
    after = np.minimum.accumulate(np.where(known, rows, len(rows))[::-1])[::-1]
    price = np.full(len(found), np.nan)
    for nearest in (after, before):  # the later one only where there is none before
        inside = (nearest >= 0) & (nearest < len(rows))
        at = np.where(inside, nearest, rows)
        price = np.where(inside & (series[at] == series), found[at], price)
    filled = np.empty(len(price))
    filled[ordering] = price
    return filled


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


def _stockout(reader: ColumnReader, names: Columns) -> Bools | None:
    """The flag; without one a table of sales alone has no stock-outs."""
    if lacks_stockouts(names, reader.table.columns):
        return np.zeros(reader.table.rows, dtype=bool)
    return reader.flag(names.stockout)


def lacks_stockouts(names: Columns, have: Collection[str]) -> bool:
    """True if neither stock nor a record says when a product was out of stock."""
    return not ({names.order, names.stockout} & {*have} or names.stock_in(have) or names.records_of_absence)


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


def read_season_end(reader: ColumnReader, problem: Problem, period: Array) -> Array | None:
    """Last period of each row's product, (rows,); None without a season. One before its row is a finding."""
    keys, names = problem.product, problem.columns
    if keys.season_end is None:
        return None
    kinds = {"M": "a date", "f": "a whole number", "i": "a whole number"}
    if keys.season_column is None:
        if isinstance(keys.season_end, str) != (period.dtype.kind == "M"):
            wanted = f"[product] season_end must be {kinds[period.dtype.kind]} as {names.period} is"
            reader.findings.add(f"{wanted}, but it is {keys.season_end!r}")
            return None
        end = np.broadcast_to(np.asarray(keys.last_period(period)), period.shape)
    else:
        end = reader.period(keys.season_column)
        if end.dtype.kind != period.dtype.kind:
            reader.findings.add(
                f"{keys.season_column} must be {kinds[period.dtype.kind]} as {names.period} is, "
                f"but it has {kinds[end.dtype.kind]}s"
            )
            return None
    name = keys.season_column or "[product] season_end"
    reader.findings.check(period > end, f"{name} must not lie before the period of a row", end)
    return end.astype(np.int64) if end.dtype.kind == "f" and not np.isnan(end).any() else end


def read_salvage(reader: ColumnReader, problem: Problem) -> Floats | None:
    """Salvage value of a unit, (rows,); None without a season."""
    given = problem.product.salvage
    if problem.product.season_end is None:
        return None
    return reader.number(given) if isinstance(given, str) else np.full(reader.table.rows, given or 0.0)


ROLES = ("lost", "order", "holding")
SURE = 0.9  # fit of a name that means the cost of a role, see `column_names.fit`


def read_costs(reader: ColumnReader, problem: Problem) -> tuple[UnitCosts | None, tuple[str, ...], Costs]:
    """The unit costs, or None; the names of those that are not known; and the costs that rows of such a log have.

    Of the last, figures from a table or a share of another cost are columns of the log.
    """
    given, names = problem.costs, problem.columns
    by_table = {} if given.table is None else _by_table(reader, problem, Path(given.table))
    found: dict[str, Floats | float] = {}
    for role, column in zip(ROLES, (names.lost_cost, names.order_cost, names.holding_cost), strict=True):
        cost = getattr(given, role)
        if isinstance(cost, float):
            found[role] = cost
        elif isinstance(cost, str) and given.share_of(role) is None:
            found[role] = reader.number(cost)
        elif role in by_table:
            found[role] = by_table[role]
        elif column in reader.table.columns:
            found[role] = reader.number(column)
    if problem.targets.wanted is not None:
        if "lost" in found:
            reader.findings.add(
                f"a target of service replaces the cost of a lost sale, but the table has {names.lost_cost}: "
                "leave one of them out"
            )
        found["lost"] = 0.0
    shares = {role: share for role in ("lost", "holding") if (share := given.share_of(role)) is not None}
    found |= {role: share * found["order"] for role, share in shares.items() if "order" in found}
    derived = {
        role: cost if isinstance(cost, float) else None
        for role, cost in found.items()
        if role in shares or role in by_table
    }
    missing = tuple(role for role in ROLES if role not in found)
    costs = None if missing else UnitCosts(**found, fixed_order=given.fixed_order)
    return costs, missing, given.model_copy(update={"table": None, **derived})


def _by_table(reader: ColumnReader, problem: Problem, path: Path) -> dict[str, Floats]:
    """The costs of each row by role, from the row of a table that names its product, supplier or the like."""
    table, findings = open_table(path), reader.findings
    keys = [name for name in (*problem.columns.series_parts, *problem.attributes) if name in table.columns]
    columns = {role: column for role in ROLES if (column := _column(table, role)) is not None}
    if not keys or not columns:
        wanted = "a column of the series or an attribute, and a column of unit costs such as order_cost"
        findings.add(f"{path} must have {wanted}, but it has {listed(table.columns)}")
        return {}
    row_of = {key: row for row, key in enumerate(_keys(table, keys, table.rows))}
    rows: Ints = np.array([row_of.get(key, -1) for key in _keys(reader.table, keys, reader.table.rows)], dtype=np.int64)
    findings.check(rows < 0, f"{' and '.join(keys)} must have a row in {path}", verb="has none")
    costs = ColumnReader(table, findings, problem.format)
    return {role: np.r_[costs.number(column), np.nan][rows] for role, column in columns.items()}


def _column(table: Table, role: str) -> str | None:
    scores = {name: 1.0 if name == role else fit(name, f"{role}_cost") for name in table.columns}
    best = max(scores, key=lambda name: scores[name], default="")
    return best if scores.get(best, 0.0) >= SURE else None


def _keys(table: Table, columns: list[str], rows: int) -> list[tuple[str, ...]]:
    parts = [(codes, np.append(texts, "")) for codes, texts in map(table.labels, columns)]
    return [tuple(str(texts[codes[row]]) for codes, texts in parts) for row in range(rows)]
