"""How much memory may be used: half of the machine's, or of what a container was given."""

import os
from pathlib import Path

from lostsales.errors import LostSalesError

GIBI = 2**30
SHARE = 0.5
_CONTAINER = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


def memory_limit() -> int:
    """In bytes."""
    try:
        machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not a POSIX system
        machine = 8 * GIBI
    return int(SHARE * min([machine, *_container_limits()]))


def check_memory(what: str, needed: float) -> None:
    """Raise where something would need more memory than there is for it."""
    limit = memory_limit()
    if needed > limit:
        raise LostSalesError(
            f"{what} would need about {needed / GIBI:,.1f} GiB of memory, "
            f"and {limit / GIBI:,.1f} GiB (half of the machine's) may be used: read fewer rows or columns"
        )


def _container_limits() -> list[int]:
    found = []
    for path in _CONTAINER:
        try:
            found.append(int(path.read_text()))
        except (OSError, ValueError):  # no such limit, or "max"
            continue
    return found
