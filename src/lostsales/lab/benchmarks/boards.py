"""The boards by name, and where their data are."""

from pathlib import Path

from lostsales.errors import LostSalesError
from lostsales.lab.benchmarks.board import Board


def open_board(name: str, data: Path | None) -> Board:
    """A board with its data, or one error that says where to get them."""
    if name == "zipkin":
        from lostsales.lab.benchmarks.zipkin import Zipkin

        if data is not None:
            raise LostSalesError(f"zipkin needs no data, but {data} was given")
        return Zipkin()
    if name == "inventorybench":
        from lostsales.lab.benchmarks.inventorybench import InventoryBench
        from lostsales.lab.benchmarks.inventorybench_data import WHERE

        return InventoryBench.read(_given(name, data, WHERE))
    if name == "vn2":
        from lostsales.lab.benchmarks.vn2 import Vn2
        from lostsales.lab.benchmarks.vn2_data import WHERE as OF_VN2

        return Vn2.read(_given(name, data, OF_VN2))
    if name == "freshretail":
        from lostsales.lab.benchmarks.freshretail import FreshRetail
        from lostsales.lab.benchmarks.freshretail_days import WHERE as OF_FRESHRETAIL

        return FreshRetail.read(_given(name, data, OF_FRESHRETAIL))
    if name == "orange-juice":
        from lostsales.lab.benchmarks.orange_juice import WHERE as OF_JUICE
        from lostsales.lab.benchmarks.orange_juice import OrangeJuice

        return OrangeJuice.read(_given(name, data, OF_JUICE))
    raise LostSalesError(f"there is no benchmark {name!r}")


def _given(name: str, data: Path | None, where: str) -> Path:
    if data is None:
        raise LostSalesError(f"{name} needs its data, which may not be shipped: {where}")
    return data
