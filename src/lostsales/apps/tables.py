"""Tables of many rows and columns: as JSON, as files, and on a screen of any width, where no figure is cut."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from rich.cells import cell_len
from rich.console import JustifyMethod
from rich.table import Table
from rich.text import Text

from lostsales.apps.console import screen

if TYPE_CHECKING:
    from lostsales.types import Array

BETWEEN = 2  # spaces between columns
LEAST_TEXT = 30  # characters that a column of sentences needs

Columns = dict[str, list[str]]


class TableResult(Protocol):
    """A result that knows how to become a table, such as a forecast."""

    @property
    def keys(self) -> "dict[str, Array]":
        """Columns that name a row."""

    @property
    def table(self) -> "dict[str, Array]":
        """All columns, as numbers and dates."""

    @property
    def text_table(self) -> "dict[str, Array]":
        """All columns, as a text file or a screen shows them."""


def write_result(found: TableResult, path: Path) -> None:
    """Write a table as .csv, .parquet or .xlsx."""
    from lostsales.data.writing import write_table

    write_table(found.text_table if path.suffix == ".csv" else found.table, path)


def json_rows(found: TableResult) -> list[dict[str, Any]]:
    """One object a row, under the names of the columns."""
    return records(**{name: values.tolist() for name, values in found.text_table.items()} | key_texts(found))


def records(**columns: Sequence[Any]) -> list[dict[str, Any]]:
    """One object a row of columns.

    >>> records(price=[1, 2], rows=[3, 4])
    [{'price': 1, 'rows': 3}, {'price': 2, 'rows': 4}]
    """
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def key_texts(found: TableResult, most: int | None = None) -> Columns:
    """The keys of the first rows, or of all, spelled as labels."""
    from lostsales.data.labels import spelled

    shown = found.text_table
    return {name: [spelled(each) for each in shown[name][:most]] for name in found.keys}


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a table in Markdown, and an empty one.

    >>> markdown_table(("a", "b"), [("1", "x|y")])
    ['| a | b |', '| --- | --- |', '| 1 | x/y |', '']
    """
    lines = [head, ("---",) * len(head), *rows]
    return [f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines] + [""]


def print_wide(title: str, keys: Columns, figures: Columns, texts: Columns) -> None:
    """Keys, figures and sentences of rows; every table has the keys, and columns without any text are left out."""
    screen.print(Text(title, style="bold"))
    sentences = {name: cells for name, cells in texts.items() if any(cells)}
    widths = {name: _least_width(name, cells) for name, cells in figures.items()} | _key_widths(
        keys, figures, screen.width
    )
    for place, page in enumerate(_pages(keys, figures, sentences, widths)):
        if place:
            screen.print()
        table = Table(box=None, header_style="cyan", pad_edge=False)
        for name in (*keys, *page):
            justify: JustifyMethod = "right" if name in figures else "left"
            table.add_column(Text(name), justify=justify, overflow="fold", width=widths.get(name))
        for row in zip(*keys.values(), *page.values(), strict=True):
            table.add_row(*map(Text, row))
        screen.print(table)


def _pages(keys: Columns, figures: Columns, sentences: Columns, widths: dict[str, int]) -> Iterator[Columns]:
    """The columns of each table next to the keys."""
    room = left = screen.width - sum(widths[name] + BETWEEN for name in keys)
    page: Columns = {}
    for name, cells in (figures | sentences).items():
        needed = widths.get(name, LEAST_TEXT)
        if page and needed > left:
            yield page
            page, left = {}, room
        page[name] = cells
        left -= needed + BETWEEN
    if page:
        yield page


def _key_widths(keys: Columns, figures: Columns, width: int) -> dict[str, int]:
    """Keys that leave no room for the widest figure are broken, the widest of them first."""
    widths = {name: max(map(cell_len, (name, *cells))) for name, cells in keys.items()}
    room = width - max(_least_width(*each) for each in figures.items()) - BETWEEN * len(keys)
    while sum(widths.values()) > max(room, len(keys)):
        widths[max(widths, key=widths.__getitem__)] -= 1
    return widths


def _least_width(name: str, cells: list[str]) -> int:
    """A header is broken between its words."""
    return max(map(cell_len, (*name.split(), *cells)))
