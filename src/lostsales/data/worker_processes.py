"""Worker processes that end with their parent."""

import multiprocessing
import os
import signal
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from threading import Thread
from typing import TypeVar

from lostsales.errors import SettingError

Task = TypeVar("Task")
Result = TypeVar("Result")


def worker_pool(workers: int) -> ProcessPoolExecutor:
    """Processes that leave Ctrl-C to the parent, and end when it is killed."""
    spawn = multiprocessing.get_context("spawn")  # forking a process that has threads can deadlock
    return ProcessPoolExecutor(workers, spawn, _start_worker)


def check_workers(workers: int) -> None:
    """Raise where there is no worker."""
    if workers < 1:
        raise SettingError(f"workers must be at least 1, but {workers} came")


def on_processes(work: Callable[[Task], Result], tasks: Sequence[Task], workers: int) -> Generator[Result]:
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
