"""`lostsales inspect`."""

from lostsales.apps.commands.options import DropBadRows, DroppedRows, Json, Log, ProblemFile, Query, log_source
from lostsales.apps.commands.reading import read_sales


def inspect(
    log: Log,
    problem: ProblemFile = None,
    query: Query = None,
    drop_bad_rows: DropBadRows = False,
    dropped_rows: DroppedRows = None,
    as_json: Json = False,
) -> None:
    """Read a sales log, check every row, and report what is in it.

    Example: `lostsales inspect log.parquet --problem problem.toml`
    """
    from lostsales.apps.views.console import print_facts, print_json, progress
    from lostsales.data.describe import describe

    source = log_source(log, query)
    with progress("reading") as report:
        facts = describe(read_sales(source, problem, drop_bad_rows, dropped_rows, report))
    if as_json:
        print_json(facts.as_json())
    else:
        print_facts(str(source), facts.as_lines())
