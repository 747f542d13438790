"""`lostsales pilot`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.text import Text

from lostsales.apps.commands import options
from lostsales.apps.commands.reading import LogInput, reads_log
from lostsales.apps.console import print_facts, print_notes, print_table, print_verdict, progress, screen, show

if TYPE_CHECKING:
    from lostsales.evaluation.pilot.plan import Pilot

MOST_SERIES = 20  # whose part in the schedule is shown


@reads_log
def pilot(
    log: LogInput,
    policy: Annotated[Path, typer.Option(help="The new policy, as fit saved it.")],
    out: Annotated[Path, typer.Option(help="The pilot to write (JSON), for monitor.")],
    schedule: Annotated[
        Path | None, typer.Option(help="The schedule to write (.csv or .parquet); by default PILOT.schedule.csv.")
    ] = None,
    gain: Annotated[float, typer.Option(help="The gain to detect, as a share of the past profit.")] = 0.05,
    periods: Annotated[
        int | None,
        typer.Option(
            min=1, max=options.MOST, help="Length of the pilot in periods; by default as long as the power requires."
        ),
    ] = None,
    design: Annotated[
        Literal["auto", "series", "switchback"],
        typer.Option(help="Randomised by series, or switching over time; auto: by series from ten series on."),
    ] = "auto",
    wash_out: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=options.MOST,
            help="Periods after a change of policy that are left out; by default from stock and autocorrelation.",
        ),
    ] = None,
    power: Annotated[float, typer.Option(help="Power: the probability of detecting the gain.")] = 0.8,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Design a pilot: which series or periods use the new policy, and how many weeks it takes to detect a gain.

    Example: `lostsales pilot log.parquet --policy policy --out pilot.json`
    """
    from lostsales.data.output_files import check_output
    from lostsales.data.writing import check_table
    from lostsales.errors import LostSalesError
    from lostsales.evaluation.pilot.design import pilot as design_pilot
    from lostsales.evaluation.pilot.plan import schedule_beside

    inputs = (policy, *log.files)
    check_output(out, inputs)
    table = schedule_beside(out) if schedule is None else schedule
    check_table(table, inputs)
    if out.resolve() == table.resolve():
        raise LostSalesError(f"the pilot and its schedule need a file each, but both are {out}")
    sales = log.read_decisions("pilot", (policy, out, table))
    with progress("estimating lost sales") as report:
        found = design_pilot(
            sales,
            policy,
            gain=gain,
            periods=periods,
            design=None if design == "auto" else design,
            wash_out=wash_out,
            power=power,
            seed=seed,
            progress=report,
        )
    found.save(out, table)
    show(
        as_json,
        lambda: found.to_json() | {"pilot": str(out), "schedule": str(table)},
        lambda: print_pilot(f"{policy} on {log}", found, out, table),
    )


def print_pilot(title: str, pilot: "Pilot", path: Path, schedule: Path) -> None:
    """Print the assignment, the periods that gains take to detect, and the next steps."""
    from lostsales.evaluation.assortment import amount

    last = pilot.clock.name(pilot.periods - 1)
    follow = f"From {pilot.clock.name(0)} to {last}: follow the schedule, then `lostsales monitor {path} LOG`."
    print_verdict("care" if pilot.findable is None else "good", follow)
    print_facts(title, _facts(pilot))
    rows = []
    for each in pilot.needed:
        periods = "longer than a pilot may be" if each.periods is None else f"{each.periods:,}"
        weeks = "" if each.weeks is None else f"{each.weeks:.1f}"
        share = "" if each.share is None else f"{each.share:.0%}" if each.share >= 0.01 else f"{each.share:.1%}"
        rows.append((share, amount(each.gain), periods, weeks))
    print_table("Periods needed to detect a gain", ("gain", "per period and series", "periods", "weeks"), rows)
    screen.print(_who(pilot))
    print_notes(pilot.notes)
    screen.print(Text(f"The pilot is in {path}, its schedule in {schedule}"), soft_wrap=True)


def _facts(pilot: "Pilot") -> list[tuple[str, str]]:
    from lostsales.evaluation.assortment import amount

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


def _who(pilot: "Pilot") -> Text:
    import numpy as np

    from lostsales.evaluation.assortment import amount

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
