"""`lostsales pilot`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from lostsales.apps.commands import options
from lostsales.apps.commands.reading import log_files, log_source, read_sales


def pilot(
    log: options.Log,
    policy: Annotated[Path, typer.Option(help="The new policy, as fit saved it.")],
    out: Annotated[Path, typer.Option(help="The pilot to write (JSON), for monitor.")],
    schedule: Annotated[
        Path | None, typer.Option(help="The schedule to write (.csv or .parquet); PILOT.schedule.csv unless given.")
    ] = None,
    problem: options.ProblemFile = None,
    query: options.Query = None,
    gain: Annotated[float, typer.Option(help="The gain to detect, as a share of the past profit.")] = 0.05,
    periods: Annotated[
        int | None,
        typer.Option(
            min=1, max=options.MOST, help="Length of the pilot in periods; as long as the power requires unless given."
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
            help="Periods after a change of policy that are left out; from stock and autocorrelation unless given.",
        ),
    ] = None,
    power: Annotated[float, typer.Option(help="Power: the probability of detecting the gain.")] = 0.8,
    seed: options.Seed = 0,
    drop_bad_rows: options.DropBadRows = False,
    dropped_rows: options.DroppedRows = None,
    as_json: options.Json = False,
) -> None:
    """Design a pilot: which series or periods use the new policy, and how many weeks it takes to detect a gain.

    Example: `lostsales pilot log.parquet --policy policy --out pilot.json`
    """
    from lostsales.apps.views.console import print_json, progress
    from lostsales.apps.views.pilot import print_pilot
    from lostsales.data.output_files import check_output
    from lostsales.data.writing import check_table
    from lostsales.errors import LostSalesError
    from lostsales.evaluation.pilot.design import pilot as design_pilot
    from lostsales.evaluation.pilot.plan import schedule_beside

    source = log_source(log, query)
    inputs = (policy, *log_files(source, problem))
    check_output(out, inputs)
    table = schedule_beside(out) if schedule is None else schedule
    check_table(table, inputs)
    if out.resolve() == table.resolve():
        raise LostSalesError(f"the pilot and its schedule need a file each, but both are {out}")
    sales = read_sales(source, problem, drop_bad_rows, dropped_rows, verb="pilot", others=(policy, out, table))
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
    if as_json:
        print_json(found.to_json() | {"pilot": str(out), "schedule": str(table)})
    else:
        print_pilot(f"{policy} on {source}", found, out, table)
