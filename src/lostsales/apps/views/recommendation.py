"""Recommendations as a person and a program read them."""

from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from lostsales.apps.views.console import out
from lostsales.data.labels import beside, spelled
from lostsales.policy.recommendation import Recommendation

SHOWN = ("price", "order", "depth", "value", "advantage", "flag")
MOST_ROWS = 50


def recommendation_json(found: Recommendation) -> dict[str, Any]:
    """One object a row."""
    columns: dict[str, list[Any]] = {name: [spelled(each) for each in values] for name, values in found.keys.items()}
    columns |= {name: values.tolist() for name, values in found.table.items() if name not in columns}
    return {"recommendations": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]}


def print_recommendation(title: str, found: Recommendation, written: Path | None) -> None:
    """The first rows as a table."""
    columns = found.keys | beside({name: found.columns[name] for name in SHOWN}, found.keys, "recommended_")
    table = Table(title=Text(title), title_justify="left", title_style="bold", box=None, header_style="cyan")
    for name, values in columns.items():
        table.add_column(name, justify="right" if values.dtype.kind in "if" else "left")
    for row in zip(*(values[:MOST_ROWS] for values in columns.values()), strict=True):
        table.add_row(*(Text(f"{each:g}" if isinstance(each, float) else spelled(each)) for each in row))
    out.print(table)
    if (more := len(found.columns["flag"]) - MOST_ROWS) > 0:
        out.print(f"... and {more:,} more series")
    if written is not None:
        out.print(f"written to {written}")
