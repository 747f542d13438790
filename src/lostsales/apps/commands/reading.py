"""Reading the log of a command: rows that were left out are told on the standard error."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lostsales.data.databases.query import DatabaseQuery
    from lostsales.data.log import SalesLog
    from lostsales.data.progress import Progress


def read_sales(
    log: "Path | DatabaseQuery",
    problem: Path | None,
    drop_bad_rows: bool,
    dropped_rows: Path | None,
    progress: "Progress | None" = None,
    verb: str | None = None,
    others: "tuple[Path | None, ...]" = (),
    sales_only: bool = False,
) -> "SalesLog":
    """The log; a file for dropped rows says that they are dropped, and is none of the `others` of the command.

    For a `verb` that decides, what it lacks is an error and what makes it doubtful a warning, before any work.
    """
    from lostsales.apps.views.console import err
    from lostsales.data.readiness import check_decidable, doubts
    from lostsales.data.reading.dropping import check_apart
    from lostsales.data.reading.gate import read_log

    check_apart(log, dropped_rows or drop_bad_rows, others)
    sales = read_log(log, problem, progress, drop_bad_rows=dropped_rows or drop_bad_rows, sales_only=sales_only)
    if notes := sales.notes.rows_dropped and sales.notes:
        told = f"{notes.rows_dropped:,} rows left out, written with the reasons to {notes.dropped_file}"
        err.print(told, markup=False, highlight=False, soft_wrap=True)
    if verb is not None:
        check_decidable(sales, verb)
        for doubt in doubts(sales):
            err.print(f"Warning: {doubt}", markup=False, highlight=False, soft_wrap=True)
    return sales
