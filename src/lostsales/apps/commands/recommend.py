"""`lostsales recommend`."""

from pathlib import Path
from typing import Annotated

import typer

from lostsales.apps.commands.options import Json, PolicyFile


def recommend(
    policy: PolicyFile,
    today: Annotated[Path, typer.Option(help="One open row a series: series, period, features, stock.")],
    recent: Annotated[Path | None, typer.Option(help="Closed rows of each series; none on day one.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the recommendations (.parquet or .csv).")] = None,
    as_json: Json = False,
) -> None:
    """Recommend today's price and order of every series.

    Example: `lostsales recommend policy --recent recent.csv --today today.csv`
    """
    from lostsales.apps.views.console import print_json
    from lostsales.apps.views.recommendation import print_recommendation, recommendation_json
    from lostsales.data.writing import check_table, write_table
    from lostsales.policy.file_format import load
    from lostsales.policy.recommendation import recommendation

    if out is not None:
        check_table(out, (policy, today, recent))
    found = recommendation(load(policy), recent, today)
    if out is not None:
        write_table(found.text_table if out.suffix == ".csv" else found.table, out)
    if as_json:
        print_json(recommendation_json(found))
    else:
        print_recommendation(f"Today by {policy}", found, out)
