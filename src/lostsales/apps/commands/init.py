"""`lostsales init`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from lostsales.apps.commands.options import Json, Log, Query
from lostsales.apps.commands.reading import rows_source
from lostsales.apps.console import print_facts, print_json, print_notes, print_verdict, progress, screen

if TYPE_CHECKING:
    from lostsales.data.proposal.propose import Proposal


def init(
    log: Log,
    out: Annotated[
        Path | None, typer.Option(help="TOML file to write, by default next to the table; - prints it.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    query: Query = None,
    as_json: Json = False,
) -> None:
    """Propose the problem file of a table: infer its columns, dates and formats, and mark what only you know.

    Example: `lostsales init log.parquet --out proposed.toml`
    """
    from lostsales.data.proposal.propose import problem_target, propose, write_problem

    source = rows_source(log, query)
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


def print_proposal(table: object, target: Path, proposal: "Proposal") -> None:
    """Print the columns found, the open questions, and the next command."""
    from lostsales.data.proposal.draft import PAGE

    problem = proposal.problem
    facts = [(role, " + ".join(name) if isinstance(name, tuple) else name) for role, name in proposal.columns.items()]
    if problem.features:
        facts.append(("features", ", ".join(feature.name for feature in problem.features)))
    if problem.attributes:
        facts.append(("attributes", ", ".join(problem.attributes)))
    if proposal.left_out:
        facts.append(("not used", "; ".join(f"{name} ({why})" for name, why in proposal.left_out.items())))
    facts += [(f"format {key}", str(value)) for key, value in problem.format.model_dump(exclude_defaults=True).items()]
    state = "the table can be read with it" if proposal.is_readable else "the table cannot be read with it yet"
    left = f"; left to do: {len(proposal.left)}" if proposal.left else ""
    print_verdict("care" if left or not proposal.is_readable else "good", f"{target} was written: {state}{left}.")
    print_facts(f"A proposal from {proposal.rows_seen:,} of {proposal.rows:,} rows", facts)
    if proposal.left:
        screen.print(Text("Left to do:", style="bold"))
        print_notes(proposal.left, soft_wrap=True)
    screen.print(Text(f"Every line of {target} has a comment; all keys: {PAGE}"), soft_wrap=True)
    step = f"edit {target}, then lostsales inspect {table}" if left else f"lostsales audit {table}"
    screen.print(Text(f"Next: {step}"), soft_wrap=True)
