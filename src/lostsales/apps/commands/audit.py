"""`lostsales audit`."""

from typing import Annotated

import typer

from lostsales.apps.commands import options
from lostsales.apps.commands.budgeting import FEWER_ROWS, expect
from lostsales.apps.commands.reading import log_source, read_sales


def audit(
    log: options.Log,
    problem: options.ProblemFile = None,
    query: options.Query = None,
    cap: Annotated[
        int | None,
        typer.Option(min=0, max=options.MOST, help="Maximum depth to learn (K); the paper's rule unless given."),
    ] = None,
    drop_bad_rows: options.DropBadRows = False,
    dropped_rows: options.DroppedRows = None,
    memory: options.Memory = None,
    as_json: options.Json = False,
) -> None:
    """Report what can be learned from a log: stock-out runs, censored demand, assumptions, what to collect next.

    Example: `lostsales audit log.parquet`
    """
    from lostsales.apps.views.audit import print_audit
    from lostsales.apps.views.console import print_json, progress
    from lostsales.data.parallel import current_workers
    from lostsales.demand.audit.audit import audit as run_audit
    from lostsales.demand.costs import audit_cost

    source = log_source(log, query)
    sales = read_sales(source, problem, drop_bad_rows, dropped_rows)
    seconds = expect("audit", audit_cost(sales), memory, FEWER_ROWS, current_workers())
    with progress("auditing", seconds=seconds) as report:
        found = run_audit(sales, cap=cap, progress=report)
    if as_json:
        print_json(found.as_json())
    else:
        print_audit(str(source), found)
