"""`lostsales forecast`."""

from pathlib import Path
from typing import Annotated

import typer

from lostsales.apps.commands.options import (
    MOST,
    MOST_SEED,
    DropBadRows,
    DroppedRows,
    Json,
    Log,
    ProblemFile,
    Query,
    log_files,
    log_source,
    per_cents,
)
from lostsales.apps.commands.reading import read_sales


def forecast(
    log: Log,
    out: Annotated[Path, typer.Option(help="Where to write the forecast (.parquet or .csv).")],
    horizon: Annotated[int, typer.Option(min=1, max=1_000, help="Periods to look ahead.")],
    levels: Annotated[str, typer.Option(help="Quantiles in per cent, with commas between.")] = "10,50,90",
    season: Annotated[
        int | None,
        typer.Option(
            min=1, max=MOST, help="Periods after which demand comes back; by the dates unless given, 1 for none."
        ),
    ] = None,
    problem: ProblemFile = None,
    query: Query = None,
    seed: Annotated[int, typer.Option(min=0, max=MOST_SEED, help="The same seed gives the same answer.")] = 0,
    drop_bad_rows: DropBadRows = False,
    dropped_rows: DroppedRows = None,
    as_json: Json = False,
) -> None:
    """Forecast demand, not sales, by series and period, with quantiles.

    A table needs no more than series, period and sales (or unique_id, ds, y) and, where there were any, stock-outs.

    Example: `lostsales forecast log.parquet --horizon 3 --out forecast.csv`
    """
    from lostsales.apps.views.console import print_json, progress
    from lostsales.apps.views.forecast import forecast_json, print_forecast
    from lostsales.data.writing import check_table, write_table
    from lostsales.demand.forecasting.forecast import forecast as run_forecast

    source, asked = log_source(log, query), per_cents("levels", levels)
    check_table(out, log_files(source, problem))
    with progress("reading") as report:
        table = read_sales(source, problem, drop_bad_rows, dropped_rows, report, others=(out,), sales_only=True)
    with progress("forecasting from earlier periods, then ahead") as report:
        found = run_forecast(table, horizon, asked, season=season, seed=seed, progress=report)
    write_table(found.text_table if out.suffix == ".csv" else found.table, out)
    if as_json:
        print_json(forecast_json(found, out))
    else:
        print_forecast(str(source), found, out)
