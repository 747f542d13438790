"""`lostsales fleet recommend`."""

from pathlib import Path
from typing import Annotated

import typer

from lostsales.apps.commands.options import Json, Processes, StoreFolder, VersionName
from lostsales.apps.commands.recommend import print_recommendation
from lostsales.apps.console import progress, show
from lostsales.apps.tables import json_rows, write_result


def fleet_recommend(
    store: StoreFolder,
    today: Annotated[
        Path,
        typer.Option(
            help="One open row per product: series, period, features, stock. Rows of later periods give their features."
        ),
    ],
    recent: Annotated[
        Path | None,
        typer.Option(help="Completed rows of the products: a file, a folder or a pattern. Not needed on day one."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the recommendations (.parquet or .csv).")] = None,
    version: VersionName = None,
    workers: Processes = 2,
    as_json: Json = False,
) -> None:
    """Recommend today's price and order of all products in one call.

    Example: `lostsales fleet recommend store --recent recent.parquet --today today.parquet --out decisions.parquet`
    """
    from lostsales.apps.fleet.engine import engine_of
    from lostsales.apps.fleet.fleet import Fleet
    from lostsales.apps.fleet.recommend import recommend_fleet
    from lostsales.data.writing import check_table

    if out is not None:
        check_table(out, (store, today, recent))
    with progress("deciding", unit="products") as report:
        found = recommend_fleet(Fleet.open(store, version), recent, today, engine_of(workers, None), report)
        if out is not None:
            write_result(found, out)
    show(
        as_json,
        lambda: {"recommendations": json_rows(found)},
        lambda: print_recommendation(f"Today by {store}", found, out),
    )
