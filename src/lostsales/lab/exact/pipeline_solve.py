"""Modified policy iteration over stock and pipeline: average and discounted profit, and finite horizons."""

from dataclasses import dataclass
from math import ceil, log

import numpy as np

from lostsales.data.economics import truncates
from lostsales.data.progress import Progress
from lostsales.lab.exact.chains import refuse_large
from lostsales.lab.exact.pipeline_loops import Tables, evaluate, improve
from lostsales.lab.exact.pipeline_model import PipelineModel
from lostsales.lab.exact.value_iteration import Criterion
from lostsales.types import Array, Floats

PRECISION = 1e-7  # of a profit a period, relative to the largest change of the first sweep
SWEEPS = 30  # of evaluation between two improvements
DAMPING = 0.9  # of sweeps for the average: without it values of a cycle would not settle


@dataclass(frozen=True, eq=False)
class PipelineSolution:
    """Optimal actions and the value of the opening."""

    actions: Array  # (periods, depths, f, d, y, s) index of the action
    value: float


class _Sweeps:
    """Sweeps over all depths; depth is part of the state only where runs are truncated."""

    def __init__(self, model: PipelineModel, discount: float) -> None:
        depths = 1 + (model.scenario.longest_run or 0)
        self.model, self.discount = model, discount
        self.tables = [model.tables(truncates=bool(truncates(depth, model.flow))) for depth in range(depths)]
        self.shape = depths, *model.shape

    def improved(self, value: Floats) -> tuple[Floats, Array]:
        """The values and actions that are best one period ahead of `value`, (depths, f, d, y, s)."""
        better, action = np.empty(self.shape), np.empty(self.shape, dtype=np.uint16)
        for depth, (tables, shallow, deeper) in enumerate(self._each(value)):
            improve(tables, shallow, deeper, self.discount, better[depth], action[depth])
        return better, action

    def evaluated(self, value: Floats, action: Array) -> Floats:
        """The values of given actions one period ahead of `value`."""
        new = np.empty(self.shape)
        for depth, (tables, shallow, deeper) in enumerate(self._each(value)):
            evaluate(tables, shallow, deeper, self.discount, action[depth], new[depth])
        return new

    def _each(self, value: Floats) -> list[tuple[Tables, Floats, Floats]]:
        moved = [self.model.moved(each) for each in value]
        last = len(moved) - 1
        return [(tables, moved[0], moved[min(depth + 1, last)]) for depth, tables in enumerate(self.tables)]


def solve_pipeline(
    model: PipelineModel, criterion: Criterion, first_row: bool = False, progress: Progress | None = None
) -> PipelineSolution:
    """Optimal actions of a scenario whose orders take time."""
    sweeps = _Sweeps(model, criterion.discount)
    if criterion.horizon is not None:
        refuse_large(model.scenario, criterion.horizon * float(np.prod(sweeps.shape)))
        actions, after = _backward(sweeps, criterion.horizon, progress)
    else:
        gain, after, action = stationary(sweeps, criterion.is_average, progress)
        actions = [action]
        if criterion.is_average:
            return PipelineSolution(np.array(actions), gain)
    return _opened(sweeps, actions, after, first_row)


def _backward(sweeps: _Sweeps, horizon: int, progress: Progress | None) -> tuple[list[Array], Floats]:
    """The actions of every period, and the value after the first one."""
    value, after, actions = np.zeros(sweeps.shape), np.zeros(sweeps.shape), []
    for done in range(horizon):
        after = value
        value, action = sweeps.improved(value)
        actions.append(action)
        if progress:
            progress(done + 1, horizon)
    return actions[::-1], after


def stationary(sweeps: _Sweeps, average: bool, progress: Progress | None = None) -> tuple[float, Floats, Array]:
    """The average profit (0 unless asked for), the value of every state and the optimal actions.

    The optimal average lies between the least and the largest change of a sweep of improvement (Odoni, 1969); of a
    discounted value, MacQueen's bounds say how far it is from the fixed point.
    """
    value, at_first, done = np.zeros(sweeps.shape), 0.0, 0
    lift = 1.0 if average else sweeps.discount / (1 - sweeps.discount)
    while True:
        better, action = sweeps.improved(value)
        low, high = float((better - value).min()), float((better - value).max())
        spread = lift * (high - low)
        at_first, done = at_first or spread, done + 1
        if spread <= PRECISION * max(at_first, 1e-9):
            return (low + high) / 2 if average else 0.0, better if average else better + lift * (low + high) / 2, action
        if progress:
            decades = max(log(at_first / spread) / done, 1e-3)
            progress(done, done + ceil(log(spread / (PRECISION * at_first)) / decades))
        value = better if average else better + lift * (low + high) / 2
        for _ in range(SWEEPS):
            new = sweeps.evaluated(value, action)
            value = value + DAMPING * (new - value) if average else new
        if average:
            value -= value.flat[0]


def average_profit(model: PipelineModel, action: Array) -> float:
    """The average profit a period of given actions (depths, f, d, y, s), from any state."""
    sweeps = _Sweeps(model, 1.0)
    value = np.zeros(sweeps.shape)
    at_first = 0.0
    while True:
        change = sweeps.evaluated(value, action) - value
        low, high = float(change.min()), float(change.max())
        at_first = at_first or high - low
        if high - low <= PRECISION * max(at_first, 1e-9):
            return (low + high) / 2
        value += DAMPING * change
        value -= value.flat[0]


def _opened(sweeps: _Sweeps, actions: list[Array], after: Floats, first_row: bool) -> PipelineSolution:
    """The value of the opening, whose first period may be off the law of demand, and the actions with it."""
    model, scenario = sweeps.model, sweeps.model.scenario
    opening = sweeps.model.opening
    if scenario.start.lag_term is None:
        tables = sweeps.tables[0]
    else:
        tables = model.tables(truncates=bool(truncates(0, model.flow)), first=True)
    moved = [model.moved(each) for each in after]
    shallow, deeper = moved[0], moved[min(1, len(moved) - 1)]
    value, action = np.empty(model.shape), np.empty(model.shape, dtype=np.uint16)
    if first_row and scenario.start.lag_term is not None:
        improve(tables, shallow, deeper, sweeps.discount, value, action)
        first = actions[0].copy()
        first[0] = action
        actions = [first, *(actions[1:] if len(actions) > 1 else actions)]
    evaluate(tables, shallow, deeper, sweeps.discount, actions[0][0], value)
    return PipelineSolution(np.array(actions), float((opening * value[..., model.opening_pipeline]).sum()))
