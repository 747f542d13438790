"""`lostsales monitor`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from lostsales.apps.commands import options
from lostsales.apps.commands.reading import LogInput, reads_log
from lostsales.apps.console import print_notes, print_table, print_verdict, progress, screen, sentence, show

if TYPE_CHECKING:
    from lostsales.evaluation.pilot.monitor import Monitoring

# What a scheduler reads with --exit-code; 2 is an error.
EXIT_CODES = {"go on": 0, "success": 10, "harm": 11, "undecided": 12}
DRIFT_CODE = 13
LEVELS = {"success": "good", "harm": "stop"}
MOST_LINES = 10


@reads_log
def monitor(
    pilot: Annotated[Path, typer.Argument(help="A pilot that `lostsales pilot` wrote.")],
    log: LogInput,
    out: Annotated[Path | None, typer.Option(help="Also write a page for a manager (.html).")] = None,
    exit_code: Annotated[
        bool,
        typer.Option(
            "--exit-code",
            help="End with 10 (stop for success), 11 (stop for harm), 12 (planned end past, no verdict) or 13 (go on, "
            "but the market changed) instead of 0.",
        ),
    ] = False,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Monitor a pilot by an anytime-valid test: the gain so far, whether to stop, and whether the market changed.

    Example: `lostsales monitor pilot.json since.parquet`
    """
    from lostsales.apps.report.monitor_page import write_monitor_page
    from lostsales.apps.report.report import check_page
    from lostsales.evaluation.pilot.monitor import monitor as look
    from lostsales.evaluation.pilot.plan import Pilot

    if out is not None:
        check_page(out, (pilot, *log.files))
    plan = Pilot.load(pilot)
    sales = log.read_decisions("monitor", (pilot, out))
    with progress("estimating lost sales and the gain") as report:
        found = look(plan, sales, seed=seed, progress=report)
    if out is not None:
        write_monitor_page(found, out, [("pilot", pilot), *(("log", each) for each in log.files)])
    show(
        as_json,
        lambda: found.to_json() | {"pilot": str(pilot), "page": None if out is None else str(out)},
        lambda: print_monitoring(f"{pilot} on {log}", found, out),
    )
    if exit_code:
        code = EXIT_CODES[found.verdict]
        raise typer.Exit(DRIFT_CODE if code == 0 and found.alarms else code)


def print_monitoring(title: str, found: "Monitoring", page: Path | None) -> None:
    """The verdict, then both arms, the gain, alarms and what is missing."""
    from lostsales.apps.gains import bounds_text
    from lostsales.evaluation.assortment import amount
    from lostsales.evaluation.pilot.monitor import changes

    print_verdict(LEVELS.get(found.verdict, "care"), sentence(found.sentence))
    rows = []
    for name, arm in (("new policy", found.new), ("as before", found.before)):
        profit, cash = (amount(each, signed=False) if arm.rows else "-" for each in (arm.profit, arm.cash))
        out_share = f"{arm.stockouts:.1%}" if arm.rows else "-"
        rows.append((name, f"{arm.series:,}", f"{arm.rows:,}", profit, cash, out_share))
    print_table(title, ("per period and series", "series", "rows", "profit", "cash", "stock-outs"), rows)
    share = found.gain_share
    relative = "" if share is None else f", {share.value:+.1%} of the profit before"
    gains = {"profit": found.profit, "cash": found.cash}
    for name, each in gains.items():
        text = bounds_text(None if each is None else each.last)
        screen.print(Text(f"gain in {name}: {text}{relative if name == 'profit' else ''}"))
    lines = [f"the market changed: {each}" for each in changes(found.alarms)]
    lines += [
        f"missing rows: {each.series} ({each.policy}), {each.periods:,} periods from {each.first} on"
        for each in found.missing[:MOST_LINES]
    ]
    if len(found.missing) > MOST_LINES:
        lines.append(f"missing rows of {len(found.missing) - MOST_LINES:,} more series")
    if found.unknown:
        lines.append(f"not in the pilot and left out: {', '.join(found.unknown[:MOST_LINES])}")
    print_notes((*lines, *found.notes), soft_wrap=True)
    if page is not None:
        screen.print(f"the page is in {page}", soft_wrap=True)
