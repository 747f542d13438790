"""Large requests: tables read, decided in chunks and written. This runs in a process of its own (`bulk_process.py`)."""

import contextlib
import io
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import numpy as np
from pydantic import ValidationError

from lostsales.apps.service import models
from lostsales.apps.service.answers import json_rows
from lostsales.apps.service.problems import Refused, findings_of, refusal_of
from lostsales.apps.service.uploads import arrow_table, check_rows, parquet_table
from lostsales.data.problem import Problem
from lostsales.data.reading.frames import ColumnTable
from lostsales.errors import LostSalesError
from lostsales.policy.open_day import OpenDay
from lostsales.policy.policy import SavedPolicy
from lostsales.policy.recent_rows import RecentRows
from lostsales.policy.recommendation import Recommendation, open_day, recommended
from lostsales.types import Array, Ints

JSON = "application/json"
ARROW = "application/vnd.apache.arrow.stream"
PARQUET = "application/vnd.apache.parquet"
CHUNK = 1_000  # rows between two looks whether somebody still waits
NICE = 5  # single rows, the list and the pages come first


class BulkRequest(NamedTuple):
    """Request as it goes to the process, with its limits."""

    version: str
    kind: str  # of the body
    most_rows: int
    seconds: float  # in which somebody waits


class DecidedRows(NamedTuple):
    """Rows that were decided, for the record of the service."""

    names: Array | None
    period: Array
    price: Array
    order: Array


Tell = Callable[[DecidedRows], bool]  # False once nobody waits


class GivenUpError(Exception):
    """Nobody waits for the answer any more."""


def json_answer(version: str, problem: Problem, rows: Sequence[dict[str, Any]], columns: dict[str, Array]) -> bytes:
    """Answer in JSON: one object for each requested row."""
    from pydantic_core import to_json

    keys = (*problem.columns.series_parts, problem.columns.period)
    return to_json({"version": version, "rows": json_rows(rows, keys, columns)})


class BulkDecider:
    """Decides large requests by one policy, and measures how fast."""

    def __init__(self, policy: SavedPolicy, recent: RecentRows | None) -> None:
        self.policy, self.recent = policy, recent
        self.rate = 0.0  # rows per second as measured last, 0: unknown

    def answer(self, request: BulkRequest, body: bytes, tell: Tell) -> tuple[bytes, int]:
        """Answer a request, and the number of its rows."""
        begin = time.monotonic()
        if request.kind == JSON:
            try:
                asked = models.RecommendRequest.model_validate_json(body)
            except ValidationError as error:
                raise Refused(422, findings=findings_of(error.errors())) from None
            check_rows(len(asked.rows), request.most_rows)
            recent = ColumnTable.of_rows(asked.recent, "recent") if asked.recent else None
            found = self._decide(ColumnTable.of_rows(asked.rows, "today"), recent, asked.reasons, request, begin, tell)
            return json_answer(request.version, self.policy.problem, asked.rows, found.columns), len(asked.rows)
        table = _read_table(body, request.kind, request.most_rows)
        found = self._decide(table, None, False, request, begin, tell)
        return _written(found, request.kind), len(table)

    def _decide(
        self, today: Any, recent: Any, reasons: bool, request: BulkRequest, begin: float, tell: Tell
    ) -> Recommendation:
        day = open_day(self.policy, self.recent if recent is None else recent, today)
        rows, names = len(day.view.stock), self.policy.problem.columns
        self._check_time(rows, request, begin)
        found: list[Recommendation] = []
        for part in _parts(day, rows):
            started = time.monotonic()
            done = recommended(self.policy, part, reasons=reasons)
            taken, decided = time.monotonic() - started, len(part.view.stock)
            self.rate = decided / max(taken, 1e-6) if decided == CHUNK or not self.rate else self.rate
            columns = done.columns[names.price], done.columns[names.order]
            if not tell(DecidedRows(part.view.names, part.keys[names.period], *columns)):
                raise GivenUpError
            found.append(done)
            self._check_time(rows - CHUNK * len(found), request, begin)
        joined = {name: np.concatenate([each.columns[name] for each in found]) for name in found[0].columns}
        return replace(found[0], keys=day.keys, columns=joined)

    def _check_time(self, rows: int, request: BulkRequest, begin: float) -> None:
        """Refuse what would take too long at the measured speed."""
        left = request.seconds - (time.monotonic() - begin)
        if self.rate and rows > self.rate * left:
            most = max(int(self.rate * request.seconds / 2) // 100 * 100, 100)
            told = f"this takes more than {request.seconds:.0f} s here: ask for at most {most:,} rows at once"
            raise Refused(413, told)


def _parts(day: OpenDay, rows: int) -> Iterator[OpenDay]:
    """A day in chunks of its rows."""
    for start in range(0, rows, CHUNK):
        some: Ints = np.arange(start, min(start + CHUNK, rows))
        keys = {name: each[some] for name, each in day.keys.items()}
        yield OpenDay(keys, day.view.take(some), {text: holds[some] for text, holds in day.flags.items()})


def _read_table(body: bytes, kind: str, most_rows: int) -> Any:
    """Read an untrusted table of at least one row."""
    table = (parquet_table if kind == PARQUET else arrow_table)(body, most_rows)
    if not table.num_rows:
        raise Refused(422, findings=("the table has no rows",))
    return table


def _written(found: Recommendation, kind: str) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({name: _arrow(values) for name, values in found.table.items()})
    sink = io.BytesIO()
    if kind == PARQUET:
        pq.write_table(table, sink)
    else:
        with pa.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table)
    return sink.getvalue()


def _arrow(values: Any) -> Any:
    """Values for Arrow; text stays text even if all values are missing."""
    import pyarrow as pa

    return pa.array(values, type=pa.string() if values.dtype == np.dtype(object) else None)


def run(connection: Connection) -> None:
    """Answer requests until the service ends: the body of the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal: the service ends this process
    if hasattr(os, "nice"):
        os.nice(NICE)
    decider: BulkDecider | None = None

    def tell(rows: DecidedRows) -> bool:
        connection.send(rows)
        return not connection.poll()  # anything that comes now says: give up

    with contextlib.suppress(EOFError, OSError):
        while True:
            asked = connection.recv()
            if asked is None:  # to give up on what is done already
                continue
            if isinstance(asked, tuple) and not isinstance(asked, BulkRequest):
                decider = BulkDecider(*asked)
                continue
            body = connection.recv_bytes()
            assert decider is not None
            try:
                content, rows = decider.answer(asked, body, tell)
            except GivenUpError:
                connection.send(Refused(503, "nobody waits"))
            except Refused as refused:
                connection.send(refused)
            except LostSalesError as error:
                connection.send(refusal_of(error))
            except MemoryError:
                connection.send(Refused(413, "the table is too large when it is unpacked"))
            else:
                connection.send(rows)
                connection.send_bytes(content)
