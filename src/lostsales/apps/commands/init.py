"""`lostsales init`."""

from pathlib import Path
from typing import Annotated

import typer

from lostsales.apps.commands.options import Json, Log, Query
from lostsales.apps.commands.reading import log_source


def init(
    log: Log,
    out: Annotated[
        Path | None, typer.Option(help="TOML file to write, beside the table unless given; - prints it.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    query: Query = None,
    as_json: Json = False,
) -> None:
    """Propose the problem file of a table: infer its columns, dates and formats, and mark what only you know.

    Example: `lostsales init log.parquet --out proposed.toml`
    """
    from lostsales.apps.views.console import print_json, progress
    from lostsales.apps.views.proposal import print_proposal
    from lostsales.data.proposal.propose import propose
    from lostsales.data.proposal.target import problem_target, write_problem

    source = log_source(log, query)
    target = None if out == Path("-") else problem_target(source, out, force)
    with progress("reading the table"):
        proposal = propose(source)
    if target is not None:
        write_problem(proposal.text, target)
    if as_json:
        print_json(proposal.as_json() | {"written": None if target is None else str(target)})
    elif target is None:
        typer.echo(proposal.text, nl=False)
    else:
        print_proposal(source, target, proposal)
