"""Facts about a table, before they are written down: keys, roles, stock balance and other columns."""

from dataclasses import dataclass
from functools import cached_property
from itertools import permutations

import numpy as np

from lostsales.data.column_names import fit
from lostsales.data.ledger import FOLLOWS, LONGEST_LEAD, Ledger
from lostsales.data.proposal.keys import Keys, find_keys, period_sql, series_sql
from lostsales.data.proposal.leaks import copies, leaks
from lostsales.data.proposal.profile import Column, Profile, Sample, profile
from lostsales.data.proposal.roles import LIKELY, Others, Roles, find_others, find_roles
from lostsales.data.reading.columns import LARGEST_WHOLE
from lostsales.data.reading.evening_orders import OrderMoment, moment_of, opening_stock
from lostsales.types import Bools, Floats, Ints, exceeds

_TRIED_ROWS = 5_000  # rows on which combinations of columns are tried
_MOST_TRIED = 10  # columns, in 720 combinations: bounds time
_LEAST_PAIRS = 5  # rows with a next one, below which a balance may hold by chance
_MOST_DAYS = 0.9  # of the rows, above which rows with times of day are not transactions: hourly rows are not
_LEAST_MOVING = 0.2  # share of the rows in which a stock changes


@dataclass(frozen=True)
class StockFacts:
    """Numbers of rows that follow each balance, and the order timing that sales imply."""

    pairs: int  # rows with a next row in their series
    opening: int  # next stock = stock + arrived - sales: the stock opens the period
    closing: int  # next stock = stock + arrived - next sales: the stock closes the period, before or after arrivals
    capacity: float  # the greatest stock
    capped: int  # pairs that follow where stock beyond it is discarded
    lead: int  # periods by which an order comes later than the next one, where that fits best
    late: int  # pairs that follow with that lead
    subtracted: int  # pairs that follow where the adjustment is taken off instead of added
    rows: int
    above_stock: int  # rows that sold more than the stock
    above_both: int  # rows that sold more than stock and order
    sold_stock: int  # of rows with an order, those that sold the stock exactly
    sold_both: int  # of rows with an order, those that sold stock and order exactly

    @property
    def has_capacity(self) -> bool:
        """True if a capacity explains rows that do not follow the balance otherwise."""
        return self.capped >= FOLLOWS * self.pairs and self.capped - self.opening > 0.01 * self.pairs

    @property
    def arrival(self) -> str | None:
        """The timing that sales show; None where they show none."""
        if self.above_stock > 0.001 * self.rows:
            return "before"
        return "after" if self.sold_stock > self.sold_both else None


def stock_facts(ledger: Ledger, corrected: bool) -> StockFacts:
    """Count the rows that follow each reading, where NaN follows nothing; `corrected` if the stock has corrections."""
    stock, _, arrived, sales, moved, _ = ledger
    pairs, opening = ledger.following()
    counts = [opening, *(ledger.following(1 + lead)[1] for lead in range(1, LONGEST_LEAD))]
    lead = int(np.argmax(counts))
    capacity = float(np.nanmax(stock, initial=0.0))
    ordered = arrived > 0
    with np.errstate(invalid="ignore"):
        return StockFacts(
            pairs=pairs,
            opening=opening,
            closing=max(ledger.following(lead, closing=True)[1] for lead in (0, 1)),
            capacity=capacity,
            capped=ledger.following(room=capacity)[1],
            lead=lead,
            late=counts[lead],
            subtracted=ledger._replace(moved=-moved).following()[1] if corrected else 0,
            rows=len(stock),
            above_stock=int(np.count_nonzero(exceeds(sales, stock))),
            above_both=int(np.count_nonzero(exceeds(sales, stock + arrived))),
            sold_stock=_equal(sales[ordered], stock[ordered]),
            sold_both=_equal(sales[ordered], (stock + arrived)[ordered]),
        )


def balanced_triple(columns: dict[str, Floats], has_next: Bools) -> tuple[str, str, str] | None:
    """The columns (stock, order, sales) that the next stock follows from, whatever they are called.

    >>> columns = {"a": [2, 3, 1, 5, 3, 1], "b": [9, 8, 7, 9, 4, 5], "c": [1, 2, 3, 0, 4, 2]}
    >>> balanced_triple({name: np.array(each, float) for name, each in columns.items()}, np.array([True] * 5 + [False]))
    ('b', 'c', 'a')
    """
    now = np.flatnonzero(has_next[:_TRIED_ROWS][:-1])
    if len(now) < _LEAST_PAIRS:
        return None
    for names in permutations(list(columns)[:_MOST_TRIED], 3):
        stock, order, sales = (columns[name] for name in names)
        ledger = ledger_of(stock, order, sales, None, has_next).part(slice(0, _TRIED_ROWS))
        moves = np.count_nonzero(ledger.stock[now + 1] != ledger.stock[now]) > _LEAST_MOVING * len(now)
        if moves and ledger.following()[1] >= FOLLOWS * len(now):
            return names[0], names[1], names[2]
    return None


def ledger_of(stock: Floats, arrived: Floats, sales: Floats, moved: Floats | None, has_next: Bools) -> Ledger:
    """The ledger of columns in the order of series and period."""
    series = np.r_[0, np.cumsum(~has_next[:-1])] if len(has_next) else np.zeros(0, dtype=np.int64)
    return Ledger(stock, arrived, arrived, sales, np.zeros(len(stock)) if moved is None else moved, series)


def _equal(left: Floats, right: Floats) -> int:
    return int(np.count_nonzero(np.isclose(left, right, rtol=1e-6, atol=1e-6)))


@dataclass(frozen=True)
class TableFacts:
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
    def is_transactions(self) -> bool:
        """True if rows have times of day, and most products several rows on one day."""
        period = self.keys.period
        if period is None or period.kind != "date" or not self.keys.series:
            return False
        moment = period_sql(period)
        day = f"date_trunc('day', {moment})"
        one_day = f"({series_sql(self.profile, self.keys.series)}, {day})"
        ((timed, days),) = self.sample.query(f"SELECT count_if({day} <> {moment}), count(DISTINCT {one_day}) FROM log")
        return bool(timed) and days < _MOST_DAYS * self.sample.rows

    @cached_property
    def order_multiple(self) -> int | None:
        """Greatest common divisor of all orders."""
        column = self.column("order") or self.column("received")
        if column is None or not column.is_whole:
            return None
        some = f"{column.sql} > 0 AND {column.sql} < {LARGEST_WHOLE}"
        orders = self.sample.query(f"SELECT DISTINCT TRY_CAST({column.sql} AS BIGINT) FROM log WHERE {some}")
        return int(np.gcd.reduce([each for (each,) in orders])) if orders else None


def look(source: Sample) -> TableFacts:
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
    _open_by_closing(roles, numbers, has_next)
    stock = _stock(roles, numbers, has_next)
    by_balance = False
    if stock is None or stock.opening < FOLLOWS * stock.pairs:
        by_balance = _by_balance(found, roles, numbers, has_next)
        stock = _stock(roles, numbers, has_next) if by_balance else stock
    _only_number_left(found, keys, roles)
    _price_by_revenue(roles, numbers, has_next)
    if not roles.counted_at_close:
        _stockout_by_sales(sample, found, keys, roles, stock)
        _closing_by_balance(roles, numbers)
    taken = {*keys.columns, *roles.column.values(), *roles.mismatches}
    others = _without_leaks(
        find_others(sample, found, keys, taken, roles.outcomes, roles.column.get("sales", "")), roles, numbers, has_next
    )
    moment = _moment(roles, numbers, has_next, stock)
    return TableFacts(sample, found, keys, roles, by_balance, stock, others, moment)


def _without_leaks(others: Others, roles: Roles, numbers: dict[str, Floats], has_next: Bools) -> Others:
    """The columns without features that copy the price or hold what is not known before the decision."""
    named = [feature.name for feature, _ in others.features if feature.kind == "numeric"]
    usual = {name: values for name, values in numbers.items() if not (np.abs(values) > LARGEST_WHOLE).any()}
    columns = {name: usual[name] for name in named if name in usual}
    sales, price = (usual.get(roles.column.get(role, "")) for role in ("sales", "price"))
    reasons = leaks(columns, sales, has_next)
    reasons |= copies({name: each for name, each in columns.items() if name not in reasons}, price, has_next)
    kept = [(feature, why) for feature, why in others.features if feature.name not in reasons]
    return Others(kept, others.attributes, [*others.left_out, *reasons.items()])


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


def _open_by_closing(roles: Roles, numbers: dict[str, Floats], has_next: Bools) -> None:
    """Open periods with the stock that the row before closed with, where no stock at the opening is there."""
    named = roles.column
    arrived = named.get("received", named.get("order"))
    if "sales" not in named or arrived is None or arrived not in numbers:
        return
    facts = _stock(roles, numbers, has_next)
    if facts is not None and facts.closing < max(FOLLOWS * facts.pairs, facts.opening + 1):
        return
    closing = named.pop("closing", None) if facts is None else named["stock"]
    if closing is None:
        return
    moved = numbers[named["adjustment"]] if "adjustment" in named else np.zeros(len(has_next))
    previous = np.where(np.r_[False, has_next[:-1]], np.arange(len(has_next)) - 1, -1)
    numbers[closing] = opening_stock(numbers[closing], numbers[arrived], numbers[named["sales"]], moved, previous)
    named["stock"] = closing
    roles.counted_at_close = True


def _stock(roles: Roles, numbers: dict[str, Floats], has_next: Bools) -> StockFacts | None:
    named = roles.column
    arrived = named.get("received", named.get("order"))
    if not {"stock", "sales"} <= named.keys() or arrived is None or arrived not in numbers:
        return None
    adjustment = numbers[named["adjustment"]] if "adjustment" in named else None
    stock, sales = numbers[named["stock"]], numbers[named["sales"]]
    return stock_facts(ledger_of(stock, numbers[arrived], sales, adjustment, has_next), adjustment is not None)


def _moment(roles: Roles, numbers: dict[str, Floats], has_next: Bools, stock: StockFacts | None) -> OrderMoment | None:
    """Moment at which orders were decided, over rows that left something of all that they can have had."""
    named = roles.column
    if stock is None or named.get("order") not in numbers:
        return None
    if stock.arrival == "before" and stock.opening >= FOLLOWS * stock.pairs:  # orders of a row are sold in that row
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


def _price_by_revenue(roles: Roles, numbers: dict[str, Floats], has_next: Bools) -> None:
    """Find the money taken, if no column has a price: a unit's share of it varies less within products than itself."""
    named = roles.column
    if "price" in named or named.get("sales") not in numbers:
        return
    sales, used = numbers[named["sales"]], {*named.values()}
    series, sold = np.r_[0, np.cumsum(~has_next[:-1])], sales > 0
    fits = {name: fit(name, "revenue") for name in numbers if name not in used}
    for name in sorted((name for name in fits if fits[name] >= LIKELY), key=lambda name: -fits[name]):
        rows = sold & (numbers[name] > 0)
        if rows.sum() < 0.9 * sold.sum() or (numbers[name][sales == 0] != 0).any():
            continue
        money = np.log(numbers[name][rows])
        if _spread(money - np.log(sales[rows]), series[rows]) < _spread(money, series[rows]):
            named["revenue"] = name
            roles.outcomes.discard(name)
            roles.others.pop("sales", None)
            return


def _spread(values: Floats, series: Ints) -> float:
    """Mean squared deviation from the mean of each series."""
    rows = np.maximum(np.bincount(series), 1)
    return float(np.mean((values - (np.bincount(series, values) / rows)[series]) ** 2))


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
