"""Rows that a benchmark reports."""

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One figure: ours, the peer's, their ratio, and the least or most that it may be."""

    what: str
    ours: str
    peer: str
    ratio: float
    at_least: float | None = None
    at_most: float | None = None

    @property
    def wanted(self) -> str:
        """The bound in words."""
        if self.at_least is not None:
            return f">= {self.at_least:g}"
        return "-" if self.at_most is None else f"<= {self.at_most:g}"

    @property
    def mark(self) -> str:
        """Verdict on the ratio and its bound."""
        least, most = self.at_least, self.at_most
        if least is None and most is None:
            return ""
        kept = (least is None or self.ratio >= least) and (most is None or self.ratio <= most)
        return "reached" if kept else "missed"


def best_seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """The quickest of a few runs: what else the machine does can only slow it down."""
    return min(_seconds(work) for _ in range(repeats))


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
