"""A designed pilot as a person reads it."""

from pathlib import Path

import numpy as np
from rich.text import Text

from lostsales.apps.views.console import out, plain_table, print_facts
from lostsales.evaluation.assortment import amount
from lostsales.evaluation.pilot.plan import Pilot

MOST_SERIES = 20  # whose part in the schedule is shown


def print_pilot(title: str, pilot: Pilot, path: Path, schedule: Path) -> None:
    """Who tries the policy and when, how long gains take, and a last line with what to do."""
    print_facts(title, _facts(pilot))
    table = plain_table("Periods needed to detect a gain", "gain", "per period and series", "periods", "weeks")
    for each in pilot.needed:
        periods = "longer than a pilot may be" if each.periods is None else f"{each.periods:,}"
        weeks = "" if each.weeks is None else f"{each.weeks:.1f}"
        share = "" if each.share is None else f"{each.share:.0%}" if each.share >= 0.01 else f"{each.share:.1%}"
        table.add_row(share, amount(each.gain), periods, weeks)
    out.print(table)
    out.print(_who(pilot))
    for note in pilot.notes:
        out.print(Text(f"- {note}"))
    out.print(Text(f"The pilot is in {path}, its schedule in {schedule}"), soft_wrap=True)
    last = pilot.clock.name(pilot.periods - 1)
    line = (
        f"From {pilot.clock.name(0)} to {last}: follow the schedule, and monitor with `lostsales monitor {path} LOG`."
    )
    out.print(Text(line, style="bold"), soft_wrap=True)


def _facts(pilot: Pilot) -> list[tuple[str, str]]:
    before = f"{amount(pilot.profit, signed=False)} per period and series (in cash {amount(pilot.cash, signed=False)})"
    weeks = pilot.clock.periods_a_week
    length = f"{pilot.periods:,} periods" + ("" if weeks is None else f", {pilot.periods / weeks:.1f} weeks")
    washed = f"{pilot.wash_out} periods after a change of policy are left out (carry-over of orders, stock and demand)"
    found = "none" if pilot.findable is None else f"{amount(pilot.findable)} per period and series"
    share = "" if pilot.findable is None or pilot.profit <= 0 else f", {pilot.findable / pilot.profit:.1%} of profit"
    watched = ", ".join(each.name for each in pilot.detectors) or "nothing: the past is too short or does not vary"
    return [
        ("design", "split by series" if pilot.design == "series" else f"switchback, blocks of {pilot.block} periods"),
        ("profit before", before),
        ("length", length),
        ("wash-out", washed),
        (f"gain detected with power {pilot.power:.0%}", f"{found}{share}"),
        ("alarms on", watched),
        ("outcome", "profit with lost sales at their expected cost; cash, without that cost, is reported too"),
    ]


def _who(pilot: Pilot) -> Text:
    if pilot.design == "switchback":
        switches = f"every series changes between the policies, {2 * pilot.pairs} blocks of {pilot.block} periods"
        return Text(f"New policy: {switches}; the schedule says which.")
    tries = pilot.names[pilot.new[:, 0]]
    profit = pilot.of_series("past_profit")
    balance = [float(np.mean(profit[own])) for own in (pilot.new[:, 0], ~pilot.new[:, 0])]
    more = f" and {len(tries) - MOST_SERIES:,} more" if len(tries) > MOST_SERIES else ""
    earned = f"they earned {amount(balance[0], signed=False)} per period, the others {amount(balance[1], signed=False)}"
    return Text(
        f"New policy in {len(tries):,} of {len(pilot.series):,} series: "
        f"{', '.join(map(str, tries[:MOST_SERIES]))}{more}; {earned}."
    )
