"""Fleets of 2,000 and 8,000 products: processor time of a product, its growth, and memory, on two processes."""

import resource
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.bench_fleet import SECONDS_A_PRODUCT, write_shop
from benchmarks.rows import Row
from lostsales.apps.fleet.engine import Processes
from lostsales.apps.fleet.fit import fit_fleet

SIZES = (2_000, 8_000)
GIGABYTES = 8.0


def run() -> list[Row]:
    small, large = (core_seconds(products) for products in SIZES)
    own, workers = (
        resource.getrusage(who).ru_maxrss / 2**20 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    peak = own + 2 * workers
    rows = [
        Row(
            f"{products:,} products",
            f"{each:.3f} core-s a product",
            f"{SECONDS_A_PRODUCT} s",
            each / SECONDS_A_PRODUCT,
            at_most=1,
        )
        for products, each in zip(SIZES, (small, large), strict=True)
    ]
    return [
        *rows,
        Row(
            "growth of a product's time, 4 times the products",
            f"{large:.3f} s",
            f"{small:.3f} s",
            large / small,
            at_most=1.05,
        ),
        Row("memory, driver and two workers", f"{peak:.1f} GiB", f"{GIGABYTES:g} GiB", peak / GIGABYTES, at_most=1),
    ]


def core_seconds(products: int) -> float:
    """Processor seconds a product, of this process and its workers."""
    with TemporaryDirectory() as folder:
        write_shop(Path(folder) / "source", products)
        began = _used()
        fit_fleet(Path(folder) / "source", Path(folder) / "store", engine=Processes(2))
        return (_used() - began) / products


def _used() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime
