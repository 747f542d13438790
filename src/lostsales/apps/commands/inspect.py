"""`lostsales inspect`."""

from lostsales.apps.commands import options
from lostsales.apps.commands.reading import LogInput, reads_log
from lostsales.apps.console import print_facts, print_verdict, show


@reads_log
def inspect(
    log: LogInput,
    as_json: options.Json = False,
) -> None:
    """Read a sales log, check every row, and report what is in it.

    Example: `lostsales inspect log.parquet --problem problem.toml`
    """
    from lostsales.data.describe import describe

    facts = describe(log.read("inspect", sales_only=True))

    def text() -> None:
        print_verdict("care" if facts.warnings else "good", facts.verdict)
        print_facts(str(log), facts.as_lines())

    show(as_json, facts.as_json, text)
