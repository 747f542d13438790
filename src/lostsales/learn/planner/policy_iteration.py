"""Modified policy iteration on the grid of states."""

import numpy as np

from lostsales.learn.planner import bellman_loops as bellman
from lostsales.learn.planner.market_states import MarketStates
from lostsales.learn.planner.state_grid import Dynamics, StateGrid
from lostsales.types import Bools, Floats

MOST_SWEEPS = 40
EVALUATIONS = 12  # evaluation sweeps after each greedy one
TOLERANCE = 2e-3  # of a period's profit, on the span of the change


def solve(
    demand: Floats,
    states: MarketStates,
    grid: StateGrid,
    dynamics: Dynamics,
    allowed: Bools,
    iterations: int | None = None,
    start: Floats | None = None,
) -> Floats:
    """The value of every state, (cells, depths, lags, stocks), by modified policy iteration from a start.

    `demand` is (belief shapes, z nodes, prices, lags, atoms), `allowed` (actions,) of the grid.
    """
    shape = len(states.cells), dynamics.physics.depth_cap + 1, len(grid.lags), len(grid.stocks)
    values = np.zeros(shape) if start is None else start.copy()
    best = np.zeros(shape, dtype=np.int64)
    transitions = bellman.Transitions(demand, states.cells[:, 0], *states.cell_w(grid.prices))
    tolerance = TOLERANCE * (float(np.abs(grid.prices).max()) * float(np.median(demand)) + 1e-9)
    for _ in range(MOST_SWEEPS if iterations is None else iterations):
        before = values.copy()
        bellman.sweep(values, best, True, states.next_values(values), transitions, allowed, grid, dynamics)
        change = values - before
        if change.max() - change.min() < tolerance:
            break
        for _ in range(EVALUATIONS):
            bellman.sweep(values, best, False, states.next_values(values), transitions, allowed, grid, dynamics)
    return values
