"""`lostsales recommend`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lostsales.apps.commands.options import Json, PolicyFile
from lostsales.apps.commands.reading import log_source

if TYPE_CHECKING:
    from lostsales.data.databases.address import DatabaseAddress
    from lostsales.policy.recommendation import Recommendation


def recommend(
    policy: PolicyFile,
    today: Annotated[
        str,
        typer.Option(
            help="One open row per series: series, period, features, stock. Rows of later periods give their features."
        ),
    ],
    recent: Annotated[str | None, typer.Option(help="Completed rows of each series. Not needed on day one.")] = None,
    out: Annotated[
        str | None,
        typer.Option(help="Write the recommendations: .parquet or .csv, or a database as for LOG, in one transaction."),
    ] = None,
    today_query: Annotated[
        str | None, typer.Option(metavar="SQL", help="The open rows, where --today is a database.")
    ] = None,
    recent_query: Annotated[
        str | None, typer.Option(metavar="SQL", help="The completed rows, where --recent is a database.")
    ] = None,
    table: Annotated[str, typer.Option(help="The table of a database that --out writes to.")] = "lostsales_decisions",
    run: Annotated[
        str | None, typer.Option(help="Name of the run in that table; derived from the decisions unless given.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Recommend today's price and order of every series.

    Example: `lostsales recommend policy --recent recent.csv --today today.csv`
    """
    from lostsales.apps.views.console import print_json
    from lostsales.apps.views.recommendation import print_recommendation, recommendation_json
    from lostsales.data.databases.address import DatabaseAddress, is_address
    from lostsales.data.reading.paths import files_of
    from lostsales.data.writing import check_table, write_table
    from lostsales.policy.file_format import load
    from lostsales.policy.recommendation import recommendation

    open_rows = log_source(today, today_query)
    closed_rows = None if recent is None else log_source(recent, recent_query)
    database = DatabaseAddress.of(out) if out is not None and is_address(out) else None
    file = Path(out) if out is not None and database is None else None
    if file is not None:
        read = [*files_of(open_rows), *(() if closed_rows is None else files_of(closed_rows))]
        check_table(file, (policy, *read))
    found = recommendation(load(policy), closed_rows, open_rows)
    if file is not None:
        write_table(found.text_table if file.suffix == ".csv" else found.table, file)
    added = None if database is None else _stored(found, policy, database, table, run)
    if as_json:
        print_json(recommendation_json(found) | ({} if added is None else {"rows_added": added}))
    else:
        print_recommendation(f"Today by {policy}", found, file if database is None else f"{table} of {database}")


def _stored(found: "Recommendation", policy: Path, database: "DatabaseAddress", table: str, run: str | None) -> int:
    """How many decisions were new to the table of a database."""
    from lostsales.data.databases.decisions import run_name, write_decisions

    return write_decisions(database, found.table, tuple(found.keys), run or run_name(policy, found.table), table)
