"""The tables of an experiment as files, each written whole or not at all."""

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from lostsales.data.writing import write_table
from lostsales.lab.experiments.against_published import differences_to_published
from lostsales.lab.experiments.claims import Claim
from lostsales.lab.experiments.results import ExperimentResults, Row, times_of
from lostsales.types import Array


def write_tables(results: ExperimentResults, rows: list[Row], claims: list[Claim], folder: Path) -> None:
    """All cells, their summary, the claims, differences from the published, and separately the times, which vary."""
    cells = columns_of(results.finished)
    cells = {name: column for name, column in cells.items() if not name.endswith("seconds")}
    write_table(cells, folder / "results.parquet")
    write_table(columns_of(rows), folder / "summary.csv")
    write_table(columns_of(claims), folder / "claims.csv")
    if differences := differences_to_published(results):
        write_table(columns_of(differences), folder / "published.csv")
    write_table(columns_of(times_of(results)), folder / "times.csv")


def columns_of(rows: Sequence[Any]) -> dict[str, Array]:
    """Dataclasses of one class as columns; None becomes NaN."""
    return {each.name: _column([getattr(row, each.name) for row in rows]) for each in fields(rows[0])}


def _column(values: list[Any]) -> Array:
    if isinstance(values[0], str):
        return np.array(values, dtype=object)
    return np.array(values) if isinstance(values[0], int) else np.array(values, dtype=np.float64)
