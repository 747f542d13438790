"""Small requests decided together: what waits while the policy decides is its next batch.

A decision on thirty rows takes little longer than one on a single row, and nobody waits for a batch to fill.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lostsales.apps.service.desk import Desk
from lostsales.data.labels import SERIES_SEPARATOR, spelled
from lostsales.data.reading.rows import ColumnTable
from lostsales.errors import LostSalesError
from lostsales.types import Array

MOST_TOGETHER = 512  # rows of a batch
SMALL = 64  # rows of a request that joins a batch

Rows = Sequence[dict[str, Any]]
Columns = dict[str, Array]


class Decided(NamedTuple):
    """Columns of a recommendation for the rows of one request, and the desk that decided."""

    desk: Desk
    columns: Columns


@dataclass
class _Waiting:
    rows: Rows
    names: set[str]  # of their series
    kind: tuple[tuple[str, str], ...]
    future: "asyncio.Future[Decided]"


@dataclass
class Batcher:
    """Decides for small requests; every batch is decided by one desk."""

    desk: Callable[[], Desk]  # the active one
    executor: Executor
    _waiting: list[_Waiting] = field(default_factory=list)
    _running: int = 0

    def __len__(self) -> int:
        return len(self._waiting)

    async def decide(self, rows: Rows) -> Decided:
        """Columns for some rows, or the error of the gate about them."""
        loop = asyncio.get_running_loop()
        parts = self.desk().policy.problem.columns.series_parts
        names = {SERIES_SEPARATOR.join(spelled(row.get(part)) for part in parts) for row in rows}
        job = _Waiting(rows, names, _kind(rows), loop.create_future())
        self._waiting.append(job)
        if self._running == 0:
            self._start(loop)
        return await job.future

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        batch = self._next_batch()
        if batch:
            self._running += 1
            task = loop.run_in_executor(self.executor, _decide, self.desk(), [job.rows for job in batch])
            task.add_done_callback(lambda done: self._finish(loop, batch, done))

    def _finish(self, loop: asyncio.AbstractEventLoop, batch: list[_Waiting], done: "asyncio.Future[Any]") -> None:
        self._running -= 1
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
        """Requests of the same columns that name no series twice."""
        batch: list[_Waiting] = []
        left: list[_Waiting] = []
        names: set[str] = set()
        count = 0
        for job in self._waiting:
            fits = not batch or (job.kind == batch[0].kind and count + len(job.rows) <= MOST_TOGETHER)
            if job.future.cancelled():
                continue
            if fits and not job.names & names:
                batch.append(job)
                names |= job.names
                count += len(job.rows)
            else:
                left.append(job)
        self._waiting = left
        return batch


def _kind(rows: Rows) -> tuple[tuple[str, str], ...]:
    """Columns with the kind of their values, so that a batch reads like each of its requests."""
    kinds = {
        (name, "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__)
        for row in rows
        for name, value in row.items()
    }
    return tuple(sorted(kinds))


def _decide(desk: Desk, requests: list[Rows]) -> list[Decided | LostSalesError]:
    """One decision for all requests; where that is refused, for each half of them, so that each has its own error."""
    try:
        rows = [row for each in requests for row in each]
        columns = desk.recommend(ColumnTable.of_rows(rows, "today")).columns
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
