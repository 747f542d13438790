"""`lostsales inspect`."""

from lostsales.apps.commands import options
from lostsales.apps.commands.reading import log_source, read_sales
from lostsales.apps.console import print_facts, print_json


def inspect(
    log: options.Log,
    problem: options.ProblemFile = None,
    query: options.Query = None,
    drop_bad_rows: options.DropBadRows = False,
    dropped_rows: options.DroppedRows = None,
    as_json: options.Json = False,
) -> None:
    """Read a sales log, check every row, and report what is in it.

    Example: `lostsales inspect log.parquet --problem problem.toml`
    """
    from lostsales.data.describe import describe

    source = log_source(log, query)
    facts = describe(read_sales(source, problem, drop_bad_rows, dropped_rows))
    if as_json:
        print_json(facts.as_json())
    else:
        print_facts(str(source), facts.as_lines())
