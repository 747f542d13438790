"""`python -m tools.figures`: measure figures of the documentation again that are older than the code they describe.

A block of figures begins with a line that says at which commit it was measured, by which command, which paths it
describes, and how long the command takes on two cores:

    Measured at commit 1a2b3c4 by `python -m benchmarks.shops`. <!-- of: benchmarks/shops.py; 1 min -->

"Recorded" instead of "Measured" is the commit that brought the figures into the page: they were measured on its code
or on an earlier one. Figures are stale where one of the paths has changed since. The tables that the command prints
take the places of the first tables below the line; sentences about them are for a person to read again. DATA/FILE in a
command is a file of data that we may not ship.
"""

import argparse
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
LINE = re.compile(
    r"(?:Measured|Recorded) at commit (?P<commit>[0-9a-f]{7,40}) by `(?P<command>[^`]+)`\."
    r" <!-- of: (?P<paths>[^;>]+); (?P<minutes>\d+) min -->"
)
END = re.compile(r"^#|^.* at commit [0-9a-f]{7,40} by `", flags=re.MULTILINE)  # of the tables of a block
TABLE = re.compile(r"^\|.*\n(?:\|.*\n)+", flags=re.MULTILINE)


@dataclass(frozen=True)
class Figures:
    """One block of figures."""

    page: Path
    commit: str
    command: str
    paths: tuple[str, ...]
    minutes: int

    def words(self, data: Path | None) -> list[str] | None:
        """The command with the interpreter and the data at hand, None where the data are not there."""
        if (file := re.search(r"\bDATA/(\S+)", self.command)) and (data is None or not (data / file[1]).exists()):
            return None
        command = re.sub(r"\bDATA/", "" if data is None else f"{data.resolve()}/", self.command)
        return [sys.executable if word == "python" else word for word in shlex.split(command)]


def figures_of(page: Path) -> list[Figures]:
    """The blocks of a page, in their order."""
    return [
        Figures(page, found["commit"], found["command"], tuple(found["paths"].split()), int(found["minutes"]))
        for found in LINE.finditer(page.read_text(encoding="utf-8"))
    ]


def git(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A command of git that changes nothing."""
    return subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603, S607


def differs(folder: Path, commit: str, paths: tuple[str, ...]) -> bool:
    """True where a path is not as it was at the commit, or the commit is not known."""
    return git(folder, "diff", "--quiet", commit, "--", *paths).returncode != 0


def renew(figures: Figures, folder: Path, data: Path | None = None) -> str:
    """Run the command of a block, write its tables and the present commit into the page, and say what was done."""
    if (words := figures.words(data)) is None:
        return "needs data (DATA=FOLDER)"
    if differs(folder, "HEAD", figures.paths):
        sys.exit(f"commit {' '.join(figures.paths)} first: figures name the code that they were measured on")
    head = git(folder, "rev-parse", "HEAD").stdout[:7]
    ended = subprocess.run(words, cwd=folder, stdout=subprocess.PIPE, text=True, check=False)  # noqa: S603
    if ended.returncode:
        return f"failed with exit code {ended.returncode}"
    text = figures.page.read_text(encoding="utf-8")
    figures.page.write_text(renewed(text, figures, ended.stdout, head), encoding="utf-8")
    return "renewed; read again what the page says of it"


def renewed(text: str, figures: Figures, printed: str, commit: str) -> str:
    """A page with the tables that a command printed, and the commit that they were measured at."""
    line = re.search(rf".*`{re.escape(figures.command)}`.*", text)
    tables = TABLE.findall(f"{printed}\n")
    if line is None or not tables:
        sys.exit(f"{figures.page.name}: `{figures.command}` printed no table, or the page does not name it")
    said = re.sub(r"(?:Measured|Recorded) at commit [0-9a-f]+", f"Measured at commit {commit}", line[0])
    whole, at = text[: line.start()] + said, line.end()
    end = found.start() if (found := END.search(text, at)) else len(text)
    for table in tables:
        if (old := TABLE.search(text, at, end)) is None:
            sys.exit(f"{figures.page.name}: `{figures.command}` printed more tables than there are below it")
        whole, at = whole + text[at : old.start()] + table, old.end()
    return whole + text[at:]


def main() -> None:
    """Renew what is stale, the quickest first."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, help="folder of the data of those commands that need some")
    parser.add_argument("--most", type=int, default=sys.maxsize, help="leave commands that take more minutes")
    asked = parser.parse_args()
    pages = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
    known = [each for page in pages for each in figures_of(page)]
    stale = sorted((each for each in known if differs(ROOT, each.commit, each.paths)), key=lambda each: each.minutes)
    total = sum(each.minutes for each in stale)
    say(f"{len(known)} blocks of figures, {len(stale)} older than their code: {total} minutes on two cores")
    for each in stale:
        what = f"{each.page.relative_to(ROOT)}  {each.commit}  {each.minutes} min  {each.command}"
        say(f"{what}: {renew(each, ROOT, asked.data) if each.minutes <= asked.most else 'left'}")


def say(line: str) -> None:
    """At once, also to a file."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
