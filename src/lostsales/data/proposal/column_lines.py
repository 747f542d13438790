"""The lines of a proposed problem: TOML with comments, and the table `[columns]`."""

from textwrap import wrap
from typing import Any

from lostsales.data.column_names import fit
from lostsales.data.problem import Columns
from lostsales.data.proposal.facts import TableFacts
from lostsales.data.proposal.keys import year_and_part
from lostsales.data.proposal.profile import Column
from lostsales.data.proposal.roles import WORDS
from lostsales.data.settings import to_toml

_DEFAULTS = {
    role: str(each.default) for role, each in Columns.model_fields.items() if role != "series" and each.default
}


WIDTH = 110  # characters of a line
_MOST_CODE = 60  # a longer line has its comment above it


class TomlText:
    """Lines of TOML, each with the reason for it, and what is left for a person to do."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.left: list[str] = []
        self.keys: set[str] = set()  # active ones of the table at hand

    def comment(self, text: str) -> None:
        """A paragraph."""
        self.lines += wrap(text, WIDTH, initial_indent="# ", subsequent_indent="#   ", break_long_words=False)

    def todo(self, text: str) -> None:
        """Note something left to do; it does not become a line."""
        self.left.append(text)

    def gap(self) -> None:
        """An empty line."""
        self.lines.append("")

    def table(self, name: str, why: str) -> None:
        """The head of a table."""
        self.keys = set()
        self.lines += ["", f"[{name}]".ljust(24) + f"# {why}"]

    def key(self, name: str, value: Any, why: str, *, active: bool = True) -> None:
        """One key; one that is not active is a comment itself."""
        why = " ".join(why.split())
        if active:
            self.keys.add(name)
        code = ("" if active else "# ") + to_toml({name: value}).strip()
        if len(code) <= _MOST_CODE and len(code) + len(why) < WIDTH:
            self.lines.append(f"{code.ljust(24)}  # {why}")
        else:
            self.comment(why)
            self.lines.append(code)

    def array(self, name: str, items: list[tuple[Any, str]]) -> None:
        """A list with one item a line."""
        values = [to_toml({"v": [value]}).strip()[len("v = [") : -1] + "," for value, _ in items]
        width = min(max(map(len, values)), _MOST_CODE)
        lines = [
            f"  {value.ljust(width)}  # {' '.join(why.split())}" for value, (_, why) in zip(values, items, strict=True)
        ]
        self.lines += [f"{name} = [", *lines, "]"]

    def __str__(self) -> str:
        return "\n".join(self.lines) + "\n"


def write_columns(found: TableFacts, out: TomlText) -> None:
    """All roles that were found, and what is missing."""
    out.table("columns", "what the columns of the table are called")
    _write_series(found, out)
    _write_period(found, out)
    _write_sales_and_price(found, out)
    _write_stock(found, out)
    for role in ("last_sales", "last_stockout"):
        if (column := found.column(role)) is not None:
            out.key(role, column.name, WORDS[role])
    _write_stockouts(found, out)
    for role, default in _DEFAULTS.items():
        if role not in out.keys and default in found.profile.columns:
            out.key(role, f"no {role}", f"so that the column {default!r} is not used as it")


def _write_series(found: TableFacts, out: TomlText) -> None:
    keys = found.keys
    if len(keys.series) > 1:
        out.key("series", keys.series, f"together with the period they name one row: {keys.n_series:,} series")
    elif keys.series:
        out.key("series", keys.series[0], f"what names a series: {keys.n_series:,} series")
    else:
        out.todo(
            "no column names a series: if the table is one product in one place, add a column with the same value in "
            "every row (`lostsales aggregate TABLE --by day` does)"
        )


def _write_period(found: TableFacts, out: TomlText) -> None:
    keys, columns = found.keys, found.profile.columns
    if keys.period is None:
        dates = [each for each in columns.values() if fit(each.name, "period") >= 0.5]
        seen = f"; {dates[0].name!r} holds {dates[0].shown}" if dates else ""
        out.todo(f"no column is a date or a whole number that counts periods{seen}")
        return
    also = f"; CHECK: or {_listed(keys.other_periods)}" if keys.other_periods else ""
    gaps = f"{keys.clock.holes:,} gaps, each starts" if keys.clock.holes > 1 else "1 gap, which starts"
    holes = f", {gaps} a new series" if keys.clock.holes else ""
    out.key("period", keys.period.name, f"{keys.clock.step or 'whole numbers'}{holes}{also}")
    if (pair := year_and_part(found.profile)) is not None and keys.repeated:
        both = " and ".join(map(repr, pair.names))
        out.todo(
            f"the period is in two columns, {both}: `lostsales aggregate TABLE --by {pair.by}` makes one date of them"
        )
    elif keys.repeated or found.is_transactions:
        out.todo(
            "several rows belong to one product and day: if they are single sales, `lostsales aggregate TABLE --by "
            "day` sums them and adds days without a sale; otherwise a further column is part of the series"
        )


def _write_sales_and_price(found: TableFacts, out: TomlText) -> None:
    sales, price, columns = found.column("sales"), found.column("price"), found.profile.columns
    revenue = found.column("revenue")
    if sales is None:
        amounts = tuple(name for name, each in columns.items() if each.is_amount and name not in found.keys.columns)
        lists = [name for name, each in columns.items() if each.kind == "list"]
        out.todo(f"no column looks like units sold; name it under [columns] sales{_maybe(amounts)}")
        if lists:
            out.todo(f"{lists[0]!r} holds a list in every row: a log has one row per series and period")
    else:
        _write_quantity(found, out, "sales", sales)
        if price is None and revenue is None and not sales.is_whole:
            out.todo(f"{sales.name!r} has fractions: if it is money and not units, divide it by the price")
    if revenue is not None:
        _write_quantity(found, out, "revenue", revenue)
    if price is not None:
        off = [name for name in columns if fit(name, "discount") >= 0.9 and name != price.name]
        _write_quantity(found, out, "price", price, f"; CHECK: is {off[0]!r} already taken off?" if off else "")


def _write_stock(found: TableFacts, out: TomlText) -> None:
    """Stock and orders come together: one without the other stands as a comment."""
    stock, closing = found.column("stock"), found.column("closing")
    order, received = found.column("order"), found.column("received")
    both = stock is not None and (order or received) is not None
    if stock is not None and found.roles.counted_at_close:
        out.key("closing_stock", stock.name, f"CHECK: stock when the period ends: {stock.range}")
    elif stock is not None:
        _write_quantity(found, out, "stock", stock, active=both)
    if order is not None:
        _write_quantity(found, out, "order", order, active=both)
        if received is not None:
            _write_quantity(found, out, "received", received, active=both)
    elif received is not None:
        stands = "; what arrived stands for what was ordered"
        _write_quantity(found, out, "order", received, stands, active=both)
    if (adjustment := found.column("adjustment")) is not None:
        _write_quantity(found, out, "adjustment", adjustment, active=both)
    if both:
        if closing is not None:
            out.comment(f"{closing.name!r} is the stock at the end of the period, which follows from the others.")
        return
    if stock is not None:
        out.todo(
            f"{stock.name!r} looks like stock, but no column like orders, and they come together; where nothing else "
            "moves the stock, order = next stock - stock + sales"
        )
    elif (ordered := order or received) is not None:
        out.todo(f"{ordered.name!r} looks like orders, but no column like stock")


def _write_quantity(
    found: TableFacts, out: TomlText, role: str, column: Column, more: str = "", *, active: bool = True
) -> None:
    others = found.roles.others.get(role, ())
    also = f"; CHECK: or {_listed(others)}" if others else ""
    how = ", found by its balance" if found.by_balance and role in ("stock", "order", "sales") else ""
    out.key(role, column.name, f"{WORDS[role]}{how}: {column.range}{also}{more}", active=active)
    missing = found.sample.rows - column.present
    if active and (missing or column.unread):
        out.todo(f"{column.name!r} is empty in {missing:,} rows and no number in {column.unread:,}")
    if active and (column.lowest or 0) < 0 and role != "adjustment":
        cure = "`lostsales aggregate` nets returns" if found.keys.repeated else "take returns and corrections out"
        out.todo(f"{column.name!r} has values below 0, such as {column.lowest:g}: {cure}")


def _write_stockouts(found: TableFacts, out: TomlText) -> None:
    flag, share, inverted, duration = map(found.column, ("stockout", "in_stock_share", "in_stock", "time_out"))
    if flag is not None:
        out.key("stockout", flag.name, "true where demand was above what there was")
    if share is not None:
        out.key("in_stock_share", share.name, f"{WORDS['in_stock_share']}: {share.range}", active=flag is None)
    if inverted is not None:
        out.key("in_stock", inverted.name, "false where it was out of stock", active=flag is None and share is None)
    if duration is not None:
        why = f"{WORDS['time_out']}: {duration.range}"
        out.key("out_of_stock", duration.name, why, active=flag is None and share is None and inverted is None)
    if any(each is not None for each in (flag, share, inverted, duration)):
        return
    if found.stock is not None:
        out.comment("No column says when it ran out: every row that sold out is treated as a stock-out.")
    else:
        out.todo(
            "nothing says when a product was out of stock, so sales are taken as demand: inspect, audit, demand and "
            "forecast work; to fit prices and orders the table needs stock and orders"
        )


def _maybe(names: tuple[str, ...]) -> str:
    return f": {_listed(names)}?" if names else ""


def _listed(names: tuple[str, ...]) -> str:
    return " or ".join(map(repr, names))
