"""Work on several threads: compiled loops and matrix products release the interpreter's lock, and share one log."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from threadpoolctl import threadpool_limits

from lostsales.data.progress import Progress
from lostsales.errors import SettingError

MOST_WORKERS = 4  # unless more are asked for: each needs memory of its own

Item = TypeVar("Item")
Result = TypeVar("Result")


def usual_workers() -> int:
    """The cores that this process may use, at most four.

    >>> 1 <= usual_workers() <= 4
    True
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(MOST_WORKERS, cores)


def checked_workers(workers: int | None) -> int:
    """The number that was asked for, the usual one where none was."""
    if workers is not None and workers < 1:
        raise SettingError(f"workers must be at least 1, but {workers} came")
    return usual_workers() if workers is None else workers


def in_parallel(
    work: Callable[[Item], Result],
    items: Iterable[Item],
    workers: int | None = None,
    progress: Progress | None = None,
) -> list[Result]:
    """The result of every item, in order; progress counts items.

    Matrix products run on one thread each, so that threads do not multiply and results do not depend on `workers`.

    >>> in_parallel(abs, [-1, 2])
    [1, 2]
    """
    every = list(items)
    found: list[Result] = []
    with threadpool_limits(1), ThreadPoolExecutor(min(checked_workers(workers), max(len(every), 1))) as pool:
        for result in pool.map(work, every):
            found.append(result)
            if progress:
                progress(len(found), len(every))
    return found
