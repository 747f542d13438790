"""`lostsales aggregate`."""

from pathlib import Path
from typing import Annotated

import typer

from lostsales.apps.commands.options import Json, Log, Query
from lostsales.apps.commands.reading import rows_source
from lostsales.apps.console import print_notes, print_verdict, progress, screen, show


def aggregate(
    log: Log,
    by: Annotated[str, typer.Option(help="day, week or month.")] = "day",
    out: Annotated[
        Path | None, typer.Option(help="Where to write it (.csv, .parquet or .xlsx); by default TABLE-by-day.csv.")
    ] = None,
    query: Query = None,
    as_json: Json = False,
) -> None:
    """Sum transactions to one row per product and period, and add rows for periods without a sale.

    Example: `lostsales aggregate till.csv --by day --out sales.csv`
    """
    from lostsales.data.aggregation import PERIODS
    from lostsales.data.aggregation import aggregate as summed
    from lostsales.data.reading.table import files_of
    from lostsales.data.writing import check_table, write_table
    from lostsales.errors import LostSalesError

    source = rows_source(log, query)
    if by not in PERIODS:
        raise LostSalesError(f"--by is one of {', '.join(PERIODS)}, but {by!r} came")
    if out is None and not isinstance(source, Path):
        raise LostSalesError("rows of a database need --out, the file to write")
    target = out or Path(log).with_name(f"{Path(log).stem}-by-{by}.csv")
    check_table(target, files_of(source))
    with progress("summing"):
        found = summed(source, by)
    write_table(found.columns, target)
    facts = {"written": str(target), "rows": len(found), "rows_read": found.rows_read, "zeros_added": found.zeros_added}

    def text() -> None:
        zeros = f", {found.zeros_added:,} of them added with sales of 0" if found.zeros_added else ""
        print_verdict("good", f"{found.rows_read:,} rows became {len(found):,}, one per product and {by}{zeros}.")
        print_notes(found.notes)
        screen.print(f"written to {target}", highlight=False, soft_wrap=True)
        screen.print(f"Next: lostsales init {target}", highlight=False, soft_wrap=True)

    show(as_json, lambda: facts | {"notes": list(found.notes)}, text)
