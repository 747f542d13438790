"""`lostsales inspect`."""

from lostsales.apps.commands.options import Json, Log, ProblemFile


def inspect(log: Log, problem: ProblemFile = None, as_json: Json = False) -> None:
    """Read a sales log, check every row, and report what is in it.

    Example: `lostsales inspect log.parquet --problem problem.toml`
    """
    from lostsales.apps.views.console import print_facts, print_json, progress
    from lostsales.data.describe import describe
    from lostsales.data.reading.gate import read_log

    with progress("reading") as report:
        facts = describe(read_log(log, problem, report))
    if as_json:
        print_json(facts.as_json())
    else:
        print_facts(str(log), facts.as_lines())
