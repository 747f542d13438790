"""`python -m tests.figures`: measured figures of the documentation that are older than the code they describe.

A block of figures begins with a line that says at which commit it was measured, by which command, and which paths it
describes:

    Measured at commit 1a2b3c4 by `python -m benchmarks.shops`. <!-- of: benchmarks/shops.py; cheap -->

"Recorded" in place of "Measured" is the commit that brought the figures into the page: they were measured on its code
or on an earlier one. Figures are stale where one of the paths has changed since. Cheap ones are measured again: the
command prints a table, which takes the place of the first table below the line. Others are listed.
"""

import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
LINE = re.compile(
    r"(?:Measured|Recorded) at commit (?P<commit>[0-9a-f]{7,40}) by `(?P<command>[^`]+)`\."
    r" <!-- of: (?P<paths>[^;>]+); (?P<cost>cheap|slow) -->"
)
TABLE = re.compile(r"^\|.*\n(?:\|.*\n)+", flags=re.MULTILINE)


@dataclass(frozen=True)
class Figures:
    """One block of figures."""

    page: Path
    commit: str
    command: str
    paths: tuple[str, ...]
    is_cheap: bool


def figures_of(page: Path) -> list[Figures]:
    """The blocks of a page, in their order."""
    return [
        Figures(page, found["commit"], found["command"], tuple(found["paths"].split()), found["cost"] == "cheap")
        for found in LINE.finditer(page.read_text(encoding="utf-8"))
    ]


def git(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A command of git that changes nothing."""
    return subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603, S607


def differs(folder: Path, commit: str, paths: tuple[str, ...]) -> bool:
    """True where a path is not as it was at the commit, or the commit is not known."""
    return git(folder, "diff", "--quiet", commit, "--", *paths).returncode != 0


def renew(figures: Figures, folder: Path) -> None:
    """Run the command of a cheap block, and write its table and the present commit into the page."""
    if differs(folder, "HEAD", figures.paths):
        sys.exit(f"commit {' '.join(figures.paths)} first: figures name the code that they were measured on")
    words = [sys.executable if word == "python" else word for word in shlex.split(figures.command)]
    printed = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True).stdout  # noqa: S603
    head = git(folder, "rev-parse", "HEAD").stdout[:7]
    text = figures.page.read_text(encoding="utf-8")
    figures.page.write_text(renewed(text, figures, printed, head), encoding="utf-8")


def renewed(text: str, figures: Figures, printed: str, commit: str) -> str:
    """A page with the table that a command printed, and the commit that it was measured at."""
    table, line = TABLE.search(printed), re.search(rf".*`{re.escape(figures.command)}`.*", text)
    if table is None or line is None or (old := TABLE.search(text, line.end())) is None:
        sys.exit(f"{figures.page.name}: no table below `{figures.command}`, or none printed by it")
    said = re.sub(r"(?:Measured|Recorded) at commit [0-9a-f]+", f"Measured at commit {commit}", line[0])
    return text[: line.start()] + said + text[line.end() : old.start()] + table[0] + text[old.end() :]


def main() -> None:
    """Renew what is cheap, list the rest."""
    pages = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
    known = [each for page in pages for each in figures_of(page)]
    stale = [each for each in known if differs(ROOT, each.commit, each.paths)]
    for each in stale:
        if each.is_cheap:
            renew(each, ROOT)
    lines = [
        f"{'renewed' if each.is_cheap else 'stale'}  {each.page.relative_to(ROOT)}  {each.commit}  {each.command}"
        for each in stale
    ]
    sys.stdout.write("\n".join([f"{len(known)} blocks of figures, {len(stale)} older than their code", *lines, ""]))


if __name__ == "__main__":
    main()
