"""Limit on memory, by default half of the machine's or the container's, and the rows of a log that fit into it."""

import os
import re
from pathlib import Path

from lostsales.errors import LostSalesError, SettingError

MEMORY_SHARE = 0.5  # of the machine's memory that may be used by default
FEWER = "read fewer rows or columns"
USUAL_MEMORY = 8 * 2.0**30  # where the machine does not say how much it has
UNITS = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12, "ki": 2.0**10, "mi": 2.0**20, "gi": 2.0**30, "ti": 2.0**40}
# Peak memory of a command in bytes per row of its log, measured on `steady` with one and ten million rows
# (docs/benchmarks.md) and rounded up. A method of `fit` declares its figure: `Learner.bytes_a_row`.
BYTES_A_ROW = {
    "inspect": 200, "forecast": 300, "audit": 400, "evaluate": 400, "impute": 600, "pilot": 600, "monitor": 600,
    "demand": 700, "backtest": 1_600, "compare": 1_600, "report": 1_600,
}  # fmt: skip
BYTES_AN_EVALUATED_ROW = 10_000  # in each thread, on top; measured there with 20,000 and 40,000 rows
LEAST_EVALUATED_ROWS = 1_000  # however little memory there is
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


def check_rows(command: str, rows: int, given: str | None, bytes_a_row: int | None = None) -> None:
    """Refuse a log that does not fit into the limit of memory."""
    needed = rows * (BYTES_A_ROW[command] if bytes_a_row is None else bytes_a_row)
    advice = "raise it with --memory, or give a part of the log"
    check_memory(f"{command} of {rows:,} rows", needed, memory_limit(given), advice)


def evaluated_rows(rows: int, threads: int, given: str | None) -> tuple[int, tuple[str, ...]]:
    """Number of rows that policies are evaluated on within the limit of memory, and a note if these are fewer.

    >>> evaluated_rows(40_000, 2, "4GB"), evaluated_rows(40_000, 2, "400MB")
    ((40000, ()), (20000, ('evaluated on at most 20,000 rows, as memory is limited to 0.4 GiB',)))
    """
    limit = memory_limit(given)
    fewer = max(LEAST_EVALUATED_ROWS, int(limit / (threads * BYTES_AN_EVALUATED_ROW)))
    if fewer >= rows:
        return rows, ()
    return fewer, (f"evaluated on at most {fewer:,} rows, as memory is limited to {size(limit)}",)


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
