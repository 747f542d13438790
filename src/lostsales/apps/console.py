"""Output to a terminal: tables, JSON, and a progress bar on slow work."""

import json
import re
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from math import ceil
from threading import Timer
from time import perf_counter
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from lostsales.apps.no_figure import with_reasons

PATIENCE = 1.0  # seconds before a bar appears
FIRST_PART = 0.1  # of the work, after which its time is known well enough to announce the rest
LONG = 20.0  # seconds left that are announced where there is no bar

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


class _Speed(ProgressColumn):
    """Units done in a second."""

    def __init__(self, unit: str) -> None:
        super().__init__()
        self.unit = unit

    def render(self, task: Task) -> Text:
        """Text such as `3.2 products a second` once it is known."""
        return Text("" if task.speed is None else f"{task.speed:.1f} {self.unit} a second", style="progress.data.speed")


class Pace:
    """Time left of some work, from the time that its finished part took."""

    def __init__(self) -> None:
        self.began, self.share, self.before = perf_counter(), 0.0, 0.0

    def update(self, done: int, total: int) -> None:
        """Note how much is done; a run that is resumed says at once how much was done before."""
        if self.share == 0 and self.elapsed < PATIENCE:
            self.began, self.before = perf_counter(), done / max(total, 1)
        self.share = done / max(total, 1)

    @property
    def elapsed(self) -> float:
        """Seconds since the work began."""
        return perf_counter() - self.began

    @property
    def left(self) -> float | None:
        """Seconds that the rest takes at the pace so far; None before a part of the work is done."""
        done = self.share - self.before
        return self.elapsed * (1 - self.share) / done if done > 0 else None


class _TimeLeft(ProgressColumn):
    """Time left, measured on the work that is done."""

    def __init__(self, pace: Pace) -> None:
        super().__init__()
        self.pace = pace

    def render(self, task: Task) -> Text:  # noqa: ARG002, the pace has all
        """Text such as `about 42 s left`; nothing before a part of the work is done."""
        return Text("" if self.pace.left is None else f"about {duration(self.pace.left)} left", "progress.remaining")


def duration(seconds: float) -> str:
    """Time for people.

    >>> duration(0.4), duration(42.1), duration(600)
    ('1 s', '43 s', '10 min')
    """
    return f"{max(1, ceil(seconds))} s" if seconds < 120 else f"{seconds / 60:.0f} min"


@contextmanager
def progress(what: str, unit: str | None = None) -> Iterator[Callable[[int, int], None]]:
    """A callback (done, total) that shows on stderr how long the rest takes, by the time of what is done.

    A terminal gets a bar once the work has taken a second, with the speed if there is a `unit`. Elsewhere one line is
    written if much is left after the first part.
    """
    pace = Pace()
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        *(() if unit is None else (_Speed(unit),)),
        _TimeLeft(pace),
    )
    bar = Progress(*columns, console=err, transient=True, disable=not err.is_terminal)
    task = bar.add_task(what, total=None)
    announced = err.is_terminal

    def update(done: int, total: int) -> None:
        nonlocal announced
        pace.update(done, total)
        bar.update(task, completed=done, total=total)
        if not announced and pace.share - pace.before >= FIRST_PART and (left := pace.left or 0.0) > LONG:
            announced = True
            warn(f"{what}: {pace.share:.0%} done, about {duration(left)} left", label="")

    patience = Timer(PATIENCE, bar.start)
    patience.start()
    try:
        yield update
    finally:
        patience.cancel()
        patience.join()
        if bar.live.is_started:
            bar.stop()


def warn(text: str, label: str = "Warning") -> None:
    """Write a line to the standard error."""
    if label:
        err.print(f"{label}: ", style="yellow", end="", highlight=False)
    err.print(text, highlight=False, soft_wrap=True)


def show(as_json: bool, result: Callable[[], dict[str, Any]], text: Callable[[], None]) -> None:
    """Print a result: one JSON object, or the text for people."""
    if as_json:
        print_json(result())
    else:
        text()


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


def plain_table(title: str, *columns: str, words: Container[str] = ()) -> Table:
    """A table without lines: the first column and those of `words` to the left, numbers to the right."""
    table = Table(
        title=title or None, title_justify="left", title_style="bold", box=None, header_style="cyan", pad_edge=False
    )
    for index, column in enumerate(columns):
        is_text = index == 0 or column in words
        table.add_column(column, justify="left" if is_text else "right", overflow="fold" if is_text else "ellipsis")
    return table


def print_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str | Text]], words: Container[str] = ()
) -> None:
    """Print a table without lines; names of products and files are shown as they are."""
    table = plain_table(title, *columns, words=words)
    for row in rows:
        table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    screen.print(table)


VERDICTS = {"good": "bold green", "care": "bold yellow", "stop": "bold red"}


def print_verdict(level: str, text: str) -> None:
    """Print the answer of a command in one coloured line, before everything else; a terminal breaks it at words."""
    screen.print(Text(text, style=VERDICTS[level]), soft_wrap=not screen.is_terminal)


def print_notes(lines: Iterable[str], soft_wrap: bool = False) -> None:
    """Print a list; lines with paths and commands are not broken (`soft_wrap`)."""
    for line in lines:
        screen.print(Text(f"- {line}"), soft_wrap=soft_wrap)


def sentence(text: str) -> str:
    """Text with a capital letter and a full stop.

    >>> sentence("no gain is proven")
    'No gain is proven.'
    """
    return f"{text[:1].upper()}{text[1:]}."
