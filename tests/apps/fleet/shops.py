"""Sources of small fleets."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.assortments import Assortment
from lostsales.data.writing import write_table
from lostsales.types import Array

PERIODS = 40


def shop_columns(products: int, periods: int = PERIODS, seed: int = 1) -> tuple[Assortment, dict[str, Array]]:
    """A shop and the table of its manager, all products of equal length."""
    shop = replace(Assortment.draw(products, seed), periods=np.full(products, periods))
    columns = shop.columns(seed)
    return shop, {name: values for name, values in columns.items() if name != "demand"}


def taken(columns: dict[str, Array], rows: Array) -> dict[str, Array]:
    """Some rows of a table."""
    return {name: values[rows] for name, values in columns.items()}


def write_source(folder: Path, columns: dict[str, Array], shop: Assortment, files: int = 3) -> Path:
    """The table in several Parquet files by period, with its problem."""
    folder.mkdir()
    for file in range(files):
        write_table(taken(columns, columns["period"] % files == file), folder / f"part-{file}.parquet")
    (folder / "problem.toml").write_text(shop.problem.to_toml())
    return folder


def tree(folder: Path) -> dict[str, bytes]:
    """The bytes of every file of a store, by its path in it."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }
