"""What people see of a fleet."""

from datetime import timedelta

from lostsales.apps.figures_shown import number
from lostsales.apps.fleet.overview import FleetAudit, FleetComparison
from lostsales.apps.fleet.status import FleetStatus
from lostsales.apps.views.console import out, plain_table, print_facts
from lostsales.evaluation.interval import Interval

MOST_REASONS, MOST_GROUPS = 8, 20


def print_status(found: FleetStatus) -> None:
    """How far a fleet is, and what could not be learned."""
    facts = [
        ("products", f"{found.products_finished:,} of {found.products:,} finished, {found.products_learned:,} fitted"),
        ("shards", f"{found.shards_finished:,} of {found.shards:,} finished"),
        ("method", found.method),
        ("current version", found.current or "none yet"),
        ("versions", ", ".join(found.versions)),
        ("writer", "a process is writing" if found.is_being_written else "none"),
    ]
    if found.products_per_second is not None and found.seconds_left is not None:
        left = timedelta(seconds=round(found.seconds_left))
        facts.append(("speed", f"{found.products_per_second:.1f} products per second, about {left} left"))
    what = "no version yet" if found.version is None else f"version {found.version}"
    print_facts(f"Fleet in {found.store}, {what}", facts)
    if found.failures:
        table = plain_table(f"{found.products_failed:,} products could not be fitted", "reason", "products")
        for reason, products in list(found.failures.items())[:MOST_REASONS]:
            table.add_row(reason, f"{products:,}")
        out.print(table)
        if len(found.failures) > MOST_REASONS:
            out.print(f"... and {len(found.failures) - MOST_REASONS:,} more reasons in failures.parquet")


def print_fleet_audit(title: str, found: FleetAudit) -> None:
    """What can be learned from the rows of a fleet."""
    print_facts(
        title,
        [
            ("products", f"{found.products_learned:,} of {found.products:,} fitted"),
            ("rows", f"{found.rows:,}, {found.stockout_share:.1%} of them stock-outs"),
            ("price never varied", f"{found.products_of_one_price:,} products"),
            ("cash per period", number(found.cash or 0.0, 6)),
        ],
    )
    groups = plain_table("By group", "group", "products", "cash per period", "stock-outs")
    for name, each in list(found.by.items())[:MOST_GROUPS]:
        groups.add_row(name, f"{each['products']:,.0f}", number(each["cash"], 5), f"{each['stockout_share']:.1%}")
    out.print(groups)
    for heading, counts, unit in (
        ("Products that could not be fitted", found.failures, "products"),
        ("Balance equation of the stock", found.balance, "shards"),
        ("Warnings of the fits", found.notes, "shards"),
        ("What to collect next", found.advice, "shards"),
    ):
        if counts:
            table = plain_table(heading, "", unit)
            for text, count in list(counts.items())[:MOST_REASONS]:
                table.add_row(text, f"{count:,}")
            out.print(table)


WHAT_TO_DO = {
    "deploy": "Deploy it: the 95 % interval of the gain lies above zero.",
    "pilot": "Keep the current practice, and run a pilot first.",
    "keep": "Keep the current practice.",
}


def print_fleet_comparison(title: str, found: FleetComparison, currency: str | None) -> None:
    """What the policies of a fleet gain."""
    total, money = found.total, f" {currency}" if currency else ""
    print_facts(
        title,
        [
            ("proven gain", f"{total.proven_share:.1%} of {total.products_judged:,} evaluated products"),
            ("gain per period", f"{_money(total.gain)}{money} over all {total.products:,} products"),
            ("of it in cash", f"{_money(total.cash_gain)}{money}, without the cost of lost sales"),
            ("earned per period", f"{_money(total.earned)}{money}"),
            ("evaluated on", f"{total.shards_judged:,} of {total.shards:,} shards"),
        ],
    )
    table = plain_table("By group", "group", "products", "gain per period", "95 % interval", "proven")
    for name, each in list(found.by.items())[:MOST_GROUPS]:
        low, high = number(each.gain.low), number(each.gain.high)
        table.add_row(
            name, f"{each.products:,}", number(each.gain.value), f"{low} to {high}", f"{each.proven_share:.0%}"
        )
    out.print(table)
    for reason, shards in found.doubts.items():
        out.print(f"{shards:,} shards have concerns: {reason}", soft_wrap=True, highlight=False)
    out.print(WHAT_TO_DO[found.verdict], style="bold")
    for reason, shards in found.not_judged.items():
        out.print(f"{shards:,} shards were not evaluated: {reason}", soft_wrap=True, highlight=False)


def _money(interval: Interval) -> str:
    value, low, high = (number(each) for each in (interval.value, interval.low, interval.high))
    return f"{value} (95 % interval {low} to {high})"
