"""`lostsales demand`."""

from typing import Annotated

import typer

from lostsales.apps.commands import options
from lostsales.apps.commands.budgeting import FEWER_ROWS, expect
from lostsales.apps.commands.reading import log_source, read_sales


def demand(
    log: options.Log,
    problem: options.ProblemFile = None,
    query: options.Query = None,
    replicates: Annotated[
        int, typer.Option(min=2, max=options.MOST, help="Bootstrap samples of the confidence band.")
    ] = 20,
    seed: options.Seed = 0,
    drop_bad_rows: options.DropBadRows = False,
    dropped_rows: options.DroppedRows = None,
    memory: options.Memory = None,
    as_json: options.Json = False,
) -> None:
    """Estimate the demand model: effects, price response with a confidence band, calibration, and warnings.

    Example: `lostsales demand log.parquet`
    """
    from lostsales.apps.views.console import print_json, progress
    from lostsales.apps.views.demand import demand_json, print_demand
    from lostsales.data.parallel import current_workers
    from lostsales.data.progress import stages
    from lostsales.demand.costs import demand_cost
    from lostsales.demand.law.price_response import price_response
    from lostsales.demand.law.price_slopes import price_slopes
    from lostsales.demand.law.selection import fit_demand

    source = log_source(log, query)
    table = read_sales(source, problem, drop_bad_rows, dropped_rows)
    seconds = expect("demand", demand_cost(table, replicates), memory, FEWER_ROWS, current_workers())
    with progress("comparing models, fitting resampled series", seconds=seconds) as report:
        comparing, resampling = stages(report, (3, 1))
        model = fit_demand(table, seed=seed, progress=comparing)
        found = price_response(table, model, replicates, seed, resampling)
        slopes = price_slopes(table, model.sample, model.law, seed)
    if as_json:
        print_json(demand_json(model, found, slopes))
    else:
        print_demand(str(source), model, found, slopes)
