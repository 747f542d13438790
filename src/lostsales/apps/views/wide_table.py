"""Tables of many columns on a screen of any width: what does not fit goes to a further table, and no figure is cut."""

from collections.abc import Iterator

from rich.cells import cell_len
from rich.console import JustifyMethod
from rich.table import Table
from rich.text import Text

from lostsales.apps.views.console import out

BETWEEN = 2  # spaces between columns
LEAST_TEXT = 30  # characters that a column of sentences needs

Columns = dict[str, list[str]]


def print_wide(title: str, keys: Columns, figures: Columns, texts: Columns) -> None:
    """Keys, figures and sentences of rows; every table has the keys, and columns without any text are left out."""
    out.print(Text(title, style="bold"))
    sentences = {name: cells for name, cells in texts.items() if any(cells)}
    widths = {name: _least_width(name, cells) for name, cells in figures.items()} | _key_widths(
        keys, figures, out.width
    )
    for place, page in enumerate(_pages(keys, figures, sentences, widths)):
        if place:
            out.print()
        table = Table(box=None, header_style="cyan", pad_edge=False)
        for name in (*keys, *page):
            justify: JustifyMethod = "right" if name in figures else "left"
            table.add_column(Text(name), justify=justify, overflow="fold", width=widths.get(name))
        for row in zip(*keys.values(), *page.values(), strict=True):
            table.add_row(*map(Text, row))
        out.print(table)


def _pages(keys: Columns, figures: Columns, sentences: Columns, widths: dict[str, int]) -> Iterator[Columns]:
    """The columns of each table beside the keys."""
    room = left = out.width - sum(widths[name] + BETWEEN for name in keys)
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
