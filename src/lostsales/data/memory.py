"""Limit on memory: by default half of the machine's or the container's."""

import os
import re
from pathlib import Path

from lostsales.errors import LostSalesError, SettingError

MEMORY_SHARE = 0.5  # of the machine's memory that may be used by default
FEWER = "read fewer rows or columns"
USUAL_MEMORY = 8 * 2.0**30  # where the machine does not say how much it has
UNITS = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12, "ki": 2.0**10, "mi": 2.0**20, "gi": 2.0**30, "ti": 2.0**40}
_CONTAINER = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


def memory_limit(given: str | None = None) -> float:
    """Bytes of a text such as 4GiB, 500M or 2e9; the share of the machine's memory where none is given.

    >>> memory_limit("2GiB") == 2 * 2**30, memory_limit("500 MB")
    (True, 500000000.0)
    """
    if given is None:
        return MEMORY_SHARE * machine_memory()
    found = re.fullmatch(r"\s*([0-9.]+(?:e[0-9]+)?)\s*([kmgt]?i?)b?\s*", given.lower())
    try:
        limit = float(found[1]) * UNITS[found[2]] if found else 0.0
    except (ValueError, KeyError):
        limit = 0.0
    if not limit > 0:
        raise SettingError(f"memory is a size such as 4GiB or 500MB, but {given!r} came")
    return limit


def machine_memory() -> float:
    """Bytes of memory of the machine, or of the container."""
    try:
        machine = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):  # not a POSIX system
        machine = USUAL_MEMORY
    return min([machine, *_container_limits()])


def check_memory(what: str, needed: float, limit: float, advice: str) -> None:
    """Raise before work begins where it needs more than the limit."""
    if needed > limit:
        raise LostSalesError(f"{what} needs about {size(needed)} of memory, but the limit is {size(limit)}: {advice}")


def size(memory: float) -> str:
    """Bytes as people read them.

    >>> size(300 * 2**20), size(5 * 2**30)
    ('0.3 GiB', '5.0 GiB')
    """
    return f"{memory / 2**30:.1f} GiB"


def _container_limits() -> list[float]:
    found = []
    for path in _CONTAINER:
        try:
            found.append(float(int(path.read_text())))
        except (OSError, ValueError):  # no such limit, or "max"
            continue
    return found
