"""A plan on every state of stock and orders on the way, by modified policy iteration."""

from typing import NamedTuple

import numpy as np

from lostsales.learn.planner import every_state_loops as loops
from lostsales.learn.planner.bellman_loops import Transitions
from lostsales.learn.planner.market_states import MarketStates
from lostsales.learn.planner.pipeline_grid import PipelineGrid
from lostsales.learn.planner.policy_iteration import LEAST_NODES, TOLERANCE, between_nodes, iterate
from lostsales.learn.planner.state_grid import Dynamics, StateGrid
from lostsales.types import Bools, Floats, Ints

LEAST_STOCKS = 13  # and so many orders on the way, below which there is no coarser grid to begin with


class PipelineProblem(NamedTuple):
    """Group and law of a plan."""

    demand: Floats  # (belief shapes, z nodes, prices, lags, atoms)
    states: MarketStates
    grid: StateGrid
    dynamics: Dynamics
    allowed: Bools  # (actions,)


def plan_every_state(
    problem: PipelineProblem, grid: PipelineGrid, iterations: int | None = None, start: Floats | None = None
) -> Floats:
    """The value of every state, (cells, depths, lags, stocks, pipelines).

    Without a start it begins with the values of a grid of twice the steps.
    """
    states, physics, own = problem.states, problem.dynamics.physics, problem.grid
    dynamics = problem.dynamics._replace(stock_step=float(grid.stocks[1]), lag_step=float(own.lags[1]))
    transitions = Transitions(problem.demand, states.cells[:, 0], *states.cell_w(own.prices))
    n_allowed = grid.orders_allowed(own.orders, physics.flow)
    choices = loops.Choices(own.prices, own.orders, problem.allowed, n_allowed)
    values = _coarse_values(problem, grid) if start is None else start.copy()

    def sweep(values: Floats, best: Ints, greedy: bool, by_node: Floats, of_cells: Transitions) -> None:
        loops.sweep(values, best, greedy, by_node, of_cells, choices, grid, dynamics)

    money = max(
        float(own.prices.max()), physics.costs.lost + physics.costs.holding
    )  # of a unit of demand, price or none
    tolerance = TOLERANCE * (money * float(problem.demand.mean()) + 1e-9)
    iterate(sweep, values, states, transitions, tolerance, iterations)
    return values


def _coarse_values(problem: PipelineProblem, grid: PipelineGrid) -> Floats:
    """The values of a grid of twice the steps, interpolated; 0 where the grid is coarse itself."""
    states, own = problem.states, problem.grid
    shape = len(states.cells), problem.dynamics.physics.depth_cap + 1, len(own.lags)
    if min(len(grid.stocks), len(grid.nodes)) < LEAST_STOCKS:
        return np.zeros((*shape, len(grid.stocks), grid.pipelines))
    every = 2 if len(own.lags) >= LEAST_NODES else 1  # lag
    fewer = problem._replace(
        grid=own._replace(lags=own.lags[::every]), demand=np.ascontiguousarray(problem.demand[..., ::every, :])
    )
    coarse = grid._replace(stocks=grid.stocks[::2], nodes=grid.nodes[::2])
    values = plan_every_state(fewer, coarse)
    values = between_nodes(values, len(own.lags), axis=2, every=every)
    values = between_nodes(values, len(grid.stocks), axis=3)
    values = values.reshape(*shape, len(grid.stocks), *(len(coarse.nodes),) * grid.columns)
    for column in range(grid.columns):
        values = between_nodes(values, len(grid.nodes), axis=4 + column)
    return values.reshape(*shape, len(grid.stocks), grid.pipelines)
