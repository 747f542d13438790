"""Modified policy iteration on the grid of states."""

from collections.abc import Callable

import numpy as np

from lostsales.learn.planner import bellman_loops as bellman
from lostsales.learn.planner.market_states import MarketStates
from lostsales.learn.planner.state_grid import Dynamics, StateGrid
from lostsales.types import Bools, Floats, Ints

MOST_SWEEPS = 40  # bounds the time of a plan that does not converge
EVALUATIONS = 12  # periods of evaluation after each greedy sweep
LEAST_NODES = 24  # of stock or lag, below which there is no coarser grid to begin with
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

    Without a start it begins with the values of a grid of twice the steps, which cost a quarter. `demand` is (belief
    shapes, z nodes, prices, lags, atoms), `allowed` (actions,) of the grid.
    """
    values = _coarse_values(demand, states, grid, dynamics, allowed) if start is None else start.copy()
    transitions = bellman.Transitions(demand, states.cells[:, 0], *states.cell_w(grid.prices))

    def sweep(values: Floats, best: Ints, greedy: bool, by_node: Floats, own: bellman.Transitions) -> None:
        bellman.sweep(values, best, greedy, by_node, own, allowed, grid, dynamics)

    tolerance = TOLERANCE * (float(np.abs(grid.prices).max()) * float(np.median(demand)) + 1e-9)
    iterate(sweep, values, states, transitions, tolerance, iterations)
    return values


def iterate(
    sweep: Callable[[Floats, Ints, bool, Floats, bellman.Transitions], None],
    values: Floats,
    states: MarketStates,
    transitions: bellman.Transitions,
    tolerance: float,
    iterations: int | None = None,
) -> None:
    """Improve values in place until a greedy sweep changes all of them alike.

    A sweep takes values of some cells, the best action of each state, whether it is greedy or evaluates these actions,
    E[V(next state) | w] and the transitions of the cells. The states of a calendar are swept against time, each with
    the new values of the one that follows, so that one sweep looks a whole cycle ahead. Values of one of its states
    must change alike: no action leads to another one, so that what they differ by decides nothing, and in a cycle it
    would settle only by the discount.
    """
    best = np.zeros(values.shape, dtype=np.int64)
    by_node = np.empty((len(states.transition), *values.shape[1:]))
    parts = states.against_time()

    def sweep_all(greedy: bool) -> None:
        for cells, coming, nodes in parts:
            by_node[nodes] = np.tensordot(states.transition[nodes, coming], values[coming], axes=(1, 0))
            sweep(values[cells], best[cells], greedy, by_node, transitions.of_cells(cells))

    for _ in range(MOST_SWEEPS if iterations is None else iterations):
        before = values.copy()
        sweep_all(greedy=True)
        change = (values - before).reshape(len(values), -1)
        if max(np.ptp(change[cells]) for cells, _, _ in parts) < tolerance:
            break
        for _ in range(-(-EVALUATIONS // len(parts))):
            sweep_all(greedy=False)


def _coarse_values(demand: Floats, states: MarketStates, grid: StateGrid, dynamics: Dynamics, allowed: Bools) -> Floats:
    """The values of a grid of twice the steps, interpolated; 0 where the grid is coarse itself."""
    if len(grid.stocks) < LEAST_NODES:
        return np.zeros((len(states.cells), dynamics.physics.depth_cap + 1, len(grid.lags), len(grid.stocks)))
    every = 2 if len(grid.lags) >= LEAST_NODES else 1  # lag
    stocks, lags = (np.ascontiguousarray(each) for each in (grid.stocks[::2], grid.lags[::every]))
    coarse = grid._replace(stocks=stocks, lags=lags, parts=2 * grid.parts)
    twice = dynamics._replace(stock_step=2 * dynamics.stock_step, lag_step=every * dynamics.lag_step)
    values = solve(np.ascontiguousarray(demand[..., ::every, :]), states, coarse, twice, allowed)
    return between_nodes(between_nodes(values, len(grid.lags), axis=2, every=every), len(grid.stocks), axis=3)


def between_nodes(values: Floats, count: int, axis: int, every: int = 2) -> Floats:
    """Values on every second of `count` nodes of an axis, on all of them: linear in between, constant beyond.

    >>> between_nodes(np.array([0.0, 2.0, 8.0]), 6, axis=0)
    array([0., 1., 2., 5., 8., 8.])
    """
    if every == 1:
        return values
    position = np.minimum(np.arange(count) / every, values.shape[axis] - 1)
    low = position.astype(np.int64)
    weight = (position - low).reshape([-1 if each == axis else 1 for each in range(values.ndim)])
    above = np.take(values, np.minimum(low + 1, values.shape[axis] - 1), axis)
    return np.asarray(np.take(values, low, axis) * (1 - weight) + above * weight)
