"""The findings about a table as a problem file with a comment on every line, and what is left to do."""

from lostsales.data.column_names import fit
from lostsales.data.format import Format
from lostsales.data.ledger import FOLLOWS
from lostsales.data.proposal.column_lines import TomlText, write_columns
from lostsales.data.proposal.facts import StockFacts, TableFacts
from lostsales.data.reading.evening_orders import OrderMoment


def write_timing(found: TableFacts, out: TomlText) -> None:
    """`arrival` with the rows that speak for it, and how the stock moves."""
    facts = found.stock
    if facts is None:
        return
    evidence = (
        f"{facts.above_stock:,} of {facts.rows:,} rows sold more than the stock; of the rows with an order "
        f"{facts.sold_stock:,} sold exactly the stock and {facts.sold_both:,} exactly stock and order"
    )
    if found.moment is not None and found.orders_at_close:
        _write_evening(found, facts, found.moment, out)
    elif facts.arrival is None:
        out.key("arrival", "after", f'FILL IN "after" or "before": the table does not show it. {evidence}')
        out.todo(
            'arrival: does an order arrive "after" the sales of its period or "before"? The table does not show it'
        )
    else:
        out.key("arrival", facts.arrival, f"CHECK: {evidence}")
    if facts.above_both and not found.orders_at_close:
        out.todo(
            f"{facts.above_both:,} of {facts.rows:,} rows sold more than stock and order together: see whether one of "
            "the columns is another one"
        )
    if facts.pairs:
        out.comment(f"{_balance(facts)}.")
        if not found.orders_at_close or max(facts.opening, facts.late) < FOLLOWS * facts.pairs:
            _todo_of_balance(found, facts, out)
    if facts.has_capacity:
        why = f"CHECK: the most that fits; with it {facts.capped:,} of {facts.pairs:,} rows follow"
        out.key("capacity", facts.capacity, why)
    else:
        out.key("capacity", 25, "the most that fits into the store; by default no limit", active=False)


def _write_evening(found: TableFacts, facts: StockFacts, moment: OrderMoment, out: TomlText) -> None:
    """The keys of orders that are placed at closing time; when they arrive counts from the next opening."""
    explained = f"{moment.share:.0%} of what is left of the orders by the morning"
    out.key("order_placed", "close", f"CHECK: the sales of the same row explain {explained}")
    if facts.lead > 1:
        out.todo(
            f"orders of the evening come {facts.lead} periods after the next opening ({facts.late:,} of "
            f"{facts.pairs:,} rows): set it under [supply], lead_time = {facts.lead}"
        )
    is_next_day = facts.lead == 0 or (facts.lead == 1 and facts.above_stock > 0)
    if found.column("received") is not None and facts.arrival is not None:
        is_next_day = facts.arrival == "before"
    when = "in the next period" if is_next_day else "after the sales of the next period"
    out.key("arrival", "before" if is_next_day else "after", f"CHECK: an order of the evening can be sold {when}")


def write_actions(found: TableFacts, out: TomlText) -> None:
    """Write the prices and orders of the log; a constant price if it has none."""
    price, order = found.column("price"), found.column("order") or found.column("received")
    if price is None and found.column("revenue") is not None:
        out.comment("The price of a unit is [columns] revenue / sales; in rows without a sale that of the row before.")
    elif price is None:
        out.key("price", 2, "FILL IN: the table has no price; this one holds for every row", active=False)
        out.todo("price: no column has it; take the comment sign off `price = 2` and put yours, or name the column")
    else:
        out.comment(f"`prices` may say what is recommended; the log has {price.range}.")
    if order is not None:
        multiple = found.order_multiple
        cases = f", all multiples of {multiple}" if multiple and multiple > 1 else ""
        out.comment(f"`orders` may say what is recommended; the log has {order.range}{cases}.")
    if (duration := found.column("time_out")) is not None:
        length = {"monthly": 30, "weekly": 7}.get(found.keys.clock.step, 24)
        why = f"length of a period in the unit of {duration.name!r}; it makes partial stock-outs more informative"
        out.key("open_time", length, why, active=False)
    out.key("discount", 0.9, "what profit is worth one period later; by default 0.9", active=False)


def _balance(facts: StockFacts) -> str:
    text = f"The next stock is stock + order - sales in {facts.opening:,} of {facts.pairs:,} rows"
    if facts.lead and facts.late > 0.5 * facts.pairs:
        text += f", with orders that come {facts.lead} periods later in {facts.late:,}"
    return text


def _todo_of_balance(found: TableFacts, facts: StockFacts, out: TomlText) -> None:
    """Advise on a stock that does not follow its balance."""
    enough, pairs = FOLLOWS * facts.pairs, f"of {facts.pairs:,} rows"
    if facts.opening >= enough or facts.has_capacity:
        return
    if facts.lead and facts.late >= enough:
        out.todo(
            f"orders come {facts.lead} periods later than for the next one ({facts.late:,} {pairs}): set it under "
            f"[supply], lead_time = {facts.lead + 1}"
        )
    elif facts.subtracted >= enough:
        adjustment = found.roles.column["adjustment"]
        out.todo(f"{adjustment!r} is taken off the stock ({facts.subtracted:,} {pairs}): turn its sign, losses below 0")
    else:
        out.todo(
            f"the stock does not follow its balance, stock + order - sales ({facts.opening:,} {pairs} do): no gain can "
            "be promised from such a table; look for receipts, corrections, or a stock counted at another time"
        )


# Of the purchase price, for capital, space and spoilage: a third a year.
HOLDING = {"daily": 0.1, "weekly": 0.7, "every two weeks": 1.4, "monthly": 3}  # per cent
PAGE = "docs/problem.md"
LEAST_DAYS = 28  # four weeks: below, a weekday feature is not proposed
COST_WORDS = {
    "lost": "a customer who finds nothing, beyond the margin not earned; 0 if they just leave",
    "order": "what a unit costs you to buy",
    "holding": "a unit left at the end of a period: capital, room, what spoils",
}


def draft(found: TableFacts, name: str, more: list[str] | None = None) -> tuple[str, list[str]]:
    """The text of the file, and what is left to do, to which `more` belongs as well."""
    body = TomlText()
    write_timing(found, body)
    write_actions(found, body)
    _write_others(found, body)
    _write_costs(found, body)
    write_columns(found, body)
    _write_clock(found, body)
    _write_format(found, body)
    left = body.left + (more or [])
    head = TomlText()
    _write_head(found, name, left, head)
    return f"{head}\n{body}", left


def is_explained(reason: str, found: TableFacts, left: list[str]) -> bool:
    """True if the list of what is left to do names the cause of a reason against the table."""
    named = [name for name in found.profile.columns if any(each.startswith(repr(name)) for each in left)]
    repeated = ["a series must have one row"] if found.keys.repeated else []
    return reason.startswith(("missing column", *repeated, *(f"{name} must" for name in named)))


def _write_head(found: TableFacts, name: str, left: list[str], out: TomlText) -> None:
    sample, keys = found.sample, found.keys
    looked = "" if sample.is_whole else f", {sample.rows:,} of them inspected"
    step = f", {keys.clock.step}" if keys.clock.step else ""
    rows = f"{sample.table_rows:,} rows{looked}, {keys.n_series:,} series{step}"
    out.comment(f"Proposed by `lostsales init` from {name}: {rows}.")
    out.comment(f"Every key of this file: {PAGE}. Lines with CHECK are guesses; FILL IN what no table can say.")
    for each in left:
        out.comment(f"- {each}")


def _write_others(found: TableFacts, out: TomlText) -> None:
    out.gap()
    if found.others.features:
        out.comment("Known before the decision, and not the same in every period. CHECK: take out what is not known.")
        values = [
            (feature.name if feature.kind == "numeric" else feature.model_dump(exclude_none=True), why)
            for feature, why in found.others.features
        ]
        out.array("features", values)
    else:
        out.key("features", ["promotion"], "no column describes the market before the decision", active=False)
    if _weekdays_matter(found):
        out.key("calendar", ["weekday"], "from the dates, known ahead; also: week, month, holidays:US")
    if found.others.attributes:
        out.comment("The same in all rows of a series.")
        out.array("attributes", list(found.others.attributes))
    for name, why in found.others.left_out:
        out.comment(f"Not used: {name!r}, {why}.")
    for name, why in found.roles.mismatches.items():
        out.comment(f"CHECK: {name!r} {why}.")


def _weekdays_matter(found: TableFacts) -> bool:
    """True if rows are days over enough weeks, and no column has the weekday."""
    period, features = found.keys.period, [feature.name for feature, _ in found.others.features]
    is_daily = period is not None and found.keys.clock.step == "daily" and period.distinct >= LEAST_DAYS
    return is_daily and not any(fit(name, "weekday") >= 0.5 for name in features)


def _write_costs(found: TableFacts, out: TomlText) -> None:
    out.table("costs", "of a unit, in the currency of the price: a number, or the name of a column in quotes")
    for role, meaning in COST_WORDS.items():
        column = found.column(f"{role}_cost")
        if column is not None:
            out.key(role, column.name, f"CHECK: {meaning}; from {column.lowest:g} to {column.highest:g}")
        elif role == "lost":
            out.key(role, 0, f"CHECK: {meaning}")
        elif role == "holding":
            share = f"{HOLDING.get(found.keys.clock.step, 1):g} % of order"
            out.key(role, share, f"CHECK: {meaning}; a guess, a third of the purchase price a year")
        else:
            out.key(role, 1, f'FILL IN: {meaning}; or a small table by product: table = "costs.csv"', active=False)
            out.todo(
                "[costs] order: no column shows what a unit costs; it is needed to fit and to evaluate, not to "
                "inspect, audit or impute"
            )


def _write_clock(found: TableFacts, out: TomlText) -> None:
    if closed := found.keys.clock.closed:
        out.table("clock", "closed periods are no gaps in a series")
        out.key("closed", "learn", f"CHECK: found closed {closed}; else a list of weekdays and dates")


def _write_format(found: TableFacts, out: TomlText) -> None:
    numbers, period = found.profile.numbers, found.keys.period
    written = numbers.written
    dates: tuple[str, ...] = ()
    if period is not None:
        dates = period.dates if period.compact_dates is None else (period.compact_dates,)
    if numbers.other is not None:
        out.todo("[format]: numbers such as 1.234 can be read as thousands or as fractions; check which it is")
    if written == Format() and not dates:
        return
    out.table("format", "how the table writes numbers and dates")
    if written.decimal != ".":
        out.key("decimal", written.decimal, "the decimal sign")
    if written.thousands is not None:
        out.key("thousands", written.thousands, "between groups of three digits")
    if written.currency is not None:
        out.key("currency", written.currency, "left out of amounts")
    if period is not None and dates:
        both = f"; CHECK: {dates[1]!r} fits as well" if len(dates) > 1 else ""
        out.key("dates", dates[0], f"as in {period.examples[0]!r}{both}")
        if len(dates) > 1:
            out.todo(f"[format] dates: day and month can be read both ways, {dates[0]!r} or {dates[1]!r}; check which")
