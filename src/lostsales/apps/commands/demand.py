"""`lostsales demand`."""

from typing import Annotated

import typer

from lostsales.apps.commands.options import MOST, MOST_SEED, Json, Log, ProblemFile


def demand(
    log: Log,
    problem: ProblemFile = None,
    replicates: Annotated[int, typer.Option(min=2, max=MOST, help="Bootstrap samples behind the band.")] = 20,
    seed: Annotated[int, typer.Option(min=0, max=MOST_SEED, help="The same seed gives the same answer.")] = 0,
    as_json: Json = False,
) -> None:
    """Estimate the law of demand: effects, price response with a band, calibration, and warnings where it does not fit.

    Example: `lostsales demand log.parquet`
    """
    from lostsales.apps.views.console import print_json, progress
    from lostsales.apps.views.demand import demand_json, print_demand
    from lostsales.data.reading.gate import read_log
    from lostsales.demand.law.price_response import price_response
    from lostsales.demand.law.selection import fit_demand

    with progress("comparing models") as report:
        table = read_log(log, problem)
        model = fit_demand(table, seed=seed, progress=report)
    with progress("fitting resampled series") as report:
        found = price_response(table, model, replicates, seed, report)
    if as_json:
        print_json(demand_json(model, found))
    else:
        print_demand(str(log), model, found)
