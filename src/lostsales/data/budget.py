"""Time and memory that work takes, estimated before it begins.

Costs are counted in seconds of one core of a reference machine; a short benchmark says how fast this one is.
"""

import time
from dataclasses import dataclass
from functools import cache

import numpy as np

REFERENCE_SECONDS = 0.0145  # of `_benchmark` on the machine where the constants of the cost models were measured


@dataclass(frozen=True)
class Cost:
    """Cost of a piece of work: seconds of one reference core, and bytes of memory on top of those in use."""

    seconds: float
    memory: float

    def __add__(self, other: "Cost") -> "Cost":
        """One after the other: memory is free again in between."""
        return Cost(self.seconds + other.seconds, max(self.memory, other.memory))

    def __mul__(self, times: float) -> "Cost":
        """Cost of repeating the work one after the other: memory is free again in between."""
        return Cost(self.seconds * times, self.memory)

    def on(self, workers: int) -> "Cost":
        """Cost on several threads, each with its own memory."""
        return Cost(self.seconds, workers * self.memory)


def duration(seconds: float) -> str:
    """A time as people read it.

    >>> duration(0.4), duration(42.1), duration(600)
    ('1 s', '43 s', '10 min')
    """
    return f"{max(1, int(np.ceil(seconds)))} s" if seconds < 120 else f"{seconds / 60:.0f} min"


@cache
def slowness() -> float:
    """Ratio of running time here to that on the reference machine, on an idle core."""
    return min(_benchmark() for _ in range(3)) / REFERENCE_SECONDS


def _benchmark() -> float:
    """Seconds of processor time for the operations that all verbs spend theirs on."""
    values = np.linspace(0.0, 1.0, 40_000).reshape(-1, 8)
    began = time.thread_time()
    for _ in range(3):
        kernel = np.exp(-(values @ np.ones((8, 60))))
        kernel.T @ kernel
        np.argsort(values[:, 0] * 7919 % 1)
    return time.thread_time() - began
