"""`lostsales monitor`."""

from pathlib import Path
from typing import Annotated

import typer

from lostsales.apps.commands import options
from lostsales.apps.commands.reading import log_files, log_source, read_sales

# What a scheduler reads with --exit-code; 2 is an error.
EXIT_CODES = {"go on": 0, "success": 10, "harm": 11, "undecided": 12}
DRIFT_CODE = 13


def monitor(
    pilot: Annotated[Path, typer.Argument(help="A pilot that `lostsales pilot` wrote.")],
    log: options.Log,
    out: Annotated[Path | None, typer.Option(help="Also write a page for a manager (.html).")] = None,
    problem: options.ProblemFile = None,
    query: options.Query = None,
    exit_code: Annotated[
        bool,
        typer.Option(
            "--exit-code",
            help="End with 10 (stop for success), 11 (stop for harm), 12 (planned end past, no verdict) or 13 (go on, "
            "but the market changed) instead of 0.",
        ),
    ] = False,
    seed: options.Seed = 0,
    drop_bad_rows: options.DropBadRows = False,
    dropped_rows: options.DroppedRows = None,
    as_json: options.Json = False,
) -> None:
    """Monitor a pilot by an anytime-valid test: the gain so far, whether to stop, and whether the market changed.

    Example: `lostsales monitor pilot.json since.parquet`
    """
    from lostsales.apps.report.monitor_page import write_monitor_page
    from lostsales.apps.report.report import check_page
    from lostsales.apps.views.console import print_json, progress
    from lostsales.apps.views.monitor import print_monitoring
    from lostsales.evaluation.pilot.monitor import monitor as look
    from lostsales.evaluation.pilot.plan import Pilot

    source = log_source(log, query)
    if out is not None:
        check_page(out, (pilot, *log_files(source, problem)))
    plan = Pilot.load(pilot)
    sales = read_sales(source, problem, drop_bad_rows, dropped_rows, verb="monitor", others=(pilot, out))
    with progress("estimating lost sales and the gain") as report:
        found = look(plan, sales, seed=seed, progress=report)
    if out is not None:
        write_monitor_page(found, out, [("pilot", pilot), *(("log", each) for each in log_files(source, problem))])
    if as_json:
        print_json(found.to_json() | {"pilot": str(pilot), "page": None if out is None else str(out)})
    else:
        print_monitoring(f"{pilot} on {source}", found, out)
    if exit_code:
        code = EXIT_CODES[found.verdict]
        raise typer.Exit(DRIFT_CODE if code == 0 and found.alarms else code)
