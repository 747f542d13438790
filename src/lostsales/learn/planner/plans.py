"""The plans of every group of series and every law: one dynamic program each."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from lostsales.data.parallel import in_parallel
from lostsales.data.progress import Progress
from lostsales.data.progress import stages as stages_of
from lostsales.demand.censoring.evidence import Evidence
from lostsales.demand.law.demand_law import DemandLaw
from lostsales.demand.law.local_residuals import LocalResiduals
from lostsales.learn.planner import every_state_loops as loops
from lostsales.learn.planner.bellman_loops import Transitions
from lostsales.learn.planner.following import ByPipeline, ByStock, Following
from lostsales.learn.planner.lag_belief import plan_memory
from lostsales.learn.planner.latent_table import GroupShape, latent_atoms
from lostsales.learn.planner.market_states import MarketStates
from lostsales.learn.planner.physics import Physics
from lostsales.learn.planner.pipeline_grid import PipelineGrid
from lostsales.learn.planner.policy_iteration import LEAST_NODES, TOLERANCE, between_nodes, iterate, solve
from lostsales.learn.planner.state_grid import Dynamics, StateGrid
from lostsales.types import Array, Bools, Floats, Ints

LEAST_STOCKS = 13  # and so many orders on the way, below which there is no coarser grid to begin with


@dataclass(frozen=True, eq=False)
class Plans:
    """The plans of every group of series and every law."""

    evidence: Evidence
    laws: tuple[DemandLaw, ...]
    shapes: tuple[GroupShape, ...]  # by group
    states: MarketStates
    scales: Floats  # (groups,)
    grids: tuple[StateGrid, ...]  # by group
    allowed: tuple[Bools, ...]  # by group, (actions,)
    physics: tuple[Physics, ...]  # by group
    discount: float
    iterations: int | None
    every_state: tuple[PipelineGrid, ...] | None  # by group, where plans are of every stock and pipeline
    local: LocalResiduals | None = None  # residuals of all laws, where they change with market, price and last demand

    @property
    def steps(self) -> Floats:
        """Steps of stock and last demand, (groups, 2)."""
        stocks = [grid.stocks[1] for grid in self.every_state or self.grids]
        return np.column_stack([stocks, [grid.lags[1] for grid in self.grids]])

    def solved(self, progress: Progress | None) -> tuple[Floats, Following]:
        """Latents of all plans, (groups, laws, ...), and what follows under them."""
        groups, laws = range(len(self.grids)), range(len(self.laws))
        latents = np.empty((len(groups), len(laws)), dtype=object)
        plans = np.empty_like(latents)

        def plan(job: tuple[int, int]) -> None:
            group, law = job
            latents[job], plans[job] = self._solved_one(group, law, start=plans[group, 0] if law else None)

        # First the fitted law, from whose plan those of the draws start.
        stages = [[(group, 0) for group in groups], [(group, law) for law in laws[1:] for group in groups]]
        for stage, part in zip(stages, stages_of(progress, [len(stage) for stage in stages]), strict=True):
            in_parallel(plan, stage, part)
        values = _stacked(np.vectorize(self.states.next_values, otypes=[object])(plans))
        return _stacked(latents), ByPipeline(values, self.every_state) if self.every_state else ByStock(values)

    def _solved_one(self, group: int, law: int, start: Any) -> tuple[Floats, Any]:
        """Latents and values of one group and law."""
        grid, scale, own = self.grids[group], float(self.scales[group]), self.laws[law]
        shape = self.shapes[group]
        latents = latent_atoms(self.evidence, own, self.states, grid.prices, grid.lags / scale, shape, self.local)
        demand = own.demand_of_atoms(latents, scale)
        memory = plan_memory(self.evidence, own)
        memory = memory._replace(offset=memory.offset * scale)
        dynamics = Dynamics(self.physics[group], self.discount, *grid.steps, memory)
        if self.every_state is None:
            return latents, solve(demand, self.states, grid, dynamics, self.allowed[group], self.iterations, start)
        problem = PipelineProblem(demand, self.states, grid, dynamics, self.allowed[group])
        return latents, plan_every_state(problem, self.every_state[group], self.iterations, start)


def _stacked(tables: Array) -> Floats:
    """(groups, laws, ...), rounded to single precision, in which it is saved."""
    whole = np.stack(list(tables.reshape(-1))).astype(np.float32).astype(np.float64)
    return np.ascontiguousarray(whole.reshape(*tables.shape, *whole.shape[1:]))


class PipelineProblem(NamedTuple):
    """Group and law of a plan on stock and orders on the way."""

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
