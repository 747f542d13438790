"""The oracle: dynamic programming where demand is always seen."""

import numpy as np

from lostsales.data.reading.gate import Progress
from lostsales.simulation.exact.iterate import Actions, Criterion, Values, solve_backups
from lostsales.simulation.exact.world import World
from lostsales.types import Floats


def oracle_backup(world: World, value_tp1: Values, discount: float) -> tuple[Values, Actions]:
    """V(s) = max_a E[R_t + discount V(S_{t+1}) | S_t = s, A_t = a] (lines 199-205), one (f, d, y) a depth."""
    values, actions = [], []
    for depth in range(len(value_tp1)):
        plan_value = oracle_plan_value(world, world.pmf[:, :, world.lags], value_tp1, depth, discount)
        value, action = world.best(plan_value, world.plan_of, world.allowed)
        values.append(np.broadcast_to(value, value_tp1[depth].shape))
        actions.append(np.broadcast_to(action, value_tp1[depth].shape))
    return tuple(values), tuple(actions)


def oracle_plan_value(world: World, pmf: Floats, value_tp1: Values, depth: int, discount: float) -> Floats:
    """E[R_t + discount V(S_{t+1})] of every plan and price but for the cost of the order, (f, d, p, j).

    Depth is part of the state only where runs are truncated: after `longest_run` censored periods demand above what is
    available does not come, and what is sold is then the demand.
    """
    if depth == world.scenario.longest_run:
        gain = world.truncated_profit + discount * after_truncation(world, value_tp1[0])
    else:
        known = after_known(world, value_tp1[0])  # (f, p, D, j)
        deeper = known if len(value_tp1) == 1 else after_known(world, value_tp1[depth + 1])
        gain = world.profit + discount * np.where(world.censors, deeper, known)
    return np.swapaxes(pmf @ gain, 1, 2)


def after_known(world: World, value_tp1: Floats) -> Floats:
    """E[V(X_{t+1}, D, Y_{t+1}) | X_t, P_t] for every plan and demand, (f, p, D, j)."""
    demands = np.arange(world.shape[2])[:, None]
    return world.expected(value_tp1)[:, :, demands, world.next_stock.T]


def after_truncation(world: World, value_tp1: Floats) -> Floats:
    """The same where demand above what is available does not come, (f, p, D, j)."""
    demand = np.minimum(np.arange(world.shape[2])[:, None], world.available)
    return world.expected(value_tp1)[:, :, demand, world.next_stock[np.arange(len(world.available)), demand]]


def solve_oracle(
    world: World, criterion: Criterion, progress: Progress | None = None
) -> tuple[list[Values], list[Actions]]:
    """Values and actions of every period of the horizon, or of one that stands for all."""
    states = (world.shape[0], world.shape[2], world.shape[1])
    zero = tuple(np.zeros(states) for _ in range(1 + (world.scenario.longest_run or 0)))

    def backup(value_tp1: Values) -> tuple[Values, Actions]:
        return oracle_backup(world, value_tp1, criterion.discount)

    return solve_backups(backup, zero, criterion, progress)
