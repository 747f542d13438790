"""The journal: one line a finished cell, written and synced at once, so that a killed experiment loses none."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO

from pydantic import TypeAdapter

from lostsales.data.finite_json import finite
from lostsales.data.output_files import check_output
from lostsales.errors import LostSalesError
from lostsales.lab.experiments.design import Cell


@dataclass(frozen=True)
class CellResult:
    """Result of a cell; `failure` is the reason where there is no value, else empty."""

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
        """The cell."""
        return Cell(self.behaviour, self.episodes, self.run, self.method)


class Journal:
    """The file, open and locked by one process."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def add(self, finished: CellResult) -> None:
        """Append a line and sync it to disk."""
        line = json.dumps(finite(asdict(finished)), ensure_ascii=False, allow_nan=False)
        try:
            self._file.write(line.encode(errors="backslashreplace") + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise LostSalesError(
                f"{self._file.name} cannot be written: {error.strerror}; the same command goes on from what is there"
            ) from None


@contextmanager
def open_journal(path: Path) -> Iterator[tuple[Journal, dict[Cell, CellResult]]]:
    """The journal and the results in it; an incomplete last line, left by a kill, is cut off."""
    if path.exists() or path.is_symlink():
        check_output(path)
    with _opened(path) as file:
        _lock(file, path)
        file.seek(0)
        whole = file.read().rpartition(b"\n")
        file.truncate(len(whole[0]) + len(whole[1]))
        lines = [_line(text, path) for text in whole[0].splitlines()]
        yield Journal(file), {each.cell: each for each in lines}


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("a+b")
    except OSError as error:
        raise LostSalesError(f"{path} cannot be written: {error.strerror}") from None


def _line(text: bytes, path: Path) -> CellResult:
    try:
        return TypeAdapter(CellResult).validate_python(json.loads(text))
    except (ValueError, RecursionError):  # also where a value has another type
        raise LostSalesError(f"{path} is damaged: a line of it is no result; start in another folder") from None


def _lock(file: BinaryIO, path: Path) -> None:
    """An exclusive lock, released when the file is closed or the process ends."""
    if sys.platform != "win32":
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise LostSalesError(f"another process is running the experiment in {path.parent}; wait for it") from None
