"""Work on several threads: compiled loops and matrix products release the interpreter's lock, and share one log."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
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
    """Within, matrix products run on one thread each."""
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
