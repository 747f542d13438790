"""The boards by name, and where their data are."""

from dataclasses import replace
from importlib import import_module
from pathlib import Path

from lostsales.errors import LostSalesError
from lostsales.lab.benchmarks.board import Board
from lostsales.lab.benchmarks.entrant import Entrant

# Module and class of each board, and the module whose WHERE says how to get its data; None: it needs none.
BOARDS = {
    "zipkin": ("zipkin", "Zipkin", None),
    "inventorybench": ("inventorybench", "InventoryBench", "inventorybench_data"),
    "vn2": ("vn2", "Vn2", "vn2_data"),
    "freshretail": ("freshretail", "FreshRetail", "freshretail"),
    "orange-juice": ("orange_juice", "OrangeJuice", "orange_juice"),
    "censored-newsvendor": ("censored_newsvendor", "CensoredNewsvendor", None),
    "perishables": ("perishables", "Perishables", None),
}


def open_board(name: str, data: Path | None, policy: str | None = None) -> Board:
    """A board with its data, or one error that says where to get them; `policy` is the place of an entrant."""
    entrant = None if policy is None else Entrant(policy)
    if entrant is not None:
        _ = entrant.made  # that it is there
    if name not in BOARDS:
        raise LostSalesError(f"there is no benchmark {name!r}")
    module, called, source = BOARDS[name]
    board = getattr(import_module(f"{__package__}.{module}"), called)
    found: Board
    if source is None:
        if data is not None:
            raise LostSalesError(f"{name} needs no data, but {data} was given")
        found = board(entrant=entrant)
        return found
    if data is None:
        where = import_module(f"{__package__}.{source}").WHERE
        raise LostSalesError(f"{name} needs its data, which may not be shipped: {where}")
    found = replace(board.read(data), entrant=entrant)
    return found
