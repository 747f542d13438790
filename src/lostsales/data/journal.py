"""Resumable runs: every finished task is on disk at once, and the same call goes on from there.

A `Journal` is one file of JSON lines, a line for each finished task in the order of completion. A `JournalFolder` has a
file for each, so that its bytes do not depend on that order. A process that is killed loses no finished task.
"""

import json
import os
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO, Generic, TypeVar

from pydantic import TypeAdapter

from lostsales.data.json_files import finite, read_json, write_json
from lostsales.data.output_files import check_output, replacing, try_lock
from lostsales.data.parallel import on_processes
from lostsales.data.progress import Progress
from lostsales.errors import LostSalesError

Entry = TypeVar("Entry")
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Run(Generic[Entry]):
    """A run, and what distinguishes its journal from those of others."""

    called: str  # in messages, such as "a calibration study"
    entry: type[Entry]  # a frozen dataclass of numbers and texts
    fingerprint: str | None  # of all settings that determine an entry, in the first line; None: kept elsewhere


def fingerprint(settings: dict[str, Any]) -> str:
    """Checksum of settings that JSON can hold."""
    return sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()


class Journal(Generic[Entry]):
    """Finished tasks of a run, in a file that one process has open and locked, or in memory alone."""

    def __init__(self, file: BinaryIO | None, entries: list[Entry]) -> None:
        self._file, self.entries = file, entries

    def add(self, entry: Entry) -> None:
        """Append a line and sync it to disk."""
        self.entries.append(entry)
        if self._file is None:
            return
        try:
            self._file.write(_line(asdict(entry)))  # type: ignore[call-overload]
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise LostSalesError(
                f"{self._file.name} cannot be written: {error.strerror}; the same command goes on from what is there"
            ) from None

    def complete(
        self,
        wanted: Sequence[Key],
        done: dict[Key, Entry],
        key_of: Callable[[Entry], Key],
        work: Callable[[Key], Entry],
        workers: int = 1,
        progress: Progress | None = None,
    ) -> list[Entry]:
        """The entries of all wanted tasks, in order; those that are `done` are not repeated. Progress counts tasks."""
        done = {key: done[key] for key in wanted if key in done}
        report = progress or (lambda _done, _total: None)
        report(len(done), len(wanted))
        left = [key for key in wanted if key not in done]
        with closing(on_processes(work, left, workers)) as finishing:  # an exception must stop the workers
            for entry in finishing:
                self.add(entry)
                done[key_of(entry)] = entry
                report(len(done), len(wanted))
        return [done[key] for key in wanted]


@contextmanager
def open_journal(path: Path | None, run: Run[Entry]) -> Iterator[Journal[Entry]]:
    """The journal of a run; an incomplete last line, left by a kill, is cut off. Without a path it is in memory."""
    if path is None:
        yield Journal(None, [])
        return
    if path.exists() or path.is_symlink():
        check_output(path)
    elif run.fingerprint is not None:
        with replacing(path) as temporary:  # a file without a whole first line is not one of ours
            temporary.write_bytes(_line(_head(run)))
    with _opened(path) as file:
        if try_lock(file.fileno()) == "taken":
            raise LostSalesError(f"another process is writing to {path}; wait until it has ended")
        file.seek(0)
        lines, end, _ = file.read().rpartition(b"\n")
        entries = _entries(lines.splitlines(), run, path)
        file.truncate(len(lines) + len(end))
        yield Journal(file, entries)


@dataclass(frozen=True)
class JournalFolder:
    """Finished tasks of a run by number or name, a JSON file each, which comes into place by renaming."""

    folder: Path

    def path(self, key: int | str) -> Path:
        """The file of a task."""
        return self.folder / f"{f'{key:05}' if isinstance(key, int) else key}.json"

    def numbers(self) -> list[int]:
        """Finished tasks that have numbers."""
        if not self.folder.is_dir():
            return []
        return sorted(int(path.stem) for path in self.folder.glob("[0-9]*.json") if path.stem.isdecimal())

    def read(self, key: int | str) -> dict[str, Any] | None:
        """The entry of a task, None where there is none."""
        return read_json(self.path(key)) if self.path(key).is_file() else None

    def add(self, key: int | str, entry: dict[str, Any]) -> None:
        """Write the entry of a task."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise LostSalesError(f"{self.folder} cannot be made: {error.strerror}") from None
        write_json(entry, self.path(key))


def _head(run: Run[Entry]) -> dict[str, Any]:
    return {"run": run.called, "fingerprint": run.fingerprint}


def _line(content: dict[str, Any]) -> bytes:
    text = json.dumps(finite(content), ensure_ascii=False, allow_nan=False)
    return text.encode(errors="backslashreplace") + b"\n"


def _entries(lines: list[bytes], run: Run[Entry], path: Path) -> list[Entry]:
    """The entries of whole lines; those of another run are refused."""
    try:
        read = [json.loads(line) for line in lines]
        if run.fingerprint is not None:
            head = read.pop(0)
            if head["run"] != run.called:
                raise ValueError
            if head["fingerprint"] != run.fingerprint:
                raise LostSalesError(f"{path} holds {run.called} with other settings; choose another --out")
        return TypeAdapter(list[run.entry]).validate_python(read)  # type: ignore[name-defined]
    except (ValueError, LookupError, TypeError, RecursionError):  # also where a value has another type
        raise LostSalesError(f"{path} is damaged or not the file of {run.called}; choose another --out") from None


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("a+b")
    except OSError as error:
        raise LostSalesError(f"{path} cannot be written: {error.strerror}") from None
