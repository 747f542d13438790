"""A proposed problem as a person reads it."""

from pathlib import Path

from rich.text import Text

from lostsales.apps.views.console import out, print_facts
from lostsales.data.proposal.draft import PAGE
from lostsales.data.proposal.propose import Proposal


def print_proposal(table: object, target: Path, proposal: Proposal) -> None:
    """What was found, what is left, and the next command."""
    problem = proposal.problem
    facts = [(role, " + ".join(name) if isinstance(name, tuple) else name) for role, name in proposal.columns.items()]
    if problem.features:
        facts.append(("features", ", ".join(feature.name for feature in problem.features)))
    if problem.attributes:
        facts.append(("attributes", ", ".join(problem.attributes)))
    facts += [(f"format {key}", str(value)) for key, value in problem.format.model_dump(exclude_defaults=True).items()]
    print_facts(f"{target} was written: a proposal from {proposal.rows_seen:,} of {proposal.rows:,} rows", facts)
    if proposal.left:
        out.print(Text("Left to do:", style="bold"))
        for each in proposal.left:
            out.print(Text(f"- {each}"), soft_wrap=True)
    state = "The table can be read with it." if proposal.is_readable else "The table cannot be read with it yet."
    out.print(Text(f"{state} Every line has a comment; all keys: {PAGE}"), soft_wrap=True)
    out.print(Text(f"Next: edit {target}, then lostsales inspect {table}"), soft_wrap=True)
