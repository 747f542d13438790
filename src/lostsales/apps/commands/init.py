"""`lostsales init`."""

from pathlib import Path
from typing import Annotated

import typer

from lostsales.apps.commands.options import Json, Log


def init(
    log: Log,
    out: Annotated[
        Path | None, typer.Option(help="TOML file to write, beside the table unless given; - prints it.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    as_json: Json = False,
) -> None:
    """Propose the problem file of a table: guess its columns, dates and formats, and mark what only you know.

    Example: `lostsales init log.parquet --out proposed.toml`
    """
    from lostsales.apps.views.console import print_json, progress
    from lostsales.apps.views.proposal import print_proposal
    from lostsales.data.proposal.propose import propose
    from lostsales.data.proposal.target import problem_target, write_problem

    target = None if out == Path("-") else problem_target(log, out, force)
    with progress("looking at the table"):
        proposal = propose(log)
    if target is not None:
        write_problem(proposal.text, target)
    if as_json:
        print_json(proposal.as_json() | {"written": None if target is None else str(target)})
    elif target is None:
        typer.echo(proposal.text, nl=False)
    else:
        print_proposal(log, target, proposal)
