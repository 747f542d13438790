"""`lostsales audit`."""

from typing import Annotated

import typer

from lostsales.apps.commands.budgeting import FEWER_ROWS, expect
from lostsales.apps.commands.options import (
    MOST,
    DropBadRows,
    DroppedRows,
    Json,
    Log,
    Memory,
    ProblemFile,
    Query,
    log_source,
)
from lostsales.apps.commands.reading import read_sales


def audit(
    log: Log,
    problem: ProblemFile = None,
    query: Query = None,
    cap: Annotated[
        int | None, typer.Option(min=0, max=MOST, help="Greatest depth to learn (K); the paper's rule unless given.")
    ] = None,
    drop_bad_rows: DropBadRows = False,
    dropped_rows: DroppedRows = None,
    memory: Memory = None,
    as_json: Json = False,
) -> None:
    """Report what can be learned from a log: stock-out runs, hidden demand, assumptions, and what to collect next.

    Example: `lostsales audit log.parquet`
    """
    from lostsales.apps.views.audit import print_audit
    from lostsales.apps.views.console import print_json, progress
    from lostsales.data.parallel import current_workers
    from lostsales.demand.audit.audit import audit as run_audit
    from lostsales.demand.costs import audit_cost

    source = log_source(log, query)
    with progress("reading") as report:
        sales = read_sales(source, problem, drop_bad_rows, dropped_rows, report)
    seconds = expect("audit", audit_cost(sales), memory, FEWER_ROWS, current_workers())
    with progress("auditing", seconds=seconds) as report:
        found = run_audit(sales, cap=cap, progress=report)
    if as_json:
        print_json(found.as_json())
    else:
        print_audit(str(source), found)
