"""All that was found in a table, before it is written down."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lostsales.data.order_moment import OrderMoment, moment_of
from lostsales.data.proposal.balance import FOLLOWS, StockFacts, balanced_triple, stock_facts
from lostsales.data.proposal.keys import Keys, find_keys, period_sql, series_sql
from lostsales.data.proposal.profile import Column, Profile, Sample, Source, profile
from lostsales.data.proposal.roles import Others, Roles, find_others, find_roles
from lostsales.data.reading.columns import LARGEST_WHOLE
from lostsales.types import Bools, Floats, exceeds


@dataclass(frozen=True)
class TableFindings:
    """Keys, roles, stock and other columns of a sample."""

    sample: Sample
    profile: Profile
    keys: Keys
    roles: Roles
    by_balance: bool  # stock, order and sales were found by their balance and not by name
    stock: StockFacts | None
    others: Others
    moment: OrderMoment | None  # when orders were decided, None where the table does not show it

    @property
    def orders_at_close(self) -> bool:
        """True if orders were placed at closing time."""
        return self.moment is not None and self.moment.is_close

    def column(self, role: str) -> Column | None:
        """The column of a role."""
        name = self.roles.column.get(role)
        return None if name is None else self.profile.columns[name]

    @cached_property
    def order_multiple(self) -> int | None:
        """Greatest common divisor of all orders."""
        column = self.column("order") or self.column("received")
        if column is None or not column.is_whole:
            return None
        some = f"{column.sql} > 0 AND {column.sql} < {LARGEST_WHOLE}"
        orders = self.sample.query(f"SELECT DISTINCT TRY_CAST({column.sql} AS BIGINT) FROM log WHERE {some}")
        return int(np.gcd.reduce([each for (each,) in orders])) if orders else None


def look(source: Source) -> TableFindings:
    """Look at a small table as a whole, at whole series of a large one."""
    sample = source.head()
    found = profile(sample)
    keys = find_keys(sample, found)
    if not sample.is_whole:
        sample = source.whole_series(keys.series)
        found = profile(sample)
        keys = find_keys(sample, found)
    roles = find_roles(found, keys.columns)
    numbers, has_next = _numbers(sample, found, keys)
    stock = _stock(roles, numbers, has_next)
    by_balance = False
    if stock is None or stock.opening < FOLLOWS * stock.pairs:
        by_balance = _by_balance(found, roles, numbers, has_next)
        stock = _stock(roles, numbers, has_next) if by_balance else stock
    _only_number_left(found, keys, roles)
    _stockout_by_sales(sample, found, keys, roles, stock)
    _closing_by_balance(roles, numbers)
    taken = {*keys.columns, *roles.column.values(), *roles.mismatches}
    others = find_others(sample, found, keys, taken, roles.outcomes, roles.column.get("sales", ""))
    moment = _moment(roles, numbers, has_next, stock)
    return TableFindings(sample, found, keys, roles, by_balance, stock, others, moment)


def _numbers(sample: Sample, found: Profile, keys: Keys) -> tuple[dict[str, Floats], Bools]:
    """The columns of numbers in the order of series and period, and which rows have a next one."""
    columns = [each for name, each in found.columns.items() if each.kind == "number" and name not in keys.columns]
    group = series_sql(found, keys.series)
    order = [group, *([period_sql(keys.period)] if keys.period is not None else [])]
    asked = ", ".join(f"{each.sql} AS n{index}" for index, each in enumerate(columns))
    table = sample.connection.execute(
        f"SELECT hash({group}) AS series{', ' if asked else ''}{asked} FROM log ORDER BY {', '.join(order)}"
    ).fetchnumpy()
    series = np.asarray(table["series"])
    has_next = np.r_[series[1:] == series[:-1], False] if len(series) else np.zeros(0, dtype=bool)
    filled = {}
    for index, each in enumerate(columns):
        values = np.ma.filled(np.ma.asarray(table[f"n{index}"], dtype=np.float64), np.nan)
        filled[each.name] = np.where(np.isfinite(values), values, np.nan)
    return filled, has_next if keys.period is not None else np.zeros(len(series), dtype=bool)


def _stock(roles: Roles, numbers: dict[str, Floats], has_next: Bools) -> StockFacts | None:
    named = roles.column
    arrived = named.get("received", named.get("order"))
    if not {"stock", "sales"} <= named.keys() or arrived is None or arrived not in numbers:
        return None
    adjustment = numbers[named["adjustment"]] if "adjustment" in named else None
    return stock_facts(numbers[named["stock"]], numbers[arrived], numbers[named["sales"]], adjustment, has_next)


def _moment(roles: Roles, numbers: dict[str, Floats], has_next: Bools, stock: StockFacts | None) -> OrderMoment | None:
    """When orders were decided, over rows that left something of all that they can have had."""
    named = roles.column
    if stock is None or named.get("order") not in numbers:
        return None
    on_hand, order, sales = (numbers[named[role]] for role in ("stock", "order", "sales"))
    available = on_hand + order if stock.arrival == "before" else on_hand
    return moment_of(on_hand, order, sales, has_next, ~exceeds(available, sales), numbers.get(named.get("price", "")))


def _by_balance(found: Profile, roles: Roles, numbers: dict[str, Floats], has_next: Bools) -> bool:
    """Give stock, order and sales to columns that follow the balance, where those found by name do not."""
    fixed = {
        roles.column[role] for role in ("price", "order_cost", "holding_cost", "lost_cost") if role in roles.column
    }
    amounts = {name: values for name, values in numbers.items() if found.columns[name].is_amount and name not in fixed}
    triple = balanced_triple(amounts, has_next)
    if triple is None:
        return False
    for role, name in zip(("stock", "order", "sales"), triple, strict=True):
        for other in [each for each, column in roles.column.items() if column == name]:
            del roles.column[other]
        roles.column[role] = name
        roles.outcomes.discard(name)
    return True


def _only_number_left(found: Profile, keys: Keys, roles: Roles) -> None:
    """Treat the only column of numbers without another role as sales, if no name means sales."""
    if "sales" in roles.column:
        return
    taken = {*keys.columns, *roles.column.values(), *roles.outcomes}
    left = [each.name for each in found.columns.values() if each.is_amount and not each.is_flag]
    left = [name for name in left if name not in taken]
    if len(left) == 1:
        roles.column["sales"] = left[0]


def _closing_by_balance(roles: Roles, numbers: dict[str, Floats]) -> None:
    """Find the column that equals stock + order - sales: the stock at the end, whatever its name."""
    named = roles.column
    arrived = named.get("received", named.get("order"))
    if not {"stock", "sales"} <= named.keys() or arrived is None or arrived not in numbers or "closing" in named:
        return
    closing = numbers[named["stock"]] + numbers[arrived] - numbers[named["sales"]]
    free = (name for name in numbers if name not in named.values())
    if found := next((name for name in free if _share(numbers[name], closing) >= FOLLOWS), None):
        named["closing"] = found
        roles.outcomes.discard(found)


def _share(left: Floats, right: Floats) -> float:
    return float(np.mean(np.isclose(left, right))) if len(left) else 0.0


def _stockout_by_sales(sample: Sample, found: Profile, keys: Keys, roles: Roles, stock: StockFacts | None) -> None:
    """Find a flag that is true only in sold-out rows, if no name means stock-outs."""
    if stock is None or {"stockout", "in_stock", "in_stock_share", "time_out"} & roles.column.keys():
        return
    sales, on_hand, arrived = (
        found.columns[roles.column[role]].sql
        for role in ("sales", "stock", "order" if "order" in roles.column else "received")
    )
    sold_out = f"({sales} >= {on_hand}{f' + {arrived}' if stock.arrival == 'before' else ''})"
    taken = {*keys.columns, *roles.column.values()}
    for column in found.columns.values():
        if column.is_flag and column.name not in taken:
            flag = f"CAST({column.sql} AS BOOLEAN)"
            ((flagged, right, all_sold),) = sample.query(
                f"SELECT count_if({flag}), count_if({flag} AND {sold_out}), count_if({sold_out}) FROM log"
            )
            if flagged and right == flagged and flagged >= 0.5 * all_sold:
                roles.column["stockout"] = column.name
                return
