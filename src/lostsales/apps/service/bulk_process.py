"""Processes that decide large requests, so that the event loop and small requests never wait for them."""

import asyncio
import contextlib
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from lostsales.apps.service import bulk
from lostsales.apps.service.bulk import BulkRequest, DecidedRows
from lostsales.apps.service.desk import Desk
from lostsales.apps.service.problems import Refused
from lostsales.apps.service.settings import ServiceSettings

LOOK_SECONDS = 0.05  # between looks whether somebody still waits
GRACE = 5.0  # seconds to give up; then the process is ended
QUEUED = 4  # requests that may wait for each process


class BulkProcesses:
    """Processes for large requests, begun when they are needed."""

    def __init__(self, settings: ServiceSettings) -> None:
        self.settings, self.waiting = settings, 0
        self._idle = [_Process() for _ in range(settings.bulk_workers)]
        self._all = tuple(self._idle)
        self._threads = ThreadPoolExecutor(settings.bulk_workers, "bulk")

    async def decide(self, desk: Desk, body: bytes, kind: str) -> tuple[bytes, int]:
        """Answer a large request, and the number of its rows; cancelled, it is given up."""
        if self.waiting >= len(self._all) * (1 + QUEUED):
            raise Refused(503, "too many large requests wait for an answer", retry=5)
        gone, seconds = threading.Event(), self.settings.seconds
        until = time.monotonic() + seconds
        self.waiting += 1
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.get_running_loop().run_in_executor(
                    self._threads, self._decide, desk, body, kind, until, gone
                )
        except TimeoutError:
            raise Refused(503, "this took too long", retry=5) from None
        finally:
            gone.set()
            self.waiting -= 1

    def _decide(self, desk: Desk, body: bytes, kind: str, until: float, gone: threading.Event) -> tuple[bytes, int]:
        if gone.is_set():
            raise Refused(503, "nobody waits")
        process = self._idle.pop()  # the one that was used last, so that others need not begin
        try:
            request = BulkRequest(desk.version.version, kind, self.settings.most_rows, until - time.monotonic())
            return process.ask(desk, request, body, gone)
        finally:
            self._idle.append(process)

    def close(self) -> None:
        """End the processes."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for each in self._all:
            each.end()


class _Process:
    """A process and its connection; used by one thread at a time."""

    def __init__(self) -> None:
        self._process: BaseProcess | None = None
        self._connection: Connection | None = None
        self._desk: weakref.ref[Desk] | None = None  # that it decides for

    def ask(self, desk: Desk, request: BulkRequest, body: bytes, gone: threading.Event) -> tuple[bytes, int]:
        """Answer a request, or raise its refusal."""
        try:
            connection = self._ready(desk)
            connection.send(request)
            connection.send_bytes(body)
            until: float | None = None
            while True:
                while not connection.poll(LOOK_SECONDS):
                    if gone.is_set() and until is None:
                        connection.send(None)
                        until = time.monotonic() + GRACE
                    if until is not None and time.monotonic() > until:
                        raise EOFError
                told = connection.recv()
                if isinstance(told, Refused):
                    raise told
                if not isinstance(told, DecidedRows):
                    return connection.recv_bytes(), told
                desk.answered.add(*told)
        except (EOFError, OSError):
            self.end()
            raise Refused(503, "the process for large requests has ended", retry=1) from None

    def _ready(self, desk: Desk) -> Connection:
        if self._process is None or not self._process.is_alive() or self._connection is None:
            self.end()
            context = get_context("spawn")
            self._connection, other = context.Pipe()
            self._process = context.Process(target=bulk.run, args=(other,), name="lostsales-bulk", daemon=True)
            self._process.start()
            other.close()
        if self._desk is None or self._desk() is not desk:
            self._connection.send((desk.policy, desk.recent))
            self._desk = weakref.ref(desk)
        return self._connection

    def end(self) -> None:
        """End the process, whatever it does."""
        self._desk = None
        with contextlib.suppress(OSError):
            if self._connection is not None:
                self._connection.close()
        if self._process is not None:
            self._process.kill()
            self._process.join()
        self._process = self._connection = None
