"""The dynamic program over stock and pipeline: average and discounted profit, and finite horizons."""

from dataclasses import dataclass

import numpy as np

from lostsales.data.economics import truncates
from lostsales.data.progress import Progress
from lostsales.lab.exact.chains import refuse_large
from lostsales.lab.exact.pipeline_loops import Tables, evaluate, improve
from lostsales.lab.exact.pipeline_model import PipelineModel
from lostsales.lab.exact.value_iteration import Actions, Criterion, Program, Values, average_of, solve_program
from lostsales.types import Array, Floats

PRECISION = 1e-7  # of a profit a period: tables are large, and published costs have two decimals


@dataclass(frozen=True, eq=False)
class PipelineSolution:
    """Optimal actions and the value of the opening."""

    actions: Array  # (periods, depths, f, d, y, s) index of the action
    value: float


class _Sweeps:
    """Sweeps over all depths; depth is part of the state only where runs are truncated."""

    def __init__(self, model: PipelineModel, discount: float) -> None:
        self.model, self.discount = model, discount
        self.depths = 1 + (model.scenario.longest_run or 0)
        self.tables = [model.tables(truncates=bool(truncates(depth, model.flow))) for depth in range(self.depths)]

    @property
    def program(self) -> Program:
        """The program of modified policy iteration."""
        zero = tuple(np.zeros(self.model.shape) for _ in range(self.depths))
        return Program(zero, self.improved, self.evaluated, PRECISION)

    def improved(self, value: Values) -> tuple[Values, Actions]:
        """The values and actions that are best one period ahead of `value`, each (f, d, y, s) by depth."""
        shape = self.model.shape
        better, action = np.empty((self.depths, *shape)), np.empty((self.depths, *shape), dtype=np.uint16)
        for depth, (tables, shallow, deeper) in enumerate(self._each(value)):
            improve(tables, shallow, deeper, self.discount, better[depth], action[depth])
        return tuple(better), tuple(action)

    def evaluated(self, value: Values, action: Actions) -> Values:
        """The values of given actions one period ahead of `value`."""
        new = np.empty((self.depths, *self.model.shape))
        for depth, (tables, shallow, deeper) in enumerate(self._each(value)):
            evaluate(tables, shallow, deeper, self.discount, action[depth], new[depth])
        return tuple(new)

    def _each(self, value: Values) -> list[tuple[Tables, Floats, Floats]]:
        moved = [self.model.moved(each) for each in value]
        last = len(moved) - 1
        return [(tables, moved[0], moved[min(depth + 1, last)]) for depth, tables in enumerate(self.tables)]


def solve_pipeline(
    model: PipelineModel, criterion: Criterion, first_row: bool = False, progress: Progress | None = None
) -> PipelineSolution:
    """Optimal actions of a scenario whose orders take time."""
    sweeps = _Sweeps(model, criterion.discount)
    if criterion.horizon is not None:
        refuse_large(model.scenario, criterion.horizon * sweeps.depths * float(np.prod(model.shape)))
    found = solve_program(sweeps.program, criterion, progress)
    if criterion.is_average:
        return PipelineSolution(np.array(found.actions), found.average)
    return _opened(sweeps, found.actions, found.following[0], first_row)


def average_profit(model: PipelineModel, action: Array) -> float:
    """Average profit a period of given actions (depths, f, d, y, s), from any state."""
    sweeps = _Sweeps(model, 1.0)
    return average_of(sweeps.evaluated, sweeps.program.zero, tuple(action), PRECISION)


def _opened(sweeps: _Sweeps, actions: list[Actions], after: Values, first_row: bool) -> PipelineSolution:
    """The value of the opening, whose first period may be off the law of demand, and the actions with it."""
    model, tables = sweeps.model, sweeps.tables[0]
    is_off = model.scenario.start.lag_term is not None
    if is_off:
        tables = model.tables(truncates=bool(truncates(0, model.flow)), first=True)
    moved = [model.moved(each) for each in after]
    ahead = moved[0], moved[min(1, len(moved) - 1)], sweeps.discount
    value, action = np.empty(model.shape), np.empty(model.shape, dtype=np.uint16)
    if first_row and is_off:
        improve(tables, *ahead, value, action)
        actions = with_first(actions, action)
    evaluate(tables, *ahead, actions[0][0], value)
    return PipelineSolution(np.array(actions), float((model.opening * value[..., model.opening_pipeline]).sum()))


def with_first(actions: list[Actions], first: Array | None) -> list[Actions]:
    """Tables by period, with separate actions of the first period at depth 0 where it has them."""
    if first is None:
        return actions
    rest = actions[1:] if len(actions) > 1 else actions
    return [(first, *actions[0][1:]), *rest]
