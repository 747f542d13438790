"""Regression targets of Q^(i): surrogate profit plus the discounted value of the next history."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from lostsales.data.parallel import in_parallel
from lostsales.learn.cfqi.partition import Partition
from lostsales.learn.cfqi.support import Support
from lostsales.learn.function.q_function import Deviations
from lostsales.types import Bools, Floats, Ints

# Values of next histories and actions above which kernels are recomputed in each iteration rather than kept.
KEPT_SCORES = 20_000_000
CHUNK = 1_000  # rows that are scored at once, so that their kernels stay in the cache
MANY_ROWS = 20_000  # from which on several threads are quicker


class ActionValueFunction(Protocol):
    """A fitted Q^(i)."""

    @property
    def name(self) -> str:
        """Name of the function class."""
        ...

    def values(self, block: Floats, actions: Floats) -> Floats:
        """Q of histories against actions, (rows, actions)."""
        ...

    def penalty(self, block: Floats, actions: Floats, beta: float, usual: Ints | None = None) -> Floats:
        """U of histories against actions, or of what they gain over the usual ones (rows,); (rows, actions)."""
        ...


# Q - U of prepared histories and actions, -inf where not allowed, (rows, actions); only each maximum is exact.
Scorer = Callable[[Any, float, Bools | None], Floats]


class RegressionDesign(Protocol):
    """The rows of a depth and the function class that learns from them."""

    def q(
        self, targets: Floats, low: float, high: float, mean: float | None = None
    ) -> tuple[ActionValueFunction, float]:
        """Q of these targets and prior mean, kept within low and high, and the root mean squared Bellman residual."""
        ...

    def scorer(
        self, block: Floats, actions: Floats, usual: Ints | None = None, known: dict[object, Deviations] | None = None
    ) -> Scorer | None:
        """Q - U prepared for histories that every iteration evaluates; None where nothing can be prepared."""
        ...


@dataclass(frozen=True, eq=False)
class NextHistories:
    """Next histories of one depth against all actions, few enough to be scored at once."""

    rows: Ints  # (rows,) of the partition before
    depth: int
    block: Floats  # (rows, coordinates)
    may: Bools | None  # (rows, actions)
    actions: Floats
    scorer: Scorer | None = None
    usual: Ints | None = None  # (rows,) the usual action, where the penalty is on gains over it
    weight: float = 1.0  # of the penalty
    known: dict[object, Deviations] = field(default_factory=dict)  # deviations of these histories

    def prepared(self, design: RegressionDesign) -> "NextHistories":
        """The same, ready for the Q-functions of a design."""
        return replace(self, scorer=design.scorer(self.block, self.actions, self.usual, self.known))

    def best(self, q: ActionValueFunction, beta: float) -> Floats:
        """Max over allowed actions of Q, or of Q - U where the update is pessimistic, (rows,)."""
        beta *= self.weight
        if self.scorer is not None:
            return np.asarray(self.scorer(q, beta, self.may).max(axis=1, initial=-np.inf))
        scores = q.values(self.block, self.actions)
        if beta:
            scores -= q.penalty(self.block, self.actions, beta, self.usual)
        if self.may is not None:
            scores[~self.may] = -np.inf
        return np.asarray(scores.max(axis=1, initial=-np.inf))


@dataclass(frozen=True, eq=False)
class NextValues:
    """V of the histories that follow the rows of a depth."""

    rows: int
    after: tuple[NextHistories, ...]

    @classmethod
    def of(
        cls,
        part: Partition,
        allowed: tuple[Bools | None, Bools | None],
        actions: Floats,  # (actions, 2)
        behaviour: tuple[Support, ...] | None = None,  # by depth, where the penalty is on gains over the usual action
    ) -> "NextValues":
        """The next history has depth 0 after observed demand, else `next_learned`."""
        after = []
        stocked_out = max(part.next_learned, 1)  # whose behaviour is its own, though Q may be that of depth 0
        for rows, to, described, block, may in (
            (np.flatnonzero(part.is_observed), 0, 0, part.next_observed, allowed[0]),
            (np.flatnonzero(~part.is_observed), part.next_learned, stocked_out, part.next_censored, allowed[1]),
        ):
            for start in range(0, len(rows), CHUNK):
                some = slice(start, start + CHUNK)
                there, may_there, usual, weight = block[some], None if may is None else may[some], None, 1.0
                if behaviour is not None:
                    usual = behaviour[described].usual_action(there, may_there, actions)
                    weight = behaviour[described].gain_weight
                after.append(NextHistories(rows[some], to, there, may_there, actions, None, usual, weight))
        return cls(len(part.rows), tuple(after))

    def prepared(self, designs: list[RegressionDesign]) -> "NextValues":
        """The same, ready for the Q-functions of these designs, by depth."""
        return replace(self, after=tuple(each.prepared(designs[each.depth]) for each in self.after))


def targets(
    parts: list[Partition], following: list[NextValues], q: list[ActionValueFunction], discount: float, beta: float
) -> list[Floats]:
    """R* + discount V, the regression targets of every Q^(i) in one iteration (Algorithms 1 and 2), each (rows,).

    V is V^(0) after observed demand and V^(i+1), from max_depth on V^(n), after a stock-out, of Q, or of Q - U where
    beta is above 0.
    """
    found = [np.empty(ahead.rows) for ahead in following]
    every = [(values, each) for values, ahead in zip(found, following, strict=True) for each in ahead.after]

    def fill(job: tuple[Floats, NextHistories]) -> None:
        values, each = job
        values[each.rows] = each.best(q[each.depth], beta)

    rows = sum(ahead.rows for ahead in following)
    in_parallel(fill, every) if rows > MANY_ROWS else list(map(fill, every))
    return [part.profit + discount * values for part, values in zip(parts, found, strict=True)]
