"""Safe actions: what may be done where a run of stock-outs must end."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from lostsales.learn.cfqi.targets import ActionValueFunction
from lostsales.policy.action_grid import ActionGrid
from lostsales.types import Bools, Floats

Safe = Literal["learned", "paper"]
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class SafeActions:
    """Which actions may be taken where a run must end (UP, line 275)."""

    kind: Safe
    chance: ActionValueFunction | None  # estimated chance that the run ends; None where it always did
    eps: float
    depth: int  # max_depth
    arrival: str

    def mask(
        self, depth: int, block: Floats, feasible: Bools, grid: ActionGrid, scale: float = 1.0
    ) -> tuple[Bools, Bools]:
        """Feasible actions that are safe at a depth, (rows, actions), and rows at which none is safe enough, (rows,).

        The paper's: the highest price with the largest order. The learned: a chance to end the run of at least 1 - eps,
        else the likeliest; the paper's in runs longer than learned where every learned one ended.

        An order that arrives after sales cannot end today's run. So its leg acts a period earlier too (but not before a
        run has begun): the largest, as it is where no action is safe enough.
        """
        nobody = np.zeros(len(feasible), dtype=bool)
        price, order = grid.pairs.T
        ends_at = max(self.depth, 1)  # with nothing learned of runs, any is too long
        always_ended = self.kind == "learned" and self.chance is None
        if self.arrival == "after" and 1 <= depth == ends_at - 1 and not always_ended:
            return _at_most(feasible, order), nobody
        if depth < ends_at or (always_ended and depth == self.depth):
            return feasible, nobody
        if self.kind == "paper" or self.chance is None:
            return _at_most(_at_most(feasible, order), price), nobody
        chance = np.where(feasible, self.chance.values(block, grid.pairs / [1.0, scale]), -np.inf)
        enough: Bools = chance >= 1 - self.eps
        none = np.asarray(~enough.any(axis=1))
        likeliest = feasible & (chance >= chance.max(axis=1, keepdims=True) - ROUNDING)
        if self.arrival == "after":
            likeliest = _at_most(likeliest, order)
        return np.where(none[:, None], likeliest, enough), none


def _at_most(feasible: Bools, quantity: Floats) -> Bools:
    """Of the feasible actions of each row those with the largest quantity."""
    largest = np.where(feasible, quantity, -np.inf).max(axis=1, keepdims=True)
    return np.asarray(feasible & (quantity == largest))
