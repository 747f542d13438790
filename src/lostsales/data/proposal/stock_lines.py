"""Lines about timing, balance, prices and orders of a proposed problem."""

from lostsales.data.proposal.balance import FOLLOWS, StockFacts
from lostsales.data.proposal.findings import TableFindings
from lostsales.data.proposal.toml_text import TomlText


def write_timing(found: TableFindings, out: TomlText) -> None:
    """`arrival` with the rows that speak for it, and how the stock moves."""
    facts = found.stock
    if facts is None:
        return
    evidence = (
        f"{facts.above_stock:,} of {facts.rows:,} rows sold more than the stock; of the rows with an order "
        f"{facts.sold_stock:,} sold exactly the stock and {facts.sold_both:,} exactly stock and order"
    )
    if found.orders_at_close:
        _write_evening(found, facts, out)
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


def _write_evening(found: TableFindings, facts: StockFacts, out: TomlText) -> None:
    """The keys of orders that are placed at closing time; when they arrive counts from the next opening."""
    assert found.moment is not None
    explained = f"{found.moment.share:.0%} of what is left of the orders by the morning"
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


def write_actions(found: TableFindings, out: TomlText) -> None:
    """Write the prices and orders of the log; a constant price if it has none."""
    price, order = found.column("price"), found.column("order") or found.column("received")
    if price is None:
        out.key("price", 2, "FILL IN: the table has no price; this one holds for every row", active=False)
        out.todo("price: no column has it; take the comment sign off `price = 2` and put yours, or name the column")
    else:
        out.comment(f"`prices` may say what is recommended; the log has {price.range}.")
    if order is not None:
        multiple = found.order_multiple
        cases = f", all multiples of {multiple}" if multiple and multiple > 1 else ""
        out.comment(f"`orders` may say what is recommended; the log has {order.range}{cases}.")
    if (duration := found.column("time_out")) is not None:
        length = {"monthly": 30, "weekly": 7}.get(found.keys.step, 24)
        why = f"length of a period in the unit of {duration.name!r}; it makes partial stock-outs more informative"
        out.key("open_time", length, why, active=False)
    out.key("discount", 0.9, "what profit is worth one period later; by default 0.9", active=False)


def _balance(facts: StockFacts) -> str:
    text = f"The next stock is stock + order - sales in {facts.opening:,} of {facts.pairs:,} rows"
    if facts.closing > facts.opening:
        text += f", the stock at the end of the period in {facts.closing:,}"
    if facts.lead and facts.late > 0.5 * facts.pairs:
        text += f", with orders that come {facts.lead} periods later in {facts.late:,}"
    return text


def _todo_of_balance(found: TableFindings, facts: StockFacts, out: TomlText) -> None:
    """Advise on a stock that does not follow its balance."""
    enough, pairs = FOLLOWS * facts.pairs, f"of {facts.pairs:,} rows"
    if facts.opening >= enough or facts.has_capacity:
        return
    if facts.closing >= enough:
        out.todo(
            f"{found.roles.column['stock']!r} is the stock at the end of a period ({facts.closing:,} {pairs}): the log "
            "needs it at the opening, which is that of the row before"
        )
    elif facts.lead and facts.late >= enough:
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
