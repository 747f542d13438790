"""Tables of measured pages, and where their runs are kept."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]


def markdown_table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    rows = [f"| {' | '.join(line)} |" for line in (head, *lines)]
    return "\n".join([rows[0], f"|{'---|' * len(head)}", *rows[1:]])


def results_folder(name: str) -> Path:
    """Folder of a run of the present commit, so that one that was stopped resumes and no other is mixed in."""
    asked = ["git", "rev-parse", "--short=7", "HEAD"]
    commit = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603
    return ROOT / "build" / "measured" / f"{name}-{commit}"
