"""Regression targets of Q^(i): surrogate profit plus the discounted value of the next history."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from lostsales.learn.cfqi.own_actions import OwnActions
from lostsales.learn.cfqi.partition import Partition
from lostsales.types import Bools, Floats, Ints

KEPT_SCORES = 20_000_000  # above, features of the next histories are recomputed in each iteration
CHUNK = 20_000


class ActionValueFunction(Protocol):
    """A fitted Q^(i)."""

    @property
    def name(self) -> str:
        """Name of the function class."""
        ...

    def values(self, block: Floats, actions: Floats) -> Floats:
        """Q of histories against actions, (rows, actions)."""
        ...

    def penalty(self, block: Floats, actions: Floats, beta: float) -> Floats:
        """U of histories against actions, (rows, actions)."""
        ...


# Q - U of prepared histories and actions, (rows, actions).
Scorer = Callable[[Any, float], Floats]


class RegressionDesign(Protocol):
    """The rows of a depth and the function class that learns from them."""

    def q(self, targets: Floats, low: float, high: float) -> tuple[ActionValueFunction, float]:
        """Q of these targets, kept within low and high, and the root mean squared Bellman residual."""
        ...

    def scorer(self, block: Floats, actions: Floats) -> Scorer | None:
        """Q - U prepared for histories that every iteration evaluates; None where nothing can be prepared."""
        ...


@dataclass(frozen=True, eq=False)
class NextHistories:
    """Next histories of one depth against actions of the same coordinates."""

    rows: Ints  # (rows,) of the partition before
    depth: int
    block: Floats  # (rows, coordinates)
    may: Bools | None  # (rows, actions)
    actions: Floats
    scorer: Scorer | None

    def best(self, q: ActionValueFunction, beta: float) -> Floats:
        """Max over allowed actions of Q, or of Q - U where the update is pessimistic, (rows,)."""
        if self.scorer is not None:
            return self._most(self.scorer(q, beta), slice(None))
        found = np.empty(len(self.block))
        for start in range(0, len(found), CHUNK):
            part = slice(start, start + CHUNK)
            scores = q.values(self.block[part], self.actions)
            if beta:
                scores -= q.penalty(self.block[part], self.actions, beta)
            found[part] = self._most(scores, part)
        return found

    def _most(self, scores: Floats, part: slice) -> Floats:
        if self.may is not None:
            scores[~self.may[part]] = -np.inf
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
        actions: OwnActions,
        designs: list[Any],
    ) -> "NextValues":
        """The next history has depth 0 after observed demand, else `next_learned`."""
        after, ones = [], np.ones(len(part.rows))
        scale = ones if part.scale is None else part.scale
        usual = ones if part.usual_price is None else part.usual_price
        for rows, to, block, may in (
            (np.flatnonzero(part.is_observed), 0, part.next_observed, allowed[0]),
            (np.flatnonzero(~part.is_observed), part.next_learned, part.next_censored, allowed[1]),
        ):
            for at, own in actions.groups(usual[rows], scale[rows]):
                there, kept = block[at], len(at) * len(own) <= KEPT_SCORES
                scorer = designs[to].scorer(there, own) if kept else None
                after.append(NextHistories(rows[at], to, there, None if may is None else may[at], own, scorer))
        return cls(len(part.rows), tuple(after))

    def value(self, q: list[ActionValueFunction], beta: float) -> Floats:
        """V^(0) after observed demand, V^(i+1) after a stock-out, (rows,)."""
        found = np.empty(self.rows)
        for each in self.after:
            found[each.rows] = each.best(q[each.depth], beta)
        return found


def targets(
    profit: Floats, following: NextValues, q: list[ActionValueFunction], discount: float, beta: float
) -> Floats:
    """R* + discount V, the regression targets of Q^(i) in one iteration (Algorithms 1 and 2), (rows,).

    V is V^(0) after observed demand and V^(i+1), from max_depth on V^(n), after a stock-out, of Q, or of Q - U where
    beta is above 0.
    """
    return profit + discount * following.value(q, beta)
