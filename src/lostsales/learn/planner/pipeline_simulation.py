"""Simulation of a plan where orders take time, under the law that it is made for."""

from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

from lostsales.data.economics import advanced, next_depth, order_room, truncates
from lostsales.data.problem import Problem
from lostsales.demand.law.demand_law import DemandLaw
from lostsales.learn.planner.arrivals import Arrivals, cycle_of, has_pipeline
from lostsales.learn.planner.decision_loops import Rows
from lostsales.learn.planner.latent_table import LatentTable
from lostsales.learn.planner.market_states import MarketStates
from lostsales.learn.planner.pipeline_loops import pipeline_values
from lostsales.learn.planner.projection_loops import Ahead
from lostsales.learn.planner.state_grid import Dynamics, StateGrid
from lostsales.policy.period import transition
from lostsales.policy.view import Action
from lostsales.types import Bools, Floats, Ints

WARM_UP, RECORDED = 24, 16  # periods of a simulated series
EXPLORED = 0.3, 0.1  # shares of the orders that are drawn near the best, and of all


@dataclass(frozen=True)
class PipelineSetting:
    """Supply, and settings that are the same for all groups and laws."""

    arrivals: Arrivals
    may_order: Bools  # (phases,)
    kind: tuple[bool, bool, bool, bool, float]  # of the law, see `LatentTable`
    seed: int

    @classmethod
    def of(cls, problem: Problem, law: DemandLaw, seed: int) -> "PipelineSetting | None":
        """None where an order is there today or in the next period, whenever it is placed."""
        if not has_pipeline(problem):
            return None
        cycle = cycle_of(problem)
        family, rounded = law.family, law.integer and not law.family.is_count
        kind = family.multiplicative, family.log_link, law.integer, rounded, float(law.demand_max)
        may_order = np.ones(1, dtype=bool) if cycle is None else cycle
        return cls(Arrivals.of(problem), may_order, kind, seed)


class PipelineProblem(NamedTuple):
    """Group and law of a plan."""

    table: LatentTable
    demand: Floats  # (belief shapes, z nodes, prices, lags, atoms)
    noise: Floats  # (atoms,) of a usual demand
    states: MarketStates
    grid: StateGrid
    dynamics: Dynamics
    allowed: Bools  # (actions,)
    setting: PipelineSetting

    @property
    def arrivals(self) -> Arrivals:
        """Arrival of orders."""
        return self.setting.arrivals


@dataclass(frozen=True, eq=False)
class States:
    """Simulated states at the beginning of a period, every array (rows,) unless said."""

    w: Ints  # node of the forecast before
    cell: Ints
    depth: Ints
    lag: Floats
    stock: Floats
    pipeline: Floats  # (rows, columns)
    phase: Ints


@dataclass(frozen=True, eq=False)
class Simulation:
    """Many series side by side, under a problem of planning."""

    problem: PipelineProblem
    rng: np.random.Generator

    def opening(self, series: int) -> States:
        """Series with some stock and usual orders on the way."""
        problem, rng = self.problem, self.rng
        columns = problem.arrivals.chances.shape[0] - 1
        usual = float(problem.demand[0].mean())
        transition = problem.states.transition
        return States(
            w=np.zeros(series, dtype=np.int64),
            cell=rng.choice(transition.shape[1], series, p=transition.mean(axis=0)),
            depth=np.zeros(series, dtype=np.int64),
            lag=np.full(series, usual),
            stock=np.minimum(usual * rng.uniform(0, 3, series), problem.dynamics.physics.flow.capacity),
            pipeline=np.full((series, columns), usual),
            phase=rng.integers(0, problem.arrivals.phases, series),
        )

    def rows(self, states: States, price: Ints | None = None, order: Ints | None = None) -> Rows:
        """Simulated states with all actions, or each with one price and order (rungs)."""
        grid, market = self.problem.grid, self.problem.states
        node, weight = market.cell_w(grid.prices)
        w_position = (node + weight)[states.cell]
        count, rungs = len(states.cell), np.arange(len(grid.prices), dtype=np.float64)
        at = np.tile(rungs, (count, 1)) if price is None else price[:, None].astype(np.float64)
        own = at.astype(np.int64)
        return Rows(
            z_position=market.cells[states.cell, 0].astype(np.float64),
            shift=np.zeros(own.shape),
            w_position=np.take_along_axis(w_position, own, axis=1),
            depth=states.depth,
            lag=states.lag,
            stays=self._stays(states.lag),
            stock=states.stock,
            price=grid.prices[own],
            price_position=at,
            order=np.tile(grid.orders, (count, 1)) if order is None else grid.orders[order][:, None],
            pipeline=states.pipeline,
            phase=states.phase,
        )

    def values(self, ahead: Ahead, rows: Rows) -> Floats:
        """Value of every action of rows, (rows, actions)."""
        problem = self.problem
        q = np.empty((len(rows.stock), rows.price.shape[1] * rows.order.shape[1]))
        pipeline_values(q, rows, problem.table, ahead, problem.arrivals, problem.dynamics)
        return q

    def may(self, states: States) -> Bools:
        """Actions that each state may take, (rows, actions)."""
        problem, grid = self.problem, self.problem.grid
        room = order_room(states.stock, states.pipeline.sum(axis=1), problem.dynamics.physics.flow)
        most = np.where(problem.setting.may_order[states.phase], room, 0.0)
        fits = grid.orders <= np.maximum(most, grid.orders[0])[:, None] + 1e-9
        return np.asarray(np.tile(fits, (1, len(grid.prices))) & problem.allowed)

    def record(self, ahead: Ahead, series: int) -> tuple[States, int]:
        """States of the last periods under a plan, some orders drawn near the best; and the usual price."""
        states = self.opening(series)
        grid, rng = self.problem.grid, self.rng
        kept, prices = [], []
        n_orders = len(grid.orders)
        reach = max(1, n_orders // 5)
        for period in range(WARM_UP + RECORDED):
            if period >= WARM_UP:
                kept.append(states)
            q, may = self.values(ahead, self.rows(states)), self.may(states)
            best = np.where(may, q, -np.inf).argmax(axis=1)
            price, order = np.divmod(best, n_orders)
            prices.append(price)
            moved = np.clip(order + rng.integers(-reach, reach + 1, len(order)), 0, n_orders - 1)
            drawn = rng.random(len(order))
            moved = np.where(drawn < EXPLORED[1], rng.integers(0, n_orders, len(order)), moved)
            explores = (drawn < sum(EXPLORED)) & may[np.arange(len(order)), price * n_orders + moved]
            states, _ = self.next(states, price, grid.orders[np.where(explores, moved, order)])
        names = [each.name for each in fields(States)]
        recorded = States(*(np.concatenate([getattr(each, name) for each in kept]) for name in names))
        return recorded, int(np.rint(np.mean(prices[-RECORDED:])))

    def profit(self, ahead: Ahead, series: int) -> float:
        """Mean profit of a period under a plan."""
        states, total = self.opening(series), 0.0
        for period in range(WARM_UP + 2 * RECORDED):
            best = np.where(self.may(states), self.values(ahead, self.rows(states)), -np.inf).argmax(axis=1)
            price, order = np.divmod(best, len(self.problem.grid.orders))
            states, earned = self.next(states, price, self.problem.grid.orders[order])
            total += float(earned.mean()) if period >= WARM_UP else 0.0
        return total

    def next(self, states: States, price: Ints, order: Floats) -> tuple[States, Floats]:
        """Draw demand, arrivals and market of a period; the states that follow, and the profit of each."""
        problem, rng = self.problem, self.rng
        physics, market, arrivals = problem.dynamics.physics, problem.states, problem.arrivals
        count = len(states.cell)
        lag = np.minimum(states.lag / problem.grid.lags[1], len(problem.grid.lags) - 1)
        node = np.floor(lag + rng.random(count)).astype(np.int64)
        node = np.minimum(node, len(problem.grid.lags) - 1)
        shape = np.minimum(states.depth, len(problem.demand) - 1)
        atoms = problem.demand[shape, market.cells[states.cell, 0], price, node]
        demand = atoms[np.arange(count), rng.integers(0, atoms.shape[1], count)]
        units, flow = np.column_stack([states.pipeline, order]), physics.flow._replace(before=arrivals.before)
        came, pipeline = advanced(units, rng.random(units.shape) < arrivals.chances[:, 0])
        if arrivals.before:
            came, pipeline = order, states.pipeline
        action = Action(problem.grid.prices[price], order)
        closed = transition(states.stock, states.depth, action, demand, flow, physics.costs, arrivals.share * came)
        available = closed.sales + closed.leftover
        sold_out = closed.stockout if physics.strict else closed.leftover == 0
        hidden = sold_out & ~truncates(states.depth, flow)  # truncated demand is known
        above = (atoms > available[:, None]) | (~np.array(physics.strict) & (atoms >= available[:, None]))
        mean = (atoms * above).sum(axis=1) / np.maximum(above.sum(axis=1), 1)
        w = self._w(states.cell, price)
        by_w = market.transition[w]
        later = States(
            w=w,
            cell=(by_w.cumsum(axis=1) < rng.random(count)[:, None]).sum(axis=1).clip(0, by_w.shape[1] - 1),
            depth=np.minimum(next_depth(states.depth, hidden), physics.depth_cap),
            lag=np.maximum(
                problem.dynamics.memory.weight * np.where(hidden, mean, closed.demand) + self._stays(states.lag), 0.0
            ),
            stock=closed.stock_tp1,
            pipeline=pipeline,
            phase=(states.phase + 1) % arrivals.phases,
        )
        return later, closed.profit

    def _stays(self, lag: Floats) -> Floats:
        """Part of earlier demands that stays in the next lag by the plan, (rows,)."""
        memory = self.problem.dynamics.memory
        return memory.carry * lag + memory.offset

    def _w(self, cell: Ints, price: Ints) -> Ints:
        """A node of w of each state, drawn between two."""
        node, weight = (each[cell, price] for each in self.problem.states.cell_w(self.problem.grid.prices))
        return np.asarray(node + (self.rng.random(len(cell)) < weight))
