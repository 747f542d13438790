"""Batching of small requests: those that arrive within milliseconds, or while a batch is decided, form the next batch.

A decision on thirty rows takes little longer than one on a single row.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lostsales.apps.service.desk import Desk
from lostsales.data.labels import SERIES_SEPARATOR, spelled
from lostsales.data.reading.frames import ColumnTable
from lostsales.errors import LostSalesError
from lostsales.types import Array

MOST_TOGETHER = 512  # rows of a batch
SMALL = 64  # rows of a request that joins a batch
GATHERING = 0.005  # seconds that the first request of a batch waits for others

Rows = Sequence[dict[str, Any]]
Columns = dict[str, Array]


class Decided(NamedTuple):
    """Columns of a recommendation for the rows of one request, and the desk that decided."""

    desk: Desk
    columns: Columns


@dataclass
class _Waiting:
    rows: Rows
    kind: tuple[tuple[str, str], ...]
    alone: bool  # it names a series twice, which is an error of its own
    future: "asyncio.Future[Decided]"


@dataclass
class Batcher:
    """Collector of small requests; every batch is decided by one desk."""

    desk: Callable[[], Desk]  # the active one
    executor: Executor
    _waiting: list[_Waiting] = field(default_factory=list)
    _busy: bool = False  # gathering or deciding

    def __len__(self) -> int:
        return len(self._waiting)

    async def decide(self, rows: Rows) -> Decided:
        """Decide for some rows, or raise the error of reading them."""
        loop = asyncio.get_running_loop()
        parts = self.desk().policy.problem.columns.series_parts
        names = {SERIES_SEPARATOR.join(spelled(row.get(part)) for part in parts) for row in rows}
        job = _Waiting(rows, _kind(rows), len(names) < len(rows), loop.create_future())
        self._waiting.append(job)
        if not self._busy:
            self._busy = True
            loop.call_later(GATHERING, self._start, loop)
        return await job.future

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        batch = self._next_batch()
        self._busy = bool(batch)
        if batch:
            task = loop.run_in_executor(self.executor, _decide, self.desk(), [job.rows for job in batch])
            task.add_done_callback(lambda done: self._finish(loop, batch, done))

    def _finish(self, loop: asyncio.AbstractEventLoop, batch: list[_Waiting], done: "asyncio.Future[Any]") -> None:
        error = done.exception()
        for at, job in enumerate(batch):
            if job.future.cancelled():
                continue
            found = error or done.result()[at]
            if isinstance(found, BaseException):
                job.future.set_exception(found)
            else:
                job.future.set_result(found)
        self._start(loop)

    def _next_batch(self) -> list[_Waiting]:
        """Next requests with the same columns; two of them may name the same series."""
        batch: list[_Waiting] = []
        left: list[_Waiting] = []
        count = 0
        for job in self._waiting:
            if job.future.cancelled():
                continue
            if not batch or (
                job.kind == batch[0].kind
                and not (job.alone or batch[0].alone)
                and count + len(job.rows) <= MOST_TOGETHER
            ):
                batch.append(job)
                count += len(job.rows)
            else:
                left.append(job)
        self._waiting = left
        return batch


def _kind(rows: Rows) -> tuple[tuple[str, str], ...]:
    """Columns with the type of their values, so that a batch reads like each of its requests."""
    kinds = {
        (name, "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__)
        for row in rows
        for name, value in row.items()
    }
    return tuple(sorted(kinds))


def _decide(desk: Desk, requests: list[Rows]) -> list[Decided | LostSalesError]:
    """Decide for all requests; if that is refused, for each half of them, so that each gets its own error."""
    try:
        rows = [row for each in requests for row in each]
        columns = desk.recommend(ColumnTable.of_rows(rows, "today"), repeats=len(requests) > 1).columns
    except LostSalesError as error:
        if len(requests) == 1:
            return [error]
        half = len(requests) // 2
        return _decide(desk, requests[:half]) + _decide(desk, requests[half:])
    found: list[Decided | LostSalesError] = []
    start = 0
    for each in requests:
        part = {name: values[start : start + len(each)] for name, values in columns.items()}
        found.append(Decided(desk, part))
        start += len(each)
    return found
