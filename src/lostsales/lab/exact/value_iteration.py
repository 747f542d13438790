"""Backward induction and value iteration for any backup."""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, log
from typing import Annotated

from pydantic import Field

from lostsales.data.progress import Progress
from lostsales.saved_fields import Share
from lostsales.types import Array, Floats

PRECISION = 1e-9  # of a stationary value, relative to the spread of the first iterate

Values = tuple[Floats, ...]  # one array a layer of states
Actions = tuple[Array, ...]
Backup = Callable[[Values], tuple[Values, Actions]]


@dataclass(frozen=True)
class Criterion:
    """The objective: the expected discounted sum of profits, infinite or over a horizon.

    A discount of 1 without a horizon means the average profit a period.
    """

    discount: Share
    horizon: Annotated[int, Field(ge=1)] | None = None

    @property
    def is_average(self) -> bool:
        """True where the objective is the average profit a period."""
        return self.horizon is None and self.discount == 1

    @property
    def worth(self) -> float:
        """Value of a profit of 1 in every period."""
        if self.is_average:
            return 1.0
        if self.horizon is None:
            return 1 / (1 - self.discount)
        return sum(self.discount**period for period in range(self.horizon))


def backward(
    backup: Backup, zero: Values, horizon: int, progress: Progress | None = None
) -> tuple[list[Values], list[Actions]]:
    """Backward induction: V_t is the backup of V_{t+1}, and V_horizon is zero."""
    value, values, actions = zero, [], []
    for done in range(horizon):
        value, action = backup(value)
        values.append(value)
        actions.append(action)
        if progress:
            progress(done + 1, horizon)
    return values[::-1], actions[::-1]


def stationary(
    backup: Backup, zero: Values, discount: float, progress: Progress | None = None
) -> tuple[Values, Actions]:
    """The fixed point V of a backup B with B(V + c) = B(V) + discount c, and its actions.

    Value iteration with the bounds of MacQueen (1966): with c the middle of V_{n+1} - V_n, the fixed point lies within
    lift times half the spread of V_{n+1} - V_n around V_{n+1} + lift c, lift = discount / (1 - discount).
    """
    lift = discount / (1 - discount)
    value, at_first, sweep = zero, 0.0, 0
    while True:
        improved, action = backup(value)
        change = [after - before for after, before in zip(improved, value, strict=True)]
        low, high = min(float(each.min()) for each in change), max(float(each.max()) for each in change)
        value = tuple(each + lift * (low + high) / 2 for each in improved)
        spread = lift * (high - low)
        at_first = at_first or spread
        sweep += 1
        if spread <= PRECISION * at_first:
            return value, action
        if progress:
            decades_a_sweep = max(log(at_first / spread) / sweep, 1e-3)
            progress(sweep, sweep + ceil(log(spread / (PRECISION * at_first)) / decades_a_sweep))


def solve_backups(
    backup: Backup, zero: Values, criterion: Criterion, progress: Progress | None = None
) -> tuple[list[Values], list[Actions]]:
    """Values and actions of every period of the horizon, or one stationary pair."""
    if criterion.horizon is not None:
        return backward(backup, zero, criterion.horizon, progress)
    value, action = stationary(backup, zero, criterion.discount, progress)
    return [value], [action]
