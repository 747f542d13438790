"""`lostsales forecast`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lostsales.apps.commands import options
from lostsales.apps.commands.reading import LogInput, reads_log
from lostsales.apps.console import print_facts, print_verdict, progress, screen, show
from lostsales.apps.tables import json_rows, key_texts, print_wide, write_result

if TYPE_CHECKING:
    from lostsales.demand.forecast import Forecast

MOST_ROWS = 20  # shown in a table


@reads_log
def forecast(
    log: LogInput,
    out: Annotated[Path, typer.Option(help="Where to write the forecast (.parquet, .csv or .xlsx).")],
    horizon: Annotated[int, typer.Option(min=1, max=1_000, help="Horizon in periods.")],
    levels: Annotated[str, typer.Option(help="Quantiles in per cent, with commas between.")] = "10,50,90",
    season: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=options.MOST,
            help="Season length in periods, 1 for none; by default from the dates.",
        ),
    ] = None,
    future: Annotated[
        Path | None,
        typer.Option(
            help="Prices and features of coming periods (.csv, .parquet or .xlsx): series, period, price, features."
        ),
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="COLUMN=VALUE", help="Change a coming price or feature, such as price=-10%."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=options.MOST_SEED, help="The same seed gives the same answer.")] = 0,
    as_json: options.Json = False,
) -> None:
    """Forecast demand, not sales, by series and period, with quantiles.

    A table needs no more than series, period and sales (or unique_id, ds, y) and, where there were any, stock-outs.

    Example: `lostsales forecast log.parquet --horizon 3 --out forecast.csv`
    """
    from lostsales.data.writing import check_table
    from lostsales.demand.forecast import forecast as run_forecast

    asked = options.per_cents("levels", levels)
    check_table(out, (*log.files, *((future,) if future else ())))
    table = log.read("forecast", others=(out,), sales_only=True)
    with progress("forecasting from earlier periods, then ahead") as report:
        found = run_forecast(
            table,
            horizon,
            asked,
            future=future,
            changes=changes or (),
            season=season,
            seed=seed,
            progress=report,
        )
    write_result(found, out)
    show(
        as_json,
        lambda: {"written": str(out), "how": found.how.model_dump(), "forecast": json_rows(found)},
        lambda: print_forecast(str(log), found, out),
    )


def print_forecast(name: str, found: "Forecast", written: Path) -> None:
    """Print the data behind a forecast, and its first rows."""
    import numpy as np

    from lostsales.apps.figures_shown import rounded

    how = found.how
    ahead = len(np.unique(found.period))
    total = f"{found.mean.sum():,.0f} units" if found.mean.sum() >= 100 else f"{found.mean.sum():.1f} units"
    coming = f"{ahead:,} coming periods" if ahead > 1 else "the coming period"
    print_verdict(
        "care" if how.warnings else "good", f"Expected demand of {how.series:,} products in {coming}: about {total}."
    )
    cycles = " and ".join(f"{length} periods" for length in how.season)
    own = "of each series, shrunk towards a common one" if how.own_season else "common to all series"
    earlier = (
        f"forecasts from {how.origins} earlier periods" if how.origins else "no earlier forecasts: too few periods"
    )
    print_facts(
        name,
        [
            ("demand of", f"{how.series:,} series over {how.periods:,} periods"),
            ("stock-outs", f"{how.stockouts:,} rows: demand is censored or unknown"),
            ("season", f"of {cycles}, {own}" if how.season else "none"),
            ("level", f"half of its weight is on the last {how.half_life:.0f} periods"),
            ("spread and weights from", earlier),
            ("coming periods", how.coming),
            *(("WARNING", warning) for warning in how.warnings),
        ],
    )
    keys = key_texts(found, MOST_ROWS)
    print_wide(
        "Forecast demand",
        keys=keys,
        figures={name: rounded(values[:MOST_ROWS]) for name, values in found.text_table.items() if name not in keys},
        texts={},
    )
    if (more := len(found.mean) - MOST_ROWS) > 0:
        screen.print(f"... and {more:,} more rows")
    screen.print(f"written to {written}", soft_wrap=True, highlight=False)
