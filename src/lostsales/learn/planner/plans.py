"""The plans of every law: one dynamic program each."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lostsales.data.parallel import in_parallel
from lostsales.data.progress import Progress
from lostsales.data.progress import stages as stages_of
from lostsales.demand.censoring.evidence import Evidence
from lostsales.demand.law.demand_law import DemandLaw
from lostsales.demand.law.local_residuals import LocalResiduals
from lostsales.learn.planner import every_state_loops as loops
from lostsales.learn.planner.bellman_loops import Transitions
from lostsales.learn.planner.following import ByPaths, ByPipeline, ByStock, Following
from lostsales.learn.planner.lag_belief import plan_memory
from lostsales.learn.planner.latent_table import latent_atoms
from lostsales.learn.planner.market_states import MarketStates
from lostsales.learn.planner.paths.search import Search
from lostsales.learn.planner.physics import Physics
from lostsales.learn.planner.pipeline_grid import PipelineGrid
from lostsales.learn.planner.policy_iteration import LEAST_NODES, TOLERANCE, between_nodes, iterate, solve
from lostsales.learn.planner.state_grid import Dynamics, StateGrid
from lostsales.types import Bools, Floats, Ints

LEAST_STOCKS = 13  # and so many orders on the way, below which there is no coarser grid to begin with


@dataclass(frozen=True, eq=False)
class Plans:
    """The plans of every law."""

    evidence: Evidence
    laws: tuple[DemandLaw, ...]
    states: MarketStates
    grid: StateGrid
    allowed: Bools  # (actions,)
    physics: Physics
    discount: float
    iterations: int | None
    every_state: PipelineGrid | None  # where plans are of every stock and pipeline
    on_paths: Search | None  # where actions are valued on sampled futures, and nothing is planned ahead
    local: LocalResiduals | None = None  # residuals of all laws, where they change with market, price and last demand

    @property
    def steps(self) -> Floats:
        """Steps of stock and last demand, (2,)."""
        return np.array([(self.every_state or self.grid).stocks[1], self.grid.lags[1]])

    def solved(self, progress: Progress | None) -> tuple[Floats, Following]:
        """Latents of all plans, (laws, ...), and what follows under them."""
        found: dict[int, tuple[Floats, Floats]] = {}

        def plan(law: int) -> None:
            found[law] = self._solved_one(self.laws[law], start=found[0][1] if law else None)

        # First the fitted law, from whose plan those of the draws start.
        parts = [[0], list(range(1, len(self.laws)))]
        for stage, part in zip(parts, stages_of(progress, [len(each) for each in parts]), strict=True):
            in_parallel(plan, stage, part)
        latents, plans = zip(*(found[law] for law in range(len(self.laws))), strict=True)
        if self.on_paths is not None:
            return _saved(np.stack(latents)), ByPaths.of(
                self.states, self.grid.prices, self.on_paths, plan_memory(self.evidence, self.laws[0])
            )
        values = _saved(np.stack([self.states.next_values(each) for each in plans]))
        return _saved(np.stack(latents)), ByPipeline(values, self.every_state) if self.every_state else ByStock(values)

    def _solved_one(self, law: DemandLaw, start: Floats | None) -> tuple[Floats, Floats]:
        """Latents and values of one law."""
        grid = self.grid
        latents = latent_atoms(self.evidence, law, self.states, grid.prices, grid.lags, self.local)
        if self.on_paths is not None:
            return latents, latents[:0]
        demand = law.demand_of_atoms(latents, 1.0)
        dynamics = Dynamics(self.physics, self.discount, *grid.steps, plan_memory(self.evidence, law))
        if self.every_state is None:
            return latents, solve(demand, self.states, grid, dynamics, self.allowed, self.iterations, start)
        problem = PipelineProblem(demand, self.states, grid, dynamics, self.allowed)
        return latents, plan_every_state(problem, self.every_state, self.iterations, start)


def _saved(values: Floats) -> Floats:
    """Values rounded to single precision, in which they are saved."""
    return np.ascontiguousarray(values.astype(np.float32).astype(np.float64))


class PipelineProblem(NamedTuple):
    """A law, and what a plan on stock and orders on the way is made of."""

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
