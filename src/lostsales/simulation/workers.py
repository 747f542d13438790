"""Worker processes that end with their parent."""

import multiprocessing
import os
import signal
from concurrent.futures import ProcessPoolExecutor
from threading import Thread


def worker_pool(workers: int) -> ProcessPoolExecutor:
    """Processes that leave Ctrl-C to the parent, and end when it is killed."""
    spawn = multiprocessing.get_context("spawn")  # forking a process that has threads can deadlock
    return ProcessPoolExecutor(workers, spawn, _start_worker)


def _start_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
        os._exit(1)
