"""Measured term of the regret bound."""

from dataclasses import dataclass
from typing import Any

from lostsales.evaluation.results import plain
from lostsales.types import Floats


@dataclass(frozen=True, eq=False)
class Diagnostic:
    """Term of the regret bound, with its meaning and advice."""

    key: str
    title: str
    value: float | None  # None if it cannot be measured
    by_depth: Floats | None  # (depths,)
    plug_in: bool  # computed for the given policy or behaviour instead of the unknown best one
    meaning: str  # what it says of this log
    advice: str  # what to do about it


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """All terms, in the order of the bound."""

    items: tuple[Diagnostic, ...]

    def by(self, key: str) -> Diagnostic:
        """The term of a key."""
        return next(each for each in self.items if each.key == key)

    def to_json(self) -> list[Any]:
        """Content for JSON."""
        found: list[Any] = plain(self.items)
        return found
