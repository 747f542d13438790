"""Execution of the tasks of a fleet: in this process, in several, or on a Ray cluster, with the same results.

A task is a pure function, and its result returns to the driver, the only one that writes. So machines need not share
anything, a worker that outlives its driver cannot disturb the next one, and a task that was lost with its worker is
run again.
"""

import logging
import socket
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol, TypeVar

from lostsales.data.parallel import worker_pool
from lostsales.errors import LostSalesError, SettingError

AHEAD = 2  # submitted tasks per worker: one that runs, one that waits
MOST_LOSSES = 3  # failures of workers in a row, without a task finished in between
SECONDS_TO_CONNECT = 10.0  # to a Ray cluster
RETRIES = 5  # of a task whose node was lost

Task = TypeVar("Task")
Result = TypeVar("Result")


class Engine(Protocol):
    """Executor of tasks, each once, in any order."""

    def run(self, work: Callable[[Task], Result], tasks: Iterable[Task]) -> Generator[Result]:
        """Results in order of completion; tasks are taken as workers become free."""
        ...


@dataclass(frozen=True)
class Processes:
    """Worker processes on this machine; with one worker the work is done in this process."""

    workers: int

    def run(self, work: Callable[[Task], Result], tasks: Iterable[Task]) -> Generator[Result]:
        """Run tasks; a worker that dies is replaced, and its tasks are run again."""
        if self.workers == 1:
            yield from map(work, tasks)
            return
        waiting, left, losses = iter(tasks), list[Task](), 0
        while True:
            running: dict[Future[Result], Task] = {}
            try:
                with worker_pool(self.workers) as pool:
                    try:
                        while True:
                            room = AHEAD * self.workers - len(running)
                            again, left = left[:room], left[room:]
                            for task in (*again, *islice(waiting, room - len(again))):
                                running[pool.submit(work, task)] = task
                            if not running:
                                return
                            for done in wait(running, return_when=FIRST_COMPLETED).done:
                                result = done.result()
                                del running[done]
                                losses = 0
                                yield result
                    finally:
                        pool.shutdown(cancel_futures=True)
            except BrokenProcessPool:
                losses += 1
                if losses >= MOST_LOSSES:
                    raise LostSalesError(
                        "workers failed repeatedly, most likely for lack of memory; the same command resumes from the "
                        "finished shards, and --workers 1 or a smaller --shard-size needs less"
                    ) from None
                left = [*running.values(), *left]


@dataclass(frozen=True)
class Ray:
    """A Ray cluster, by its address; "local" starts one on this machine."""

    address: str

    def run(self, work: Callable[[Task], Result], tasks: Iterable[Task]) -> Generator[Result]:
        """Run tasks on one core each; those of a lost node are run again on another."""
        ray = _import_ray()
        own = not ray.is_initialized()
        if own:
            _check_reachable(self.address)
            try:
                ray.init(
                    address=self.address, log_to_driver=False, logging_level=logging.ERROR, include_dashboard=False
                )
            except (ConnectionError, ValueError, RuntimeError, OSError) as error:
                reason = " ".join(str(error).split())[:300]
                raise LostSalesError(f"there is no Ray cluster at {self.address!r}: {reason}") from None
        try:
            yield from self._run(ray, ray.remote(num_cpus=1, max_retries=RETRIES)(work), tasks)
        except ray.exceptions.RayTaskError as error:
            raise error.cause if isinstance(error.cause, LostSalesError) else error from None
        except ray.exceptions.RayError as error:
            reason = " ".join(str(error).split())[:300]
            raise LostSalesError(f"Ray failed; the same command resumes from the finished shards: {reason}") from None
        finally:
            if own:
                ray.shutdown()

    def _run(self, ray: Any, remote: Any, tasks: Iterable[Task]) -> Generator[Any]:
        waiting, running = iter(tasks), list[Any]()
        while True:
            # Nodes come and go, so the number of cores is queried each time.
            cores = max(1, int(ray.cluster_resources().get("CPU", 1)))
            running += [remote.remote(task) for task in islice(waiting, max(AHEAD * cores - len(running), 0))]
            if not running:
                return
            done, running = ray.wait(running, num_returns=1)
            yield ray.get(done[0])


def _check_reachable(address: str) -> None:
    """Raise if nothing listens at the address: Ray itself would wait for minutes."""
    host, colon, port = address.rpartition("://")[2].rpartition(":")
    if not colon or not port.isdecimal():
        return  # auto, local, or a name that Ray knows
    try:
        socket.create_connection((host, int(port)), timeout=SECONDS_TO_CONNECT).close()
    except (OSError, OverflowError) as error:
        raise LostSalesError(f"there is no Ray cluster at {address!r}: {error}") from None


def engine_of(workers: int, ray: str | None) -> Engine:
    """Ray engine if an address is given, else processes."""
    if workers < 1:
        raise SettingError(f"workers must be at least 1, but {workers} came")
    if ray is None:
        return Processes(workers)
    _import_ray()
    return Ray(ray)


def _import_ray() -> Any:
    try:
        import ray
    except ImportError:
        raise SettingError(
            "--ray needs Ray: pip install 'lostsales[fleet]'; without it --workers does the same"
        ) from None
    return ray
