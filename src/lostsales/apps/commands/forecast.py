"""`lostsales forecast`."""

from pathlib import Path
from typing import Annotated

import typer

from lostsales.apps.commands import options
from lostsales.apps.commands.reading import log_files, log_source, read_sales


def forecast(
    log: options.Log,
    out: Annotated[Path, typer.Option(help="Where to write the forecast (.parquet or .csv).")],
    horizon: Annotated[int, typer.Option(min=1, max=1_000, help="Horizon in periods.")],
    levels: Annotated[str, typer.Option(help="Quantiles in per cent, with commas between.")] = "10,50,90",
    season: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=options.MOST,
            help="Season length in periods; from the dates unless given, 1 for none.",
        ),
    ] = None,
    problem: options.ProblemFile = None,
    query: options.Query = None,
    seed: Annotated[int, typer.Option(min=0, max=options.MOST_SEED, help="The same seed gives the same answer.")] = 0,
    drop_bad_rows: options.DropBadRows = False,
    dropped_rows: options.DroppedRows = None,
    as_json: options.Json = False,
) -> None:
    """Forecast demand, not sales, by series and period, with quantiles.

    A table needs no more than series, period and sales (or unique_id, ds, y) and, where there were any, stock-outs.

    Example: `lostsales forecast log.parquet --horizon 3 --out forecast.csv`
    """
    from lostsales.apps.views.console import print_json, progress
    from lostsales.apps.views.forecast import forecast_json, print_forecast
    from lostsales.data.writing import check_table, write_table
    from lostsales.demand.forecasting.forecast import forecast as run_forecast

    source, asked = log_source(log, query), options.per_cents("levels", levels)
    check_table(out, log_files(source, problem))
    table = read_sales(source, problem, drop_bad_rows, dropped_rows, others=(out,), sales_only=True)
    with progress("forecasting from earlier periods, then ahead") as report:
        found = run_forecast(table, horizon, asked, season=season, seed=seed, progress=report)
    write_table(found.text_table if out.suffix == ".csv" else found.table, out)
    if as_json:
        print_json(forecast_json(found, out))
    else:
        print_forecast(str(source), found, out)
