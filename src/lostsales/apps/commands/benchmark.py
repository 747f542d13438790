"""`lostsales benchmark`."""

import csv
import io
import json
from enum import StrEnum
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lostsales.apps.commands.options import Json
from lostsales.apps.console import print_table, progress, screen, show
from lostsales.apps.tables import markdown_table

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from lostsales.lab.benchmarks.board import Board, BoardRow

OURS, REFERENCE = "#0072B2", "#8C8C8C"  # as colour-blind readers can tell apart
MARKS = ("D", "s", "^", "v")  # of references
DOTS = 160  # an inch
HEAD = ("case", "figure", "ours", "std. error", "count", "reference", "by")


class BoardName(StrEnum):
    """The public benchmarks."""

    ZIPKIN = "zipkin"
    INVENTORYBENCH = "inventorybench"
    VN2 = "vn2"
    FRESHRETAIL = "freshretail"
    ORANGE_JUICE = "orange-juice"
    CENSORED_NEWSVENDOR = "censored-newsvendor"
    PERISHABLES = "perishables"


def benchmark(
    name: Annotated[BoardName, typer.Argument(help="The benchmark.")],
    data: Annotated[
        Path | None,
        typer.Argument(
            help="Folder or file of its data, which we may not redistribute; without it an error says where to get it. "
            "zipkin, censored-newsvendor and perishables need none."
        ),
    ] = None,
    *,
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:CLASS",
            help="Your policy instead of ours: a class with decide(frame), and fit(frame) if it learns.",
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the results; an interrupted run is resumed.")],
    as_json: Json = False,
) -> None:
    """Run a public benchmark by its published protocol, and compare the results with the published ones.

    Writes a table (CSV, JSON and Markdown) and a figure to the folder. If interrupted, the same command resumes.

    Example: `lostsales benchmark inventorybench InventoryBench/benchmark --out boards`
    """
    from lostsales.lab.benchmarks.board import run_board
    from lostsales.lab.benchmarks.boards import open_board

    board = open_board(name.value, data, policy)
    with progress(f"running {name.value}") as report:
        rows = run_board(board, out, report)
    written = write_board(board, rows, out)
    show(as_json, lambda: to_json(board, rows, written), lambda: print_board(board, rows, written))


def print_board(board: "Board", rows: "list[BoardRow]", written: list[Path]) -> None:
    """The table on a terminal."""
    for name, group in groupby(rows, key=lambda row: row.board):
        print_table(f"{board.name}: {name}", _head(board), map(_cells, group))
        screen.print()
    screen.print(f"source: {board.source}", highlight=False, soft_wrap=True)
    screen.print(f"written: {', '.join(map(str, written))}", highlight=False, soft_wrap=True)


def to_json(board: "Board", rows: "list[BoardRow]", written: list[Path]) -> dict[str, Any]:
    """Content of the table for JSON."""
    from importlib.metadata import version

    return {
        "benchmark": board.name,
        "policy": board.entrant.place if board.entrant else "lostsales",
        "version": version("lostsales"),
        "source": board.source,
        "rows": [row.as_dict() for row in rows],
        "written": [str(path) for path in written],
    }


def write_board(board: "Board", rows: "list[BoardRow]", folder: Path) -> list[Path]:
    """The table as CSV, JSON and Markdown, and the picture where matplotlib is installed."""
    from lostsales.data.output_files import replacing
    from lostsales.lab.benchmarks.board import stem

    sheet = io.StringIO()
    writer = csv.DictWriter(sheet, list(rows[0].as_dict()), lineterminator="\n")
    writer.writeheader()
    writer.writerows(row.as_dict() for row in rows)
    text = json.dumps(to_json(board, rows, []), indent=1)
    files = {f"{stem(board)}.csv": sheet.getvalue(), f"{stem(board)}.json": f"{text}\n"}
    files[f"{stem(board)}.md"] = "\n".join(_markdown(board, rows))
    for name, text in files.items():
        with replacing(folder / name) as temporary:
            temporary.write_text(text, encoding="utf-8")
    written = [folder / name for name in files]
    if find_spec("matplotlib") is not None:
        written.append(folder / f"{stem(board)}.png")
        with replacing(written[-1]) as temporary:
            _picture(board, rows).savefig(temporary, format="png", dpi=DOTS, metadata={"Software": None})
    return written


def _markdown(board: "Board", rows: "list[BoardRow]") -> list[str]:
    lines = [f"# {board.name}", "", f"Source: {board.source}", ""]
    for name, group in groupby(rows, key=lambda row: row.board):
        lines += [f"## {name}", "", *markdown_table(_head(board), map(_cells, group))]
    return lines


def _head(board: "Board") -> tuple[str, ...]:
    return tuple(board.entrant.place if each == "ours" and board.entrant else each for each in HEAD)


def _cells(row: "BoardRow") -> tuple[str, ...]:
    count = "" if row.count is None else f"{row.count:,}"
    numbers = (_number(each) for each in (row.ours, row.std_error))
    return (row.case, row.figure, *numbers, count, _number(row.published), row.published_by)


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3f}"


def _picture(board: "Board", rows: "list[BoardRow]") -> "Figure":
    """Ours and the references of every case, a panel for each figure of each board."""
    from matplotlib.figure import Figure

    panels = [(key, list(group)) for key, group in groupby(rows, key=lambda row: (row.board, row.figure))]
    heights = [len({row.case for row in group}) + 2.5 for _, group in panels]
    figure = Figure(figsize=(8.0, 0.3 * sum(heights) + 1.0), layout="constrained")
    axes = figure.subplots(len(panels), 1, squeeze=False, height_ratios=heights)[:, 0]
    named = dict.fromkeys(row.published_by for row in rows if row.published is not None)
    marks = {by: MARKS[at % len(MARKS)] for at, by in enumerate(named)}
    shown: dict[str, Artist] = {}
    for axis, ((name, measured), group) in zip(axes, panels, strict=True):
        _panel(axis, group, marks, board.entrant.place if board.entrant else "lostsales")
        axis.set_title(f"{board.name}: {name}", loc="left", fontsize=10)
        axis.set_xlabel(measured, fontsize=8)
        handles, labels = axis.get_legend_handles_labels()
        shown |= dict(zip(labels, handles, strict=True))
    figure.legend(list(shown.values()), list(shown), loc="outside lower center", ncols=2, fontsize=8, frameon=False)
    return figure


def _panel(axis: "Axes", rows: "list[BoardRow]", marks: dict[str, str], by_whom: str) -> None:
    """A line for each case; its references may be in several rows."""
    from lostsales.data.confidence import margin

    ours = {row.case: row for row in rows}
    places = {case: place for place, case in enumerate(ours)}
    for by, mark in marks.items():
        known = {row.case: row.published for row in rows if row.published_by == by and row.published is not None}
        if known:
            at = [places[case] for case in known]
            axis.plot(list(known.values()), at, mark, color=REFERENCE, markerfacecolor="none", label=by)
    errors = [margin(row.std_error or 0.0) for row in ours.values()]
    means = [row.ours for row in ours.values()]
    axis.errorbar(
        means, list(places.values()), xerr=errors, fmt="o", color=OURS, label=f"{by_whom}, 95 %", markersize=4
    )
    axis.set_yticks(list(places.values()), list(places), fontsize=8)
    axis.set_ylim(len(places) - 0.5, -0.5)
    axis.grid(axis="x", alpha=0.3)
