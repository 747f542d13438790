"""The journal: a line a finished cell, appended at once, so that whatever kills an experiment costs none of them."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

from lostsales.errors import LostSalesError
from lostsales.simulation.experiments.plan import Cell


@dataclass(frozen=True)
class CellResult:
    """What became of a cell; `failure` says why there is no value, and is empty where there is one."""

    behaviour: str
    episodes: int
    run: int
    method: str
    value: float | None  # mean profit a period
    std_error: float | None  # over test episodes
    uncensored_share: float | None
    failure: str
    fit_seconds: float
    test_seconds: float

    @property
    def cell(self) -> Cell:
        """What was to be done."""
        return Cell(self.behaviour, self.episodes, self.run, self.method)


class Journal:
    """The file while one process, and no other, writes it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def add(self, finished: CellResult) -> None:
        """Append a line and see it onto the disk."""
        self._file.write(json.dumps(asdict(finished), ensure_ascii=False).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())


@contextmanager
def open_journal(path: Path) -> Iterator[tuple[Journal, dict[Cell, CellResult]]]:
    """The journal to go on with and what it holds; half a line, left by a kill, is cut off."""
    with path.open("a+b") as file:
        _lock(file, path)
        file.seek(0)
        whole = file.read().rpartition(b"\n")
        file.truncate(len(whole[0]) + len(whole[1]))
        lines = [CellResult(**_line(text, path)) for text in whole[0].splitlines()]
        yield Journal(file), {each.cell: each for each in lines}


def _line(text: bytes, path: Path) -> dict[str, Any]:
    try:
        line: dict[str, Any] = json.loads(text)
    except ValueError:
        raise LostSalesError(f"{path} is damaged: a line of it is not JSON; start in another folder") from None
    return line


def _lock(file: BinaryIO, path: Path) -> None:
    """Held until the file is closed or the process dies, however it dies."""
    if sys.platform != "win32":
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise LostSalesError(f"another process is running the experiment in {path.parent}; wait for it") from None
