"""Work on several threads or processes.

Compiled loops and matrix products release the interpreter's lock, so that threads share one log. Processes end with
their parent.
"""

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from threading import Thread
from typing import TypeVar

from threadpoolctl import ThreadpoolController

from lostsales.data.progress import Progress
from lostsales.errors import SettingError

MOST_WORKERS = 4  # unless more are asked for: each needs memory of its own

Item = TypeVar("Item")
Result = TypeVar("Result")

_workers: ContextVar[int | None] = ContextVar("workers", default=None)


def usual_workers() -> int:
    """The cores that this process may use, at most four.

    >>> 1 <= usual_workers() <= 4
    True
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(MOST_WORKERS, cores)


def current_workers() -> int:
    """Number of threads in use: that of `using_workers`, else the usual number."""
    return _workers.get() or usual_workers()


@contextmanager
def using_workers(workers: int | None) -> Iterator[None]:
    """Set the number of threads within the block; None for the usual number.

    >>> with using_workers(1):
    ...     current_workers()
    1
    """
    if workers is not None and workers < 1:
        raise SettingError(f"workers must be at least 1, but {workers} came")
    token = _workers.set(workers)
    try:
        yield
    finally:
        _workers.reset(token)


@contextmanager
def single_threaded() -> Iterator[None]:
    """Matrix products within the block run on one thread each."""
    with _libraries(len(sys.modules)).limit(limits=1):
        yield


@lru_cache(maxsize=1)
def _libraries(modules: int) -> ThreadpoolController:  # noqa: ARG001
    """Libraries with threads of their own: to find them takes milliseconds, and a further one comes with a module."""
    return ThreadpoolController()


def in_parallel(
    work: Callable[[Item], Result], items: Iterable[Item], progress: Progress | None = None
) -> list[Result]:
    """The result of every item, in order; progress counts items.

    Within a thread there is no further one, and matrix products run on one thread each: threads do not multiply, and
    results do not depend on their number.

    >>> in_parallel(abs, [-1, 2])
    [1, 2]
    """
    every = list(items)
    found: list[Result] = []
    threads = min(current_workers(), max(len(every), 1))
    with single_threaded(), ThreadPoolExecutor(threads, initializer=lambda: _workers.set(1)) as pool:
        for result in pool.map(work, every) if threads > 1 else map(work, every):
            found.append(result)
            if progress:
                progress(len(found), len(every))
    return found


def worker_pool(workers: int) -> ProcessPoolExecutor:
    """Processes that leave Ctrl-C to the parent, and end when it is killed."""
    spawn = multiprocessing.get_context("spawn")  # forking a process that has threads can deadlock
    return ProcessPoolExecutor(workers, spawn, _start_worker)


def check_workers(workers: int) -> None:
    """Raise where there is no worker."""
    if workers < 1:
        raise SettingError(f"workers must be at least 1, but {workers} came")


def on_processes(work: Callable[[Item], Result], tasks: Sequence[Item], workers: int) -> Generator[Result]:
    """Results in order of completion; one worker is this process itself. Closing it stops what has not begun.

    >>> list(on_processes(abs, [-1, 2], 1))
    [1, 2]
    """
    check_workers(workers)
    if workers == 1 or len(tasks) < 2:
        yield from map(work, tasks)
        return
    with worker_pool(min(workers, len(tasks))) as pool:
        try:
            for future in as_completed([pool.submit(work, task) for task in tasks]):
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _start_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
        os._exit(1)
