"""Backward induction and (modified) policy iteration for any dynamic program."""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, log
from typing import Annotated, NamedTuple

from pydantic import Field

from lostsales.data.progress import Progress
from lostsales.saved_fields import Share
from lostsales.types import Array, Floats

PRECISION = 1e-9  # of a stationary value, relative to the spread of the first iterate
SWEEPS = 30  # of evaluation between two improvements, where a program has such sweeps
DAMPING = 0.9  # of sweeps for the average: without it values of a cycle would not settle

Values = tuple[Floats, ...]  # one array a layer of states
Actions = tuple[Array, ...]
Backup = Callable[[Values], tuple[Values, Actions]]
Evaluate = Callable[[Values, Actions], Values]


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


class Program(NamedTuple):
    """A dynamic program: the backup of a value and, for modified policy iteration, sweeps of given actions."""

    zero: Values
    backup: Backup
    evaluate: Evaluate | None = None
    precision: float = PRECISION
    keeps_values: bool = False  # of every period of a horizon, not of the first two alone


class ProgramSolution(NamedTuple):
    """Optimal value and actions of a dynamic program."""

    value: Values  # of the first period; relative to one state where the objective is the average
    following: list[Values]  # value after each period, or after the first one alone
    actions: list[Actions]  # of each period, or one stationary set
    average: float  # profit a period, 0 unless that is the objective


def solve_program(program: Program, criterion: Criterion, progress: Progress | None = None) -> ProgramSolution:
    """Actions of every period of the horizon, or stationary ones."""
    if criterion.horizon is not None:
        return _backward(program, criterion.horizon, progress)
    return _stationary(program, criterion, progress)


def _backward(program: Program, horizon: int, progress: Progress | None) -> ProgramSolution:
    """Backward induction: V_t is the backup of V_{t+1}, and V_horizon is zero."""
    value, actions = program.zero, []
    following: list[Values] = []
    for done in range(horizon):
        following = [*following, value] if program.keeps_values else [value]
        value, action = program.backup(value)
        actions.append(action)
        if progress:
            progress(done + 1, horizon)
    return ProgramSolution(value, following[::-1], actions[::-1], 0.0)


def _stationary(program: Program, criterion: Criterion, progress: Progress | None) -> ProgramSolution:
    """The fixed point V of a backup B with B(V + c) = B(V) + discount c, and its actions.

    Bounds of MacQueen (1966): with c the middle of V_{n+1} - V_n, the fixed point lies within lift times half the
    spread of V_{n+1} - V_n around V_{n+1} + lift c, lift = discount / (1 - discount). The optimal average lies between
    the least and the largest change of a backup (Odoni, 1969).
    """
    average = criterion.is_average
    lift = 1.0 if average else criterion.discount / (1 - criterion.discount)
    value, at_first, done = program.zero, 0.0, 0
    while True:
        improved, action = program.backup(value)
        low, high = _change(improved, value)
        value = improved if average else tuple(each + lift * (low + high) / 2 for each in improved)
        spread = lift * (high - low)
        at_first, done = at_first or spread, done + 1
        if spread <= program.precision * max(at_first, 1e-9):
            return ProgramSolution(value, [value], [action], (low + high) / 2 if average else 0.0)
        if progress:
            decades_a_sweep = max(log(at_first / spread) / done, 1e-3)
            progress(done, done + ceil(log(spread / (program.precision * at_first)) / decades_a_sweep))
        if program.evaluate is not None:
            for _ in range(SWEEPS):
                new = program.evaluate(value, action)
                value = _damped(value, new) if average else new
        if average:
            value = _relative(value)


def average_of(evaluate: Evaluate, zero: Values, action: Actions, precision: float) -> float:
    """Average profit a period of given actions, from any state."""
    value, at_first = zero, 0.0
    while True:
        new = evaluate(value, action)
        low, high = _change(new, value)
        at_first = at_first or high - low
        if high - low <= precision * max(at_first, 1e-9):
            return (low + high) / 2
        value = _relative(_damped(value, new))


def _change(after: Values, before: Values) -> tuple[float, float]:
    """Least and largest change of a value."""
    changes = [new - old for new, old in zip(after, before, strict=True)]
    return min(float(each.min()) for each in changes), max(float(each.max()) for each in changes)


def _damped(value: Values, new: Values) -> Values:
    return tuple(old + DAMPING * (each - old) for old, each in zip(value, new, strict=True))


def _relative(value: Values) -> Values:
    """Differences from the value of the first state."""
    first = value[0].flat[0]
    return tuple(each - first for each in value)
