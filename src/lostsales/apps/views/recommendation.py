"""Recommendations as a person and a program read them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from lostsales.apps.views.console import out
from lostsales.apps.views.figures import exact, percentages, rounded, tenths
from lostsales.apps.views.wide_table import print_wide
from lostsales.data.labels import spelled
from lostsales.policy.recommendation import Recommendation
from lostsales.types import Floats

FIGURES: dict[str, Callable[[Floats], list[str]]] = {  # beside price and order, where the policy gives them
    "expected_demand": rounded,
    "stockout_chance": percentages,
    "periods_of_cover": tenths,
    "expected_lost": rounded,
    "value": rounded,
    "advantage": rounded,
    "depth": exact,
    "on_order": exact,
}
TEXTS = ("price_reason", "order_reason", "expected_arrivals", "flag")
MOST_ROWS = 50


def recommendation_json(found: Recommendation) -> dict[str, Any]:
    """One object a row, under the names of the columns."""
    columns = {
        name: [spelled(each) for each in values] if name in found.keys else values.tolist()
        for name, values in found.text_table.items()
    }
    return {"recommendations": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]}


def print_recommendation(title: str, found: Recommendation, written: Path | str | None) -> None:
    """The first rows as tables that fit the screen."""
    columns = {name: values[:MOST_ROWS] for name, values in found.text_table.items()}
    names, prices = found.problem.columns, np.array(found.problem.prices or ())
    figures = {names.price: exact(columns[names.price], prices), names.order: exact(columns[names.order])}
    free = columns.keys() - found.keys - {names.price, names.order}
    figures |= {
        _said(name): show(columns[name])
        for name, show in FIGURES.items()
        if name in free and not np.isnan(columns[name]).all() and (name != "depth" or columns[name].any())
    }
    print_wide(
        title,
        keys={name: [spelled(each) for each in columns[name]] for name in found.keys},
        figures=figures,
        texts={_said(name): columns[name].tolist() for name in TEXTS if name in free},
    )
    if (more := len(found.columns[names.price]) - MOST_ROWS) > 0:
        out.print(f"... and {more:,} more series")
    if written is not None:
        out.print(f"written to {written}", soft_wrap=True, highlight=False)


def _said(column: str) -> str:
    """A column's name in words."""
    return column.replace("_", " ")
