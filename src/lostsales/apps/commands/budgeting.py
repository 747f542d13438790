"""The cost of a command, told before its work begins, and held against the limit of memory."""

from typing import TYPE_CHECKING

from lostsales.apps.console import err

if TYPE_CHECKING:
    from lostsales.data.budget import Cost

FEWER_ROWS = "give a part of the log"
TOLD = 20.0  # seconds from which on the estimate is told


def expect(what: str, cost: "Cost", memory: str | None, advice: str, workers: int = 1) -> float:
    """Seconds that the work will take on so many cores; refused where it needs more memory than it may."""
    from lostsales.data.budget import duration, slowness
    from lostsales.data.memory import check_memory, memory_limit, size

    check_memory(what, cost.memory, memory_limit(memory), f"raise it with --memory, or {advice}")
    seconds = cost.seconds * slowness() / workers
    if seconds > TOLD:
        err.print(f"{what} will take about {duration(seconds)} and {size(cost.memory)} of memory", highlight=False)
    return seconds
