"""Makes a notebook of each tutorial: `python -m tools.notebooks [NAME ...]` runs it and writes page and notebook anew.

A tutorial is a Markdown page with Python sessions (`pycon`). Its cells end where the page shows output; that output is
what running the notebook printed.
"""

import doctest
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[1] / "docs" / "tutorials"
NAMES = ("own-table", "hidden-demand", "prices", "is-it-better", "the-experiment", "a-fleet")
SESSION = re.compile(r"^```pycon\n(.*?)^```\n", flags=re.DOTALL | re.MULTILINE)
SECONDS = 300
QUIET = ["--IPKernelApp.log_level=ERROR"]
SAME = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Cell:
    """Lines of Python, and the output that the page shows below them."""

    source: str
    shown: str

    @property
    def session(self) -> str:
        """The cell as it is on the page."""
        examples = doctest.DocTestParser().get_examples(_prompted(self.source))
        return "".join(_prompted(each.source) for each in examples) + self.shown


def cells(session: str) -> list[Cell]:
    """The cells of one block of a page."""
    found, lines = [], ""
    for example in doctest.DocTestParser().get_examples(session):
        lines += example.source
        if example.want:
            found.append(Cell(lines, example.want))
            lines = ""
    return [*found, Cell(lines, "")] if lines else found


def notebook(text: str) -> nbformat.NotebookNode:
    """The notebook of a page, not yet run."""

    def fences(block: re.Match[str]) -> str:
        return "\n".join(f"```python\n{each.source}```\n" for each in cells(block[1]))

    made: nbformat.NotebookNode = jupytext.reads(SESSION.sub(fences, text), fmt="md")
    made.metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    for number, cell in enumerate(made.cells):
        cell["id"] = f"cell-{number}"
        cell.metadata = {}
    return made


def run(made: nbformat.NotebookNode) -> list[str]:
    """Run a notebook in an empty folder; the text that each of its cells of code puts out."""
    with tempfile.TemporaryDirectory() as folder:
        place = {"metadata": {"path": folder}}
        NotebookClient(made, kernel_name="python3", timeout=SECONDS, resources=place, extra_arguments=QUIET).execute()
    return [_printed(cell) for cell in made.cells if cell.cell_type == "code"]


def differences(text: str, printed: list[str]) -> list[str]:
    """Cells of a page whose output is not what running them printed."""
    shown = [cell for block in SESSION.findall(text) for cell in cells(block)]
    same = doctest.OutputChecker().check_output
    return [
        f"{cell.source}shows\n{cell.shown}and printed\n{got}"
        for cell, got in zip(shown, printed, strict=True)
        if not same(cell.shown, got, SAME)
    ]


def renewed(text: str, printed: list[str]) -> str:
    """The page with the output of its cells, but for those that are shown in part (...)."""
    left = iter(printed)

    def block(old: re.Match[str]) -> str:
        new = []
        for cell in cells(old[1]):
            got = next(left)
            is_same = doctest.OutputChecker().check_output(cell.shown, got, SAME)
            new.append(Cell(cell.source, cell.shown if is_same else got).session)
        return "```pycon\n" + "".join(new) + "```\n"

    return SESSION.sub(block, text)


def main(names: list[str]) -> None:
    """Run tutorials, and write their output into the page and into the notebook next to it."""
    for name in names or NAMES:
        page = FOLDER / f"{name}.md"
        made = notebook(page.read_text(encoding="utf-8"))
        text = renewed(page.read_text(encoding="utf-8"), run(made))
        page.write_text(text, encoding="utf-8")
        for cell in made.cells:
            cell.metadata = {}  # without the times of this run
        nbformat.write(made, page.with_suffix(".ipynb"))  # type: ignore[no-untyped-call]


def _prompted(source: str) -> str:
    lines = source.rstrip("\n").split("\n")
    return "".join(f"{'... ' if line[:1] in (' ', ')', ']', '}') else '>>> '}{line}\n" for line in lines)


def _printed(cell: nbformat.NotebookNode) -> str:
    texts = [
        output["text"] if output.output_type == "stream" else output["data"].get("text/plain", "")
        for output in cell.outputs
        if output.output_type != "stream" or output.name == "stdout"
    ]
    return "".join(f"{text.rstrip()}\n" for text in texts)


if __name__ == "__main__":
    main(sys.argv[1:])
