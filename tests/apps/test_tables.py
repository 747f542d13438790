"""Tables of many columns on a screen of any width."""

import io

import pytest
from rich.console import Console

from lostsales.apps import tables
from lostsales.apps.tables import Columns, print_wide

FIGURES: Columns = {
    "price": ["5162.53", "4.00"],
    "expected demand": ["1234.5", "7.1"],
    "value": ["123456789", "3"],
    "periods of cover": ["3.1", "inf"],
}
TEXTS: Columns = {"price reason": ["best profit at today's demand", "kept"], "flag": ["", ""]}


def shown(monkeypatch: pytest.MonkeyPatch, width: int, keys: Columns) -> list[str]:
    file = io.StringIO()
    monkeypatch.setattr(tables, "screen", Console(width=width, file=file))
    print_wide("Today", keys, FIGURES, TEXTS)
    return file.getvalue().splitlines()


@pytest.mark.parametrize("width", [20, 30, 40, 60, 80, 120])
@pytest.mark.parametrize("sku", ["A", "a product of a very long name", "東京の店"])
def test_every_figure_is_whole_at_every_width(monkeypatch: pytest.MonkeyPatch, width: int, sku: str) -> None:
    lines = shown(monkeypatch, width, {"sku": [sku, "B"], "week": ["2026-03-01", "2026-03-01"]})
    words = " ".join(lines).split()
    for cells in FIGURES.values():
        assert set(cells) <= set(words)
    assert "\u2026" not in "".join(lines)
    assert all(len(line) <= width for line in lines)


def test_what_fits_is_one_table_and_empty_texts_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = shown(monkeypatch, 120, {"sku": ["A", "B"]})
    assert [line.strip() for line in lines if line.startswith(("sku", "A", "B"))] == [
        "sku    price    demand      value    cover  price reason",
        "A    5162.53    1234.5  123456789      3.1  best profit at today's demand",
        "B       4.00       7.1          3      inf  kept",
    ]
    assert not any("flag" in line for line in lines)


def test_what_does_not_fit_is_a_further_table_with_the_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = shown(monkeypatch, 40, {"sku": ["A", "B"]})
    assert sum(line.startswith("A ") for line in lines) == 3
    assert lines.count("") == 2
