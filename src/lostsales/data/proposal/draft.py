"""The findings about a table as a problem file with a comment on every line, and what is left to do."""

from dataclasses import dataclass, field

from lostsales.data.proposal.balance import FOLLOWS
from lostsales.data.proposal.findings import TableFindings
from lostsales.data.proposal.keys import SURE
from lostsales.data.proposal.names import fit
from lostsales.data.proposal.profile import Column
from lostsales.data.proposal.roles import WORDS
from lostsales.data.proposal.toml_text import TomlText

PAGE = "docs/problem.md"
COSTS = {
    "lost": "a customer who finds nothing, beyond the margin not earned; 0 if they just leave",
    "order": "what a unit costs you to buy",
    "holding": "a unit left at the end of a period: capital, room, what spoils",
}


@dataclass
class Draft:
    """Builds the text and collects what is left."""

    found: TableFindings
    name: str
    left: list[str] = field(default_factory=list)

    def text(self, more: list[str]) -> str:
        """The whole file; `more` is left to do as well."""
        self.left.clear()
        body = TomlText()
        self._timing(body)
        self._actions(body)
        self._others(body)
        self._costs(body)
        self._columns(body)
        self._format(body)
        self.left += more
        head = TomlText()
        self._head(head)
        return f"{head}\n{body}"

    def _head(self, out: TomlText) -> None:
        sample, keys = self.found.sample, self.found.keys
        looked = "" if sample.is_whole else f", of which {sample.rows:,} were looked at (whole series)"
        step = f", {keys.step}" if keys.step else ""
        out.comment(f"Proposed by `lostsales init` from {self.name}: {sample.table_rows:,} rows{looked}, "
                    f"{keys.n_series:,} series{step}.")  # fmt: skip
        out.comment(f"Every key of this file: {PAGE}. Lines with CHECK are guesses; FILL IN what no table can say.")
        for each in self.left:
            out.comment(f"- {each}")

    def _timing(self, out: TomlText) -> None:
        facts = self.found.stock
        if facts is None:
            if "stock" in self.found.roles.column or "order" in self.found.roles.column:
                out.key("arrival", "after", 'CHECK: orders arrive after the sales of their period, or "before" them')
            return
        shown = facts.arrival or "after"
        evidence = (
            f"{facts.above_stock:,} of {facts.rows:,} rows sold more than the stock; of rows with an order "
            f"{facts.sold_stock:,} sold exactly the stock, {facts.sold_both:,} stock and order together"
        )
        if facts.arrival is None:
            out.key(
                "arrival", shown, f'FILL IN: "after" sales or "before" them? The table does not show it: {evidence}'
            )
            self.left.append(
                'arrival: does an order arrive "after" the sales of its period or "before"? Set the one that is true'
            )
        else:
            out.key("arrival", shown, f"CHECK: {evidence}")
        if facts.above_both:
            self.left.append(
                f"{facts.above_both:,} of {facts.rows:,} rows sold more than stock and order together: is one of the columns another one?"
            )
        self._balance(out)
        out.key("capacity", 25, "the most that fits into the store; no limit unless given", active=False)

    def _balance(self, out: TomlText) -> None:
        facts = self.found.stock
        if facts is None or not facts.pairs:
            return
        out.comment(
            f"The next stock is stock + order - sales in {facts.opening:,} of {facts.pairs:,} rows"
            + (f", as of a stock at the end of the period in {facts.closing:,}" if facts.closing else "")
            + (
                f", with orders that come {facts.lead} periods later in {facts.late:,}"
                if facts.lead and facts.late > 0.5 * facts.pairs
                else ""
            )
            + "."
        )
        stock = self.found.roles.column["stock"]
        if facts.opening >= FOLLOWS * facts.pairs:
            return
        if facts.closing >= FOLLOWS * facts.pairs:
            self.left.append(
                f"{stock!r} is the stock at the end of a period ({facts.closing:,} of {facts.pairs:,} rows): the log needs it at the opening, which is the end of the row before"
            )
        elif facts.lead and facts.late >= FOLLOWS * facts.pairs:
            self.left.append(
                f"orders arrive {facts.lead} periods later than the next one ({facts.late:,} of {facts.pairs:,} rows): put what arrived into a column `received`"
            )
        elif facts.subtracted >= FOLLOWS * facts.pairs:
            self.left.append(
                f"{self.found.roles.column['adjustment']!r} is taken off the stock ({facts.subtracted:,} of {facts.pairs:,} rows): multiply it by -1"
            )
        else:
            self.left.append(
                f"the stock does not follow stock + order - sales ({facts.opening:,} of {facts.pairs:,} rows do): what a policy earns cannot be told from such a table; look for receipts, corrections or a stock counted at another time"
            )

    def _actions(self, out: TomlText) -> None:
        price, order = self.found.column("price"), self.found.column("order") or self.found.column("received")
        if price is None:
            out.key("price", 2, "FILL IN: the table has no price; this one holds for every row", active=False)
            self.left.append(
                "price: the table has no column of it; take the comment sign off `price = 2` and put yours, or name the column"
            )
        else:
            out.comment(
                f"Prices that may be recommended come from the log unless `prices` is given; it has {_values(price)}."
            )
        if order is not None:
            multiple = self.found.order_multiple
            cases = f", all multiples of {multiple}" if multiple and multiple > 1 else ""
            out.comment(
                f"Orders that may be recommended come from the log unless `orders` is given; it has {_values(order)}{cases}."
            )
        out.key("discount", 0.9, "what profit is worth one period later; 0.9 unless given", active=False)

    def _others(self, out: TomlText) -> None:
        others = self.found.others
        out.gap()
        if others.features:
            out.comment(
                "Known before the decision of a period, and different from period to period. CHECK: take out what is not."
            )
            values = [
                (feature.name if feature.kind == "numeric" else feature.model_dump(exclude_none=True), why)
                for feature, why in others.features
            ]
            out.array("features", values)
        else:
            out.key("features", ["promotion"], "no column describes the market before the decision", active=False)
        if others.attributes:
            out.comment("The same in all rows of a series.")
            out.array("attributes", list(others.attributes))
        for name, why in others.left_out:
            out.comment(f"Not used: {name!r}, {why}.")
        for mismatch in self.found.roles.mismatches:
            out.comment(f"CHECK: {mismatch}.")

    def _costs(self, out: TomlText) -> None:
        out.table("costs", "of a unit, in the currency of the price: a number, or the name of a column in quotes")
        missing = []
        for role, meaning in COSTS.items():
            column = self.found.column(f"{role}_cost")
            if column is not None:
                out.key(role, column.name, f"CHECK: {meaning}; from {column.lowest:g} to {column.highest:g}")
            else:
                out.key(role, 0 if role == "lost" else 1, f"FILL IN: {meaning}", active=False)
                missing.append(role)
        if missing:
            self.left.append(
                f"[costs] {', '.join(missing)}: no table shows them; needed to learn and to evaluate, not to inspect, audit or impute"
            )

    def _columns(self, out: TomlText) -> None:
        found, keys = self.found, self.found.keys
        out.table("columns", "what the columns of the table are called")
        if keys.series:
            together = "together with the period they name one row" if len(keys.series) > 1 else "what names a series"
            out.key(
                "series",
                keys.series[0] if len(keys.series) == 1 else keys.series,
                f"{together}: {keys.n_series:,} series",
            )
        else:
            self.left.append(
                "no column names a series: add one with the same value in every row if the table is one product in one place"
            )
        self._period(out)
        if keys.repeated:
            self.left.append(
                f"{keys.repeated:,} of {found.sample.rows:,} rows have the series and period of another row: if these are single "
                "transactions, sum them to one row a series and period first; else another column is part of the series"
            )
        self._quantities(out)
        self._stockouts(out)

    def _period(self, out: TomlText) -> None:
        period = self.found.keys.period
        if period is None:
            dates = [each for each in self.found.profile.columns.values() if fit(each.name, "period") >= 0.5]
            seen = f" ({dates[0].name!r} holds {dates[0].shown})" if dates else ""
            self.left.append(f"no column is a date or a whole number that counts periods{seen}")
            return
        also = f"; CHECK: or {_listed(self.found.keys.other_periods)}" if self.found.keys.other_periods else ""
        holes = f", {self.found.keys.holes:,} gaps, each starts a new series" if self.found.keys.holes else ""
        out.key("period", period.name, f"{self.found.keys.step or 'whole numbers'}{holes}{also}")
        year = next((name for name in self.found.profile.columns if fit(name, "year") >= SURE), None)
        if self.found.keys.repeated and period.kind == "number" and (period.highest or 0) <= 53 and year:
            self.left.append(
                f"the period stands in two columns, {year!r} and {period.name!r}: make one of them, such as 2026-03-01"
            )

    def _quantities(self, out: TomlText) -> None:
        found, named = self.found, self.found.roles.column
        sales = found.column("sales")
        if sales is None:
            amounts = [
                each.name
                for each in found.profile.columns.values()
                if each.is_amount and each.name not in found.keys.columns
            ]
            self.left.append(
                f"no column looks like units sold; name it: [columns] sales = {_listed(tuple(amounts)) or '...'}"
            )
        else:
            self._quantity(out, "sales", sales)
            if not sales.is_whole and "price" not in named:
                self.left.append(
                    f"{sales.name!r} has fractions and there is no price: if it is money and not units, divide it by the price"
                )
        if (price := found.column("price")) is not None:
            off = next(
                (name for name in found.profile.columns if fit(name, "discount") >= SURE and name != price.name), None
            )
            self._quantity(out, "price", price, f"; CHECK: take {off!r} off if it is not yet" if off else "")
        order = found.column("order")
        arrived = found.column("received")
        complete = (order or arrived) is not None and "stock" in named
        if (stock := found.column("stock")) is not None:
            self._quantity(out, "stock", stock, "" if complete else "; needs a column of orders", active=complete)
        elif (closing := found.column("closing")) is not None:
            out.comment(
                f"CHECK: {closing.name!r} is the stock at the end of a period; the log needs it at the opening."
            )
        if order is not None:
            self._quantity(out, "order", order, "" if complete else "; needs a column of stock", active=complete)
            if arrived is not None and complete:
                self._quantity(out, "received", arrived)
        elif arrived is not None and complete:
            self._quantity(out, "order", arrived, "; CHECK: what arrived stands for what was ordered")
        if complete and (adjustment := found.column("adjustment")) is not None:
            self._quantity(out, "adjustment", adjustment)
        for role in ("last_sales", "last_stockout"):
            if (column := found.column(role)) is not None:
                out.key(role, column.name, WORDS[role])
        if not complete and (stock or order or arrived):
            self._incomplete(stock, order or arrived)

    def _incomplete(self, stock: Column | None, order: Column | None) -> None:
        if stock is not None:
            self.left.append(
                f"{stock.name!r} is stock, but no column holds orders: stock and orders come together (order = next stock - stock + sales where stock is lost to nothing else)"
            )
        elif order is not None:
            closing = self.found.column("closing")
            hint = f" (the one before of {closing.name!r})" if closing is not None else ""
            self.left.append(
                f"{order.name!r} is orders, but no column holds the stock at the opening{hint}: they come together"
            )

    def _quantity(self, out: TomlText, role: str, column: Column, more: str = "", *, active: bool = True) -> None:
        others = self.found.roles.others.get(role, ())
        also = f"; CHECK: or {_listed(others)}" if others else ""
        how = (
            ", found by the balance of the stock"
            if self.found.by_balance and role in ("stock", "order", "sales")
            else ""
        )
        out.key(role, column.name, f"{WORDS[role]}{how}: {_values(column)}{also}{more}", active=active)
        missing = self.found.sample.rows - column.present
        if active and (missing or column.unread):
            self.left.append(f"{column.name!r}: {missing:,} rows have no value, {column.unread:,} no number")
        if active and (column.lowest or 0) < 0 and role != "adjustment":
            self.left.append(
                f"{column.name!r} has values below 0 ({column.lowest:g}): returns or corrections do not belong into it"
            )

    def _stockouts(self, out: TomlText) -> None:
        found = self.found
        flag, inverted, duration = (found.column(role) for role in ("stockout", "in_stock", "time_out"))
        if flag is not None:
            out.key("stockout", flag.name, "true where demand was above what there was")
        if inverted is not None:
            out.key("in_stock", inverted.name, "false where it was out of stock", active=flag is None)
        if duration is not None:
            active = flag is None and inverted is None
            out.key("out_of_stock", duration.name, f"time out of stock: {_values(duration)}", active=active)
        if flag is inverted is duration is None:
            if found.stock is not None:
                out.comment("No column says when it ran out: every row that sold all there was counts as a stock-out.")
            else:
                self.left.append(
                    "nothing tells when it was out of stock: name a column of stock-outs (stockout, in_stock or out_of_stock), or "
                    "columns of stock and orders; without them hidden demand cannot be told from low demand"
                )

    def _format(self, out: TomlText) -> None:
        numbers, period = self.found.profile.numbers, self.found.keys.period
        dates = period.dates if period is not None else ()
        if period is not None and period.compact_dates is not None:
            dates = (period.compact_dates,)
        if numbers.is_plain and not dates:
            if numbers.other is not None:
                out.comment(
                    'CHECK: numbers such as 1.234 are read as a little more than one; [format] thousands = ".", decimal = "," reads thousands.'
                )
            return
        out.table("format", "how the table writes numbers and dates")
        if numbers.style.decimal != ".":
            out.key("decimal", numbers.style.decimal, "the decimal sign")
        if numbers.style.thousands is not None:
            out.key("thousands", numbers.style.thousands, "between groups of three digits")
        if numbers.currency is not None:
            out.key("currency", numbers.currency, "left out of amounts")
        if numbers.other is not None:
            out.comment("CHECK: every fraction has three digits, so that the sign could be the decimal sign as well.")
            self.left.append(
                "[format]: numbers such as 1.234 can be read as thousands or as fractions; check which it is"
            )
        if dates:
            both = f"; CHECK: {dates[1]!r} fits as well" if len(dates) > 1 else ""
            out.key("dates", dates[0], f"as in {period.examples[0]!r}{both}" if period is not None else "")
            if len(dates) > 1:
                self.left.append(
                    f"[format] dates: day and month can be read both ways ({dates[0]!r} or {dates[1]!r}); check which it is"
                )


def _values(column: Column) -> str:
    if column.lowest is None or column.highest is None:
        return column.shown
    count = f"{column.distinct:,} different" if column.distinct > 1 else "always"
    return f"{count}, {column.lowest:g} to {column.highest:g}" if column.distinct > 1 else f"always {column.lowest:g}"


def _listed(names: tuple[str, ...]) -> str:
    return " or ".join(map(repr, names))
