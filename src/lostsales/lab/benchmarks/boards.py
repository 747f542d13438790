"""The boards by name, and where their data are."""

from importlib import import_module
from pathlib import Path

from lostsales.errors import LostSalesError
from lostsales.lab.benchmarks.board import Board

# Module and class of each board, and the module whose WHERE says how to get its data; None: it needs none.
BOARDS = {
    "zipkin": ("zipkin", "Zipkin", None),
    "inventorybench": ("inventorybench", "InventoryBench", "inventorybench_data"),
    "vn2": ("vn2", "Vn2", "vn2_data"),
    "freshretail": ("freshretail", "FreshRetail", "freshretail"),
    "orange-juice": ("orange_juice", "OrangeJuice", "orange_juice"),
}


def open_board(name: str, data: Path | None) -> Board:
    """A board with its data, or one error that says where to get them."""
    if name not in BOARDS:
        raise LostSalesError(f"there is no benchmark {name!r}")
    module, called, source = BOARDS[name]
    board = getattr(import_module(f"{__package__}.{module}"), called)
    found: Board
    if source is None:
        if data is not None:
            raise LostSalesError(f"{name} needs no data, but {data} was given")
        found = board()
        return found
    if data is None:
        where = import_module(f"{__package__}.{source}").WHERE
        raise LostSalesError(f"{name} needs its data, which may not be shipped: {where}")
    found = board.read(data)
    return found
