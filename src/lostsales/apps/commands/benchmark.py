"""`lostsales benchmark`."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from lostsales.apps.commands.options import Json


class BoardName(StrEnum):
    """The public benchmarks."""

    ZIPKIN = "zipkin"
    INVENTORYBENCH = "inventorybench"
    VN2 = "vn2"
    FRESHRETAIL = "freshretail"


def benchmark(
    name: Annotated[BoardName, typer.Argument(help="The benchmark.")],
    data: Annotated[
        Path | None,
        typer.Argument(
            help="Folder or file of its data, which we may not redistribute; without it an error says where to get it. "
            "zipkin needs none."
        ),
    ] = None,
    *,
    out: Annotated[Path, typer.Option(help="Folder of the results; an interrupted run is resumed.")],
    as_json: Json = False,
) -> None:
    """Run a public benchmark by its published protocol, and compare the results with the published ones.

    Writes a table (CSV and Markdown) and a figure to the folder. If interrupted, the same command resumes.

    Example: `lostsales benchmark inventorybench InventoryBench/benchmark --out boards`
    """
    from lostsales.apps.views.benchmark import print_board, to_json, write_board
    from lostsales.apps.views.console import print_json, progress
    from lostsales.lab.benchmarks.board import run_board
    from lostsales.lab.benchmarks.boards import open_board

    board = open_board(name.value, data)
    with progress(f"running {name.value}", window=600) as report:
        rows = run_board(board, out, report)
    written = write_board(board, rows, out)
    if as_json:
        print_json(to_json(board, rows, written))
    else:
        print_board(board, rows, written)
