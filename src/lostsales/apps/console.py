"""Output to a terminal: tables, JSON, and a progress bar on slow work."""

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from threading import Timer
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from lostsales.apps.no_figure import with_reasons

PATIENCE = 1.0  # seconds before a bar appears

# Control characters move the cursor or colour the screen, marks of direction reorder it, and lone surrogates (a file
# name that is not UTF-8) cannot be printed at all.
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def plain(text: str) -> str:
    r"""Text whose unprintable characters are replaced, whatever a table, a name or an error holds.

    >>> plain("a\x1b[31mb")
    'a�[31mb'
    """
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)


class PlainConsole(Console):
    """A console on which names are shown as they are: no markup, no control sequences."""

    def __init__(self, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, markup=False, emoji=False)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The segments of a renderable, each of them printable."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(plain(segment.text), segment.style)


screen = PlainConsole()
err = PlainConsole(stderr=True)


class _TimeLeft(TimeRemainingColumn):
    """Time left by the speed so far, before there is one by an estimate."""

    def __init__(self, seconds: float | None) -> None:
        super().__init__()
        self.seconds = seconds

    def render(self, task: Task) -> Text:
        """Text such as `about 0:00:42` while it is estimated."""
        if self.seconds is None or task.time_remaining is not None:
            return super().render(task)
        left = max(0, round(self.seconds - (task.elapsed or 0.0)))
        return Text(f"about {timedelta(seconds=left)}", style="progress.remaining")


class _Speed(ProgressColumn):
    """Units done in a second."""

    def __init__(self, unit: str) -> None:
        super().__init__()
        self.unit = unit

    def render(self, task: Task) -> Text:
        """Text such as `3.2 products a second` once it is known."""
        return Text("" if task.speed is None else f"{task.speed:.1f} {self.unit} a second", style="progress.data.speed")


@contextmanager
def progress(
    what: str, window: float = 30.0, seconds: float | None = None, unit: str | None = None
) -> Iterator[Callable[[int, int], None]]:
    """A callback (done, total) that draws a bar with the time left on stderr once the work has taken a second.

    The time left follows the speed of the last `window` seconds; until that is known, the estimated `seconds` in all.
    With a `unit` the speed is shown too.
    """
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        *(() if unit is None else (_Speed(unit),)),
        _TimeLeft(seconds),
    )
    bar = Progress(*columns, console=err, transient=True, disable=not err.is_terminal, speed_estimate_period=window)
    task = bar.add_task(what, total=None)
    patience = Timer(PATIENCE, bar.start)
    patience.start()
    try:
        yield lambda done, total: bar.update(task, completed=done, total=total)
    finally:
        patience.cancel()
        patience.join()
        if bar.live.is_started:
            bar.stop()


def print_json(result: dict[str, Any]) -> None:
    """One JSON object on stdout; null where there is no figure, with the reason; what the encoding lacks is escaped."""
    from lostsales.data.json_files import finite

    is_unicode = (sys.stdout.encoding or "").lower().replace("-", "").startswith("utf")
    text = json.dumps(with_reasons(finite(result)), indent=2, ensure_ascii=not is_unicode, allow_nan=False)
    sys.stdout.write(_UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n")


def print_facts(title: str, facts: list[tuple[str, str]]) -> None:
    """A two-column table."""
    screen.print(Text(title, style="bold"))  # not as the table's, which would be broken to its width
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")  # a path is of no use with its end cut off
    for name, value in facts:
        table.add_row(name, Text(value))
    screen.print(table)


def plain_table(title: str, *columns: str) -> Table:
    """A table without lines: words in the first column, numbers to the right in the others."""
    table = Table(title=title, title_justify="left", title_style="bold", box=None, header_style="cyan", pad_edge=False)
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index == 0 else "right")
    return table
