"""Reading the log of a command: rows that were left out are told on the standard error."""

from pathlib import Path
from typing import TYPE_CHECKING

from lostsales.apps.console import err, progress

if TYPE_CHECKING:
    from lostsales.data.databases.query import DatabaseQuery
    from lostsales.data.log import SalesLog


def log_source(log: str, query: str | None) -> "Path | DatabaseQuery":
    """The files that an argument names, or the query on the database that it names."""
    from lostsales.data.databases.query import sales_source

    found = sales_source(log, query)
    return Path(found) if isinstance(found, str) else found


def log_files(log: "Path | DatabaseQuery", problem: Path | None) -> tuple[Path, ...]:
    """The files that reading a log reads: the table or tables, and its problem, by default beside it."""
    from lostsales.data.reading.table import files_of, problem_beside

    beside = problem_beside(log) if problem is None else problem
    return files_of(log) if beside is None else (*files_of(log), beside)


def read_sales(
    log: "Path | DatabaseQuery",
    problem: Path | None,
    drop_bad_rows: bool,
    dropped_rows: Path | None,
    verb: str | None = None,
    others: "tuple[Path | None, ...]" = (),
    sales_only: bool = False,
) -> "SalesLog":
    """The log; a file for dropped rows says that they are dropped, and is none of the `others` of the command.

    For a `verb` that decides, what it lacks is an error and what makes it doubtful a warning, before any work.
    """
    from lostsales.data.describe import doubts
    from lostsales.data.reading.dropping import check_apart
    from lostsales.data.reading.gate import read_log

    check_apart(log, dropped_rows or drop_bad_rows, others)
    with progress("reading") as report:
        sales = read_log(log, problem, report, drop_bad_rows=dropped_rows or drop_bad_rows, sales_only=sales_only)
    if notes := sales.notes.rows_dropped and sales.notes:
        told = f"{notes.rows_dropped:,} rows left out, written with the reasons to {notes.dropped_file}"
        err.print(told, markup=False, highlight=False, soft_wrap=True)
    if verb is not None:
        sales.decisions(verb)
        for doubt in doubts(sales):
            err.print(f"Warning: {doubt}", markup=False, highlight=False, soft_wrap=True)
    return sales


def print_left_out(log: "SalesLog", by_method: dict[str, dict[str, int]]) -> None:
    """Rows by method and reason, and columns that nothing uses, on the standard error."""
    told: dict[str, list[str]] = {}
    for method, left in by_method.items():
        reasons = "; ".join(f"{rows:,} {reason}" for reason, rows in left.items())
        if reasons:
            told.setdefault(reasons, []).append(method)
    for reasons, methods in told.items():
        line = f"Left out of {len(log):,} rows by {', '.join(methods)}: {reasons}"
        err.print(line, markup=False, highlight=False, soft_wrap=True)
    if unused := log.notes.unused_columns:
        line = f"Columns not declared as features, and not used: {', '.join(unused)}"
        err.print(line, markup=False, highlight=False, soft_wrap=True)
