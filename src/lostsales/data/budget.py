"""Time and memory that work takes, estimated before it begins, and the limit that it must keep to.

Costs are counted in seconds of one core of a reference machine; a short benchmark says how fast this one is.
"""

import os
import re
import time
from dataclasses import dataclass
from functools import cache

import numpy as np

from lostsales.errors import LostSalesError, SettingError

REFERENCE_SECONDS = 0.0145  # of `_benchmark` on the machine where the constants of the cost models were measured
UNITS = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12, "ki": 2.0**10, "mi": 2.0**20, "gi": 2.0**30, "ti": 2.0**40}
USUAL_MEMORY = 4 * 2.0**30  # where the machine does not say how much it has


@dataclass(frozen=True)
class Cost:
    """What a piece of work takes: seconds of one reference core, and bytes beside those that are held already."""

    seconds: float
    memory: float

    def __add__(self, other: "Cost") -> "Cost":
        """One after the other: memory is free again in between."""
        return Cost(self.seconds + other.seconds, max(self.memory, other.memory))

    def __mul__(self, times: float) -> "Cost":
        """So many times, one after the other."""
        return Cost(self.seconds * times, self.memory)

    def on(self, workers: int) -> "Cost":
        """The same on so many threads, each with memory of its own."""
        return Cost(self.seconds, workers * self.memory)

    @property
    def sentence(self) -> str:
        """In words, for one core of this machine.

        >>> Cost(0.0, 3 * 2**29).sentence.split(", ")[1]
        '1.5 GiB'
        """
        return f"about {duration(self.seconds * slowness())}, {size(self.memory)}"


def duration(seconds: float) -> str:
    """A time as people read it.

    >>> duration(0.4), duration(42.1), duration(600)
    ('1 s', '43 s', '10 min')
    """
    return f"{max(1, int(np.ceil(seconds)))} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def size(memory: float) -> str:
    """Bytes as people read them.

    >>> size(300 * 2**20), size(5 * 2**30)
    ('0.3 GiB', '5.0 GiB')
    """
    return f"{memory / 2**30:.1f} GiB"


def memory_limit(given: str | None) -> float:
    """Bytes of a text such as 4GiB, 500M or 2e9; half of the machine's memory where none is given.

    >>> memory_limit("2GiB") == 2 * 2**30, memory_limit("500 MB")
    (True, 500000000.0)
    """
    if given is None:
        return machine_memory() / 2
    found = re.fullmatch(r"\s*([0-9.]+(?:e[0-9]+)?)\s*([kmgt]?i?)b?\s*", given.lower())
    try:
        limit = float(found[1]) * UNITS[found[2]] if found else 0.0
    except (ValueError, KeyError):
        limit = 0.0
    if not limit > 0:
        raise SettingError(f"memory is a size such as 4GiB or 500MB, but {given!r} came")
    return limit


def machine_memory() -> float:
    """Bytes of memory of the machine."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return USUAL_MEMORY


def check_memory(what: str, cost: Cost, limit: float, advice: str) -> None:
    """Raise before work begins where it needs more than the limit."""
    if cost.memory > limit:
        raise LostSalesError(
            f"{what} needs about {size(cost.memory)} of memory, but the limit is {size(limit)}: "
            f"raise it with --memory, or {advice}"
        )


@cache
def slowness() -> float:
    """How much longer work takes here than on the reference machine, on a core that has nothing else to do."""
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
