"""Transactions and other fine rows as one row per product and period, with zeros where nothing was sold."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from lostsales.data.column_names import fit
from lostsales.data.proposal.facts import TableFacts, look
from lostsales.data.proposal.keys import period_sql, year_and_part
from lostsales.data.proposal.profile import Column, Sample, open_source
from lostsales.data.proposal.roles import ROW_NUMBER
from lostsales.data.sql_names import identifier
from lostsales.errors import LostSalesError
from lostsales.types import Array

PERIODS = ("day", "week", "month")
SUMMED = (
    "order",
    "received",
    "adjustment",
    "time_out",
    "revenue",
)  # with sales; of these nothing happens in a filled row
ONLY = "product"  # name of the column that a table of one product gets, and of that product
DATE = "date"  # name of the period where it was in two columns


@dataclass(frozen=True, eq=False)
class Aggregate:
    """A table with one row per product and period."""

    columns: dict[str, Array]
    rows_read: int
    zeros_added: int
    notes: tuple[str, ...]  # what was left out or assumed

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))


def aggregate(source: Any, by: str = "day") -> Aggregate:
    """Sum a table to one row per product and period, and add zeros between a product's first and last sale.

    Parameters
    ----------
    source : path or table
        What `read_log` takes, such as the lines of a till.
    by : {"day", "week", "month"}
        Length of a period.

    Returns
    -------
    Aggregate
        Quantities are sums, prices means weighted by units, stock that at the opening, or at the end where it is
        counted then. Periods in which nothing at all was sold are closed and get no row. Weeks and months that the
        table does not cover from end to end are left out.

    Raises
    ------
    LostSalesError
        No column is a date, or none looks like units sold.

    Examples
    --------
    >>> import pandas as pd
    >>> till = pd.DataFrame({"time": ["2026-03-01 09:10", "2026-03-01 17:00", "2026-03-03 12:00", "2026-03-02 11:00"],
    ...     "product": ["milk", "milk", "milk", "bread"], "quantity": [2, 1, 4, 1], "price": [1.0, 1.3, 1.0, 3.0]})
    >>> found = aggregate(till, "day")
    >>> found.columns["quantity"].tolist(), found.zeros_added
    ([1, 3, 0, 4], 1)

    """
    if by not in PERIODS:
        raise LostSalesError(f"a table is summed by {', '.join(PERIODS)}, but {by!r} came")
    table = open_source(source)
    if not table.rows:
        raise LostSalesError("rows are summed, but the table has none")
    facts = look(table)
    sales = facts.column("sales")
    if sales is None:
        raise LostSalesError("no column looks like units sold; call it 'sales'")
    name, moment = _moment(facts)
    groups = [facts.profile.columns[each] for each in facts.keys.series]
    chosen = {each.name: sql for each in facts.profile.columns.values() if (sql := _summary(facts, each, moment))}
    first, last = _whole_periods(table, moment, by)
    keys = ", ".join(f"{each.sql} AS {identifier(each.name)}" for each in groups)
    values = ", ".join(f"{sql} AS {identifier(each)}" for each, sql in chosen.items())
    period = f"date_trunc('{by}', {moment})"
    table.connection.execute(
        f"CREATE OR REPLACE TEMP TABLE periods AS SELECT {keys}{', ' if keys else ''}{period} AS {identifier(name)}, "
        f"{values} FROM log WHERE {moment} IS NOT NULL GROUP BY ALL"
    )
    within = f"{identifier(name)} BETWEEN TIMESTAMP '{first}' AND TIMESTAMP '{last}'"
    ((all_rows, kept),) = table.query(f"SELECT count(*), count_if({within}) FROM periods")
    if not kept:
        raise LostSalesError(f"the table must span at least one whole {by}, but it does not")
    zeros = 0 if facts.column("stock") or facts.column("closing") else _add_zeros(table, facts, name, list(chosen))
    order = ", ".join(identifier(each) for each in (*facts.keys.series, name))
    found = table.connection.execute(f"SELECT * FROM periods WHERE {within} ORDER BY {order}").fetchnumpy()
    columns = {each: _plain(column) for each, column in found.items()}
    if not groups:
        columns = {ONLY: np.full(kept, ONLY)} | columns
    notes = [] if kept == all_rows else [f"{by}s that the table does not cover from end to end are left out"]
    returned = np.count_nonzero(columns[sales.name] < 0)
    if returned:
        columns[sales.name] = np.maximum(columns[sales.name], 0)
        notes.append(f"returns exceed sales in {returned:,} rows, which count as 0")
    columns[name] = columns[name].astype("datetime64[D]")
    return Aggregate(columns, table.rows, zeros, tuple(notes))


def _moment(facts: TableFacts) -> tuple[str, str]:
    """Name and SQL of the period, from one column or from a year and a month or week."""
    if (pair := year_and_part(facts.profile)) is not None:
        return DATE, pair.sql
    period = facts.keys.period
    if period is None or (period.kind != "date" and period.compact_dates is None):
        raise LostSalesError("no column is a date, so rows cannot be summed by day, week or month")
    return period.name, period_sql(period)


def _summary(facts: TableFacts, column: Column, moment: str) -> str:
    """Value of a column in a period as SQL; empty where it is left out."""
    role = next((role for role, name in facts.roles.column.items() if name == column.name), "")
    sales = facts.profile.columns[facts.roles.column["sales"]].sql
    taken = {*facts.keys.columns, *facts.roles.outcomes}
    if pair := year_and_part(facts.profile):
        taken |= {*pair.names}
    is_paper = fit(column.name, "document") >= 0.5 or column.kind in ("date", "list", "empty")
    is_paper |= (column.name, ROW_NUMBER) in facts.others.left_out
    if column.name in taken or (is_paper and not role):
        return ""
    if role == "sales" or role in SUMMED:
        return f"sum({column.sql})"
    if role == "price":
        weight = f"greatest({sales}, 0)"
        return f"round(coalesce(sum({column.sql} * {weight}) / nullif(sum({weight}), 0), avg({column.sql})), 4)"
    if role == "closing" or (role == "stock" and facts.roles.counted_at_close):
        return f"arg_max({column.sql}, {moment})"
    if role == "stock":
        return f"arg_min({column.sql}, {moment})"
    if role in ("in_stock", "in_stock_share"):
        return f"min({column.sql})"
    if role == "stockout" or column.is_flag:
        return f"max({column.sql})"
    return f"avg({column.sql})" if column.kind == "number" else f"mode({column.sql})"


def _whole_periods(table: Sample, moment: str, by: str) -> tuple[str, str]:
    """First and last period that the table covers from end to end, by its days; all where rows are whole periods."""
    ((low, high, is_whole),) = table.query(
        f"SELECT date_trunc('{by}', min({moment})), max({moment}), bool_and(date_trunc('{by}', {moment}) = {moment}) "
        "FROM log"
    )
    if is_whole:
        return str(low), str(high)
    ((first, last),) = table.query(
        f"SELECT CASE WHEN date_trunc('{by}', low) = low THEN low ELSE date_trunc('{by}', low) + INTERVAL 1 {by} END, "
        f"CASE WHEN date_trunc('{by}', high + INTERVAL 1 day) > date_trunc('{by}', high) THEN date_trunc('{by}', high) "
        f"ELSE date_trunc('{by}', high) - INTERVAL 1 {by} END FROM (SELECT CAST(date_trunc('day', min({moment})) AS "
        f"TIMESTAMP) AS low, CAST(date_trunc('day', max({moment})) AS TIMESTAMP) AS high FROM log)"
    )
    return str(first), str(last)


def _add_zeros(table: Sample, facts: TableFacts, name: str, chosen: list[str]) -> int:
    """Rows of zero sales for the periods within a product's life in which others sold; how many were added."""
    series, period = [identifier(each) for each in facts.keys.series], identifier(name)
    if not series:
        return 0
    still = {facts.roles.column[role] for role in ("sales", *SUMMED, "stockout") if role in facts.roles.column}
    life = f"SELECT {', '.join(series)}, min({period}) AS opened, max({period}) AS ended FROM periods GROUP BY ALL"
    window = f"OVER (PARTITION BY {', '.join(series)} ORDER BY {period})"
    values = ", ".join(
        f"CASE WHEN is_new THEN CAST(0 AS {{}}) ELSE {identifier(each)} END AS {identifier(each)}"
        if each in still
        else f"last_value({identifier(each)} IGNORE NULLS) {window} AS {identifier(each)}"
        for each in chosen
    )
    kinds = {column: kind for column, kind, *_ in table.query("DESCRIBE periods")}
    values = values.format(*(kinds[each] for each in chosen if each in still))
    ((before,),) = table.query("SELECT count(*) FROM periods")
    table.connection.execute(
        f"CREATE OR REPLACE TEMP TABLE periods AS SELECT {', '.join(series)}, {period}, {values} FROM ("
        f"SELECT *, was_there IS NULL AS is_new FROM (SELECT {', '.join(series)}, {period} FROM ({life}), (SELECT "
        f"DISTINCT {period} FROM periods) WHERE {period} BETWEEN opened AND ended) LEFT JOIN (SELECT *, 1 AS was_there "
        f"FROM periods) USING ({', '.join([*series, period])}))"
    )
    ((after,),) = table.query("SELECT count(*) FROM periods")
    return int(after - before)


def _plain(column: Any) -> Array:
    """A column without a mask: NaN, NaT or None where it has no value."""
    if not isinstance(column, np.ma.MaskedArray):
        is_whole = column.dtype.kind == "f" and bool((column == np.rint(column)).all())
        return np.asarray(column.astype(np.int64) if is_whole else column)
    kind = column.dtype.kind
    if kind == "M":
        return np.asarray(column.filled(np.datetime64("NaT")))
    if kind in "fiub":
        return np.asarray(np.ma.filled(column.astype(np.float64), np.nan))
    filled = np.asarray(column.data, dtype=object)
    filled[np.ma.getmaskarray(column)] = None
    return filled
