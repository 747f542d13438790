"""A pilot so far as a person reads it."""

from pathlib import Path

from rich.text import Text

from lostsales.apps.views.console import out, plain_table
from lostsales.evaluation.assortment import amount
from lostsales.evaluation.interval import Interval
from lostsales.evaluation.pilot.monitoring import Monitoring, changes

MOST_LINES = 10


def bounds_text(gain: Interval | None) -> str:
    """A gain and its bounds; a bound that there is not yet is said so."""
    if gain is None:
        return "nothing to count yet"
    low, high = (amount(each) if abs(each) < float("inf") else "no bound yet" for each in (gain.low, gain.high))
    return f"{amount(gain.value)} ({low} to {high})"


def print_monitoring(title: str, found: Monitoring, page: Path | None) -> None:
    """Both arms, the gain, alarms, what is missing, and the verdict last."""
    table = plain_table(title, "per period and series", "series", "rows", "profit", "cash", "stock-outs")
    for name, arm in (("new policy", found.new), ("as before", found.before)):
        profit, cash = (amount(each, signed=False) if arm.rows else "-" for each in (arm.profit, arm.cash))
        out_share = f"{arm.stockouts:.1%}" if arm.rows else "-"
        table.add_row(name, f"{arm.series:,}", f"{arm.rows:,}", profit, cash, out_share)
    out.print(table)
    share = found.gain_share
    relative = "" if share is None else f", {share.value:+.1%} of the profit before"
    gains = {"profit": found.profit, "cash": found.cash}
    for name, each in gains.items():
        text = bounds_text(None if each is None else each.last)
        out.print(Text(f"gain in {name}: {text}{relative if name == 'profit' else ''}"))
    lines = [f"the market changed: {each}" for each in changes(found.alarms)]
    lines += [
        f"missing rows: {each.series} ({each.policy}), {each.periods:,} periods from {each.first} on"
        for each in found.missing[:MOST_LINES]
    ]
    if len(found.missing) > MOST_LINES:
        lines.append(f"missing rows of {len(found.missing) - MOST_LINES:,} more series")
    if found.unknown:
        lines.append(f"not in the pilot and left out: {', '.join(found.unknown[:MOST_LINES])}")
    for line in (*lines, *found.notes):
        out.print(Text(f"- {line}"), soft_wrap=True)
    if page is not None:
        out.print(f"the page is in {page}", soft_wrap=True)
    out.print(Text(f"{found.sentence[0].upper()}{found.sentence[1:]}.", style="bold"), soft_wrap=True)
