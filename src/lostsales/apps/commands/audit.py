"""`lostsales audit`."""

from typing import Annotated

import typer

from lostsales.apps.commands.options import MOST, Json, Log, ProblemFile


def audit(
    log: Log,
    problem: ProblemFile = None,
    cap: Annotated[
        int | None, typer.Option(min=0, max=MOST, help="Greatest depth to learn (K); the paper's rule unless given.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Report what can be learned from a log: stock-out runs, hidden demand, assumptions, and what to collect next.

    Example: `lostsales audit log.parquet`
    """
    from lostsales.apps.views.audit import print_audit
    from lostsales.apps.views.console import print_json, progress
    from lostsales.data.reading.gate import read_log
    from lostsales.demand.audit.audit import audit as run_audit

    with progress("auditing") as report:
        found = run_audit(read_log(log, problem), cap=cap, progress=report)
    if as_json:
        print_json(found.as_json())
    else:
        print_audit(str(log), found)
