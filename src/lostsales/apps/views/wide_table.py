"""Tables of many columns on a screen of any width: what does not fit goes to a further table, and no figure is cut."""

from collections.abc import Iterator

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
    for place, page in enumerate(_pages(keys, figures, sentences, out.width)):
        if place:
            out.print()
        table = Table(box=None, header_style="cyan", pad_edge=False)
        for name, cells in (keys | page).items():
            is_figure = name in figures
            table.add_column(
                Text(name),
                justify="right" if is_figure else "left",
                overflow="fold",
                min_width=_least_width(name, cells) if is_figure else None,
                ratio=1 if name in sentences else None,
            )
        for row in zip(*keys.values(), *page.values(), strict=True):
            table.add_row(*map(Text, row))
        out.print(table)


def _pages(keys: Columns, figures: Columns, sentences: Columns, width: int) -> Iterator[Columns]:
    """The columns of each table beside the keys."""
    room = left = width - sum(_width(name, cells) + BETWEEN for name, cells in keys.items())
    page: Columns = {}
    for name, cells in (figures | sentences).items():
        needed = LEAST_TEXT if name in sentences else _least_width(name, cells)
        if page and needed > left:
            yield page
            page, left = {}, room
        page[name] = cells
        left -= needed + BETWEEN
    if page:
        yield page


def _width(name: str, cells: list[str]) -> int:
    return max(map(len, (name, *cells)))


def _least_width(name: str, cells: list[str]) -> int:
    """A header is broken between its words."""
    return max(map(len, (*name.split(), *cells)))
