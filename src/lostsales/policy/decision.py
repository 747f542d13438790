"""A decision with its reasons, and the greedy choice among scored actions."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from lostsales.policy.action_grid import ActionGrid
from lostsales.policy.view import Action
from lostsales.types import Array, Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class Decision:
    """Decision for each row, and its reasons; every array is (rows,)."""

    price: Floats
    order: Floats
    value: Floats  # NaN where the policy gives none
    penalty: Floats
    safe: Bools  # the safe action at max_depth was applied
    runner_up_price: Floats
    runner_up_order: Floats
    advantage: Floats  # by which it was ahead of the runner-up when actions were compared, penalties taken off
    unsafe: Bools  # no action was safe enough: the likeliest to end the run was taken
    beyond: Bools  # the censored run is longer than any in the training data
    outside: Bools  # the history lies outside the training data
    more: dict[str, Array] = field(default_factory=dict)  # further columns of this kind of policy
    unknown_series: Bools | None = None  # the series is not in the training data; None where that makes no difference
    not_chosen: Bools | None = None  # what was done before is to be kept; None where the policy decides for all
    unseen: Bools | None = None  # a price or order that the series never had; None where series are alike
    untried: Bools | None = None  # one price or one order was tried near the history; None where that is not asked
    never_ordered: Bools | None = None  # the log has no order of the series; None where series are alike
    one_price: Bools | None = None  # the log has one price of the series, which is kept; None where that is not asked
    in_money: bool = True  # value, penalty and advantage are money; False where they are probabilities
    reasons: Callable[[], dict[str, Array]] = dict  # columns of words on what drove the decision, worked out when asked

    @classmethod
    def without_reasons(cls, action: Action) -> "Decision":
        """The decision of a policy that gives no value and has no runner-up."""
        rows = len(action.price)
        no, nan = np.zeros(rows, dtype=bool), np.full(rows, np.nan)
        return cls(action.price, action.order, nan, np.zeros(rows), no, nan, nan, nan, no, no, no)


class Greedy(NamedTuple):
    """The best action of each row and the runner-up."""

    best: Ints  # (rows,) index of the action
    second: Ints  # (rows,)
    value: Floats  # (rows,) score of the best
    advantage: Floats  # (rows,) by which the runner-up is behind, NaN where there is none

    def runner_up(self, actions: Floats) -> tuple[Floats, Floats]:
        """Price and order of the runner-up among actions (actions, 2), NaN where there is none."""
        price, order = np.where(np.isnan(self.advantage), np.nan, actions[self.second].T)
        return price, order


def greedy(scores: Floats, grid: ActionGrid | None = None) -> Greedy:
    """Argmax of scores (rows, actions) and the runner-up; an action of score -inf is not allowed.

    With the grid of the actions, the runner-up has another price or order: two candidates may be rounded to the same.

    >>> found = greedy(np.array([[1.0, 5.0, 2.0], [-np.inf, 3.0, -np.inf]]))
    >>> found.best, found.advantage
    (array([1, 1]), array([ 3., nan]))
    """
    rows = np.arange(len(scores))
    best = scores.argmax(axis=1)
    others = scores.copy()
    others[rows, best] = -np.inf
    if grid is not None:
        price, order = grid.taken(best)
        others[(grid.price == price[:, None]) & (grid.order == order[:, None])] = -np.inf
    second = others.argmax(axis=1)
    value, next_value = scores[rows, best], others[rows, second]
    return Greedy(best, second, value, np.where(np.isneginf(next_value), np.nan, value - next_value))
