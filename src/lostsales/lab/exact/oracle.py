"""The oracle: dynamic programming with observed demand."""

import numpy as np

from lostsales.data.economics import truncates
from lostsales.data.progress import Progress
from lostsales.lab.exact.finite_model import FiniteModel
from lostsales.lab.exact.value_iteration import Actions, Criterion, Program, ProgramSolution, Values, solve_program
from lostsales.types import Floats


def oracle_backup(model: FiniteModel, value_tp1: Values, discount: float) -> tuple[Values, Actions]:
    """V(s) = max_a E[R_t + discount V(S_{t+1}) | S_t = s, A_t = a] (Equation 4), one (f, d, y) a depth."""
    values, actions = [], []
    for depth in range(len(value_tp1)):
        pair_value = oracle_pair_value(model, model.pmf[:, :, model.lags], value_tp1, depth, discount)
        value, action = model.best(pair_value, model.pair_of, model.allowed)
        values.append(np.broadcast_to(value, value_tp1[depth].shape))
        actions.append(np.broadcast_to(action, value_tp1[depth].shape))
    return tuple(values), tuple(actions)


def oracle_pair_value(model: FiniteModel, pmf: Floats, value_tp1: Values, depth: int, discount: float) -> Floats:
    """E[R_t + discount V(S_{t+1})] of every supply pair and price without the cost of the order, (f, d, p, j).

    Depth is part of the state only where runs are truncated: after `longest_run` censored periods demand is cut to
    what is available.
    """
    if truncates(depth, model.scenario.flow):
        gain = model.truncated_profit + discount * after_truncation(model, value_tp1[0])
    else:
        shallow = after_observed(model, value_tp1[0])  # (f, p, D, j)
        deeper = shallow if len(value_tp1) == 1 else after_observed(model, value_tp1[depth + 1])
        gain = model.profit + discount * np.where(model.censors, deeper, shallow)
    return np.swapaxes(pmf @ gain, 1, 2)


def after_observed(model: FiniteModel, value_tp1: Floats) -> Floats:
    """E[V(X_{t+1}, D, Y_{t+1}) | X_t, P_t] for every supply pair and demand, (f, p, D, j)."""
    demands = np.arange(model.shape[2])[:, None]
    return model.expected(value_tp1)[:, :, demands, model.next_stock.T]


def after_truncation(model: FiniteModel, value_tp1: Floats) -> Floats:
    """Expected next value if demand is cut to what is available, (f, p, D, j)."""
    demand = np.minimum(np.arange(model.shape[2])[:, None], model.available)
    return model.expected(value_tp1)[:, :, demand, model.next_stock[np.arange(len(model.available)), demand]]


def solve_oracle(model: FiniteModel, criterion: Criterion, progress: Progress | None = None) -> ProgramSolution:
    """Value and actions, each (f, d, y) by depth."""
    states = (model.shape[0], model.shape[2], model.shape[1])
    zero = tuple(np.zeros(states) for _ in range(1 + (model.scenario.longest_run or 0)))
    program = Program(zero, lambda value_tp1: oracle_backup(model, value_tp1, criterion.discount))
    return solve_program(program, criterion, progress)
