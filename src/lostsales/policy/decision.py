"""A decision with its reasons, and the greedy choice among scored actions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

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


def merged(parts: Sequence[Decision], back: Ints) -> Decision:
    """Decisions on parts of some rows as one; `back` has the position of each row among those of the parts.

    An optional column that some parts lack is False there; further columns are those that all have.

    >>> parts = [Decision.without_reasons(Action(np.array([price]), np.array([1.0]))) for price in (4.0, 6.0)]
    >>> merged(parts, np.array([1, 0])).price
    array([6., 4.])
    """

    def joined(columns: Sequence[Array]) -> Array:
        return np.concatenate(columns)[back]

    def optional(name: str) -> Array | None:
        found = [getattr(part, name) for part in parts]
        if all(each is None for each in found):
            return None
        none = [np.zeros(len(part.price), dtype=bool) for part in parts]
        return joined([other if each is None else each for each, other in zip(found, none, strict=True)])

    def by_name(columns: Sequence[dict[str, Array]]) -> dict[str, Array]:
        common = [name for name in columns[0] if all(name in each for each in columns)]
        return {name: joined([each[name] for each in columns]) for name in common}

    names = [each.name for each in fields(Decision)]
    given = {name: joined([getattr(part, name) for part in parts]) for name in names[: names.index("more")]}
    columns: dict[str, Any] = given | {
        each.name: optional(each.name) for each in fields(Decision) if each.default is None
    }
    return Decision(
        **columns,
        more=by_name([part.more for part in parts]),
        in_money=all(part.in_money for part in parts),
        reasons=lambda: by_name([part.reasons() for part in parts]),
    )


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
