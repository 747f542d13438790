"""Features whose next value is known: a calendar, whose states follow one another in a fixed order."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from lostsales.data.feature import Feature
from lostsales.demand.censoring.evidence import Evidence
from lostsales.demand.law.means import KernelMean, LinearMean
from lostsales.saved_fields import Axis, indices, numbers
from lostsales.types import Bools, Floats, Ints

MOST_STATES = 31  # of a cycle: longer ones (a year) enter as levels that move slowly
LEAST_SEEN = 3  # times that each state must have been followed by another
USUAL = 0.95  # share of the rows after a state that have the same next one; closed days leave some out


@dataclass(frozen=True, eq=False)
class KnownCycle:
    """States of the market with a known successor; a single one where no feature is a calendar."""

    AXES: ClassVar[dict[str, Axis]] = {"cycle columns": Axis(least=0)}

    columns: Annotated[Ints, indices("cycle columns", below="features")]  # of the market that tell the state
    states: Annotated[Floats, numbers("cycle", "cycle columns")]
    following: Annotated[Ints, indices("cycle", below="cycle")]  # the next state of each
    level: Annotated[Floats, numbers("cycle")]  # what it adds to z

    @classmethod
    def none(cls) -> "KnownCycle":
        """A single state."""
        return cls(np.zeros(0, np.int64), np.zeros((1, 0)), np.zeros(1, np.int64), np.zeros(1))

    def __len__(self) -> int:
        return len(self.states)

    def state(self, market: Floats) -> Ints:
        """The state of rows, (rows,): the nearest one where none has these values."""
        if len(self) == 1:
            return np.zeros(len(market), dtype=np.int64)
        apart = ((market[:, None, self.columns] - self.states) ** 2).sum(axis=2)
        return np.asarray(apart.argmin(axis=1))

    def against_time(self) -> list[tuple[int, int]]:
        """Every state and the one that follows it, in reverse order of time.

        >>> KnownCycle(np.zeros(1, np.int64), np.arange(3.0)[:, None], np.array([2, 0, 1]), np.zeros(3)).against_time()
        [(0, 2), (1, 0), (2, 1)]
        """
        previous, order, left = np.argsort(self.following), [], set(range(len(self)))
        while left:  # of every cycle
            state = min(left)
            while state in left:
                left.remove(state)
                order.append((state, int(self.following[state])))
                state = int(previous[state])
        return order


def find_cycle(
    evidence: Evidence, features: Iterable[Feature], index: LinearMean | KernelMean, follows: Bools
) -> KnownCycle:
    """The features whose next value followed from their value (nearly) always, as one cycle.

    `index` gives z, and `follows` (rows - 1,) says where the next row is of the next period.
    """
    rows = np.flatnonzero(follows)
    columns: list[int] = []
    at = 0
    for feature in features:
        width = len(feature.levels or ()) if feature.kind == "categorical" else 1
        own = list(range(at, at + width))
        at += width
        if _successors(evidence.market[:, own], rows) is not None:
            columns += own
    found = _successors(evidence.market[:, columns], rows) if columns else None
    if found is None:
        return KnownCycle.none()
    states, code, following = found
    if isinstance(index, LinearMean):
        level = states @ index.slopes[columns]
    else:
        level = np.bincount(code, index(evidence.market), len(states)) / np.bincount(code, minlength=len(states))
    return KnownCycle(np.array(columns), states, following, level)


def _successors(values: Floats, rows: Ints) -> tuple[Floats, Ints, Ints] | None:
    """The different values, that of each row and the next of each; None where they do not follow one another."""
    sample = np.unique(values[: 50 * MOST_STATES], axis=0)
    if not 1 < len(sample) <= MOST_STATES:
        return None
    states, code = np.unique(values, axis=0, return_inverse=True)
    code = code.reshape(-1)
    count = len(states)
    if count > MOST_STATES:
        return None
    moves = np.bincount(code[rows] * count + code[rows + 1], minlength=count**2).reshape(count, count)
    seen, most = moves.sum(axis=1), moves.max(axis=1)
    following = moves.argmax(axis=1)
    is_cycle = len(np.unique(following)) == count and (following != np.arange(count)).all()
    if not is_cycle or (seen < LEAST_SEEN).any() or (most < USUAL * seen).any():
        return None
    return states, code, following
