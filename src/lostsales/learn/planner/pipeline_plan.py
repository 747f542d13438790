"""A plan where orders take time: fitted value iteration on states that are simulated under the law of demand.

The value of a state is the expected profit until an order that is not yet placed arrives, by projection of stock and
orders on the way (`projection_loops.py`), plus the value of what is left then: a smooth function of its mean and of the
mean demand expected at that time. Only this function is fitted, so that few parameters do.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lostsales.data.problem import Problem
from lostsales.demand.law.demand_law import DemandLaw
from lostsales.learn.planner.arrivals import Arrivals, cycle_of, has_pipeline
from lostsales.learn.planner.decision_loops import Rows
from lostsales.learn.planner.demand_paths import demand_paths
from lostsales.learn.planner.latent_table import LatentTable
from lostsales.learn.planner.market_states import MarketStates
from lostsales.learn.planner.pipeline_loops import Begun, pipeline_values, project_states
from lostsales.learn.planner.projection_loops import FREE_TERMS, Ahead
from lostsales.learn.planner.shortfall import shortfall_table
from lostsales.learn.planner.state_grid import Dynamics, StateGrid
from lostsales.types import Bools, Floats, Ints

KNOTS = 7
CHAINS, WARM_UP, RECORDED = 128, 24, 16  # simulated series, and their periods
ROUNDS = 3  # of simulated states, each under the plan of the last
SWEEPS = 8  # greedy ones of a round
EVALUATIONS = 4  # sweeps after each greedy one that keep its actions
EXPLORED = 0.3, 0.1  # shares of the simulated orders that are drawn near the best, and of all
RIDGE = 1e-6


@dataclass(frozen=True)
class PipelineSetting:
    """How supply works, and what is the same for all groups and laws."""

    arrivals: Arrivals
    may_order: Bools  # (phases,)
    most_on_the_way: float
    kind: tuple[bool, bool, bool, float]  # of the law, see `LatentTable`
    seed: int

    @classmethod
    def of(cls, problem: Problem, law: DemandLaw, seed: int) -> "PipelineSetting | None":
        """None where an order is there today or in the next period, whenever it is placed."""
        if not has_pipeline(problem):
            return None
        cycle = cycle_of(problem)
        kind = law.family.multiplicative, law.family.log_link, law.integer, float(law.demand_max)
        most = np.inf if problem.supply.capacity is None else problem.supply.capacity
        may_order = np.ones(1, dtype=bool) if cycle is None else cycle
        return cls(Arrivals.of(problem), may_order, float(most), kind, seed)


class PipelineProblem(NamedTuple):
    """What a plan is made for."""

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
        """When orders arrive."""
        return self.setting.arrivals


@dataclass(frozen=True, eq=False)
class _States:
    """Simulated states, every array (rows,) unless said."""

    w: Ints  # node of the forecast before
    cell: Ints
    depth: Ints
    lag: Floats
    stock: Floats
    pipeline: Floats  # (rows, columns)
    phase: Ints


def plan_pipeline(problem: PipelineProblem, start: Ahead | None = None) -> Ahead:
    """Fit the value of what is left by value iteration; from a start, fewer rounds do."""
    rng = np.random.default_rng(problem.setting.seed)
    planning = _Planning(problem, rng)
    ahead = planning.first() if start is None else planning.with_price(start, planning.price_of(start))
    states = planning.opening()
    for _ in range(ROUNDS if start is None else ROUNDS - 2):
        states, recorded, usual_price = planning.simulate(ahead, states)
        ahead = planning.iterate(planning.with_price(ahead, usual_price), recorded)
    return ahead


@dataclass(frozen=True, eq=False)
class _Planning:
    problem: PipelineProblem
    rng: np.random.Generator

    def first(self) -> Ahead:
        """A unit that is left is worth what it cost, less holding it."""
        physics, demand = self.problem.dynamics.physics, self.problem.demand
        usual = max(float(demand[0].mean()), 1e-9)
        phases = self.problem.arrivals.phases
        weights = np.zeros((phases, FREE_TERMS + 1 + KNOTS))
        weights[:, FREE_TERMS - 1] = physics.order_cost - physics.holding_cost
        ahead = Ahead(
            paths=None,  # type: ignore[arg-type]
            shortfall=shortfall_table(self.problem.noise),
            knots=usual * np.arange(1.0, 1 + KNOTS),
            weights=weights,
            range=np.array([[-np.inf, -np.inf], [np.inf, np.inf]]),
            price=0.0,
            spare=0.0,
            short=0.0,
            limit=usual,
        )
        return self.with_price(ahead, len(self.problem.grid.prices) // 2)

    def with_price(self, ahead: Ahead, price: int) -> Ahead:
        """With the demands of another price on the way."""
        problem = self.problem
        grid, periods = problem.grid, max(problem.arrivals.longest, 1)
        paths = demand_paths(problem.demand, problem.states, grid.prices, price, grid.lags, periods)
        return ahead._replace(paths=paths, price=float(grid.prices[price]))

    def price_of(self, ahead: Ahead) -> int:
        return int(np.abs(self.problem.grid.prices - ahead.price).argmin())

    def opening(self) -> _States:
        problem, rng = self.problem, self.rng
        columns = problem.arrivals.chances.shape[0] - 1
        usual = float(problem.demand[0].mean())
        transition = problem.states.transition
        return _States(
            w=np.zeros(CHAINS, dtype=np.int64),
            cell=rng.choice(transition.shape[1], CHAINS, p=transition.mean(axis=0)),
            depth=np.zeros(CHAINS, dtype=np.int64),
            lag=np.full(CHAINS, usual),
            stock=np.minimum(usual * rng.uniform(0, 3, CHAINS), problem.dynamics.physics.capacity),
            pipeline=np.full((CHAINS, columns), usual),
            phase=rng.integers(0, problem.arrivals.phases, CHAINS),
        )

    def rows(self, states: _States, price: Ints | None = None, order: Ints | None = None) -> Rows:
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
            stock=states.stock,
            price=grid.prices[own],
            price_position=at,
            order=np.tile(grid.orders, (count, 1)) if order is None else grid.orders[order][:, None],
            pipeline=states.pipeline,
            phase=states.phase,
        )

    def values(self, ahead: Ahead, rows: Rows) -> Floats:
        problem = self.problem
        q = np.empty((len(rows.stock), rows.price.shape[1] * rows.order.shape[1]))
        pipeline_values(q, rows, problem.table, ahead, problem.arrivals, problem.dynamics)
        return q

    def may(self, states: _States) -> Bools:
        """Actions that each state may take, (rows, actions)."""
        problem = self.problem
        grid, physics = problem.grid, problem.dynamics.physics
        on_order = states.pipeline.sum(axis=1)
        most = np.where(problem.setting.may_order[states.phase], problem.setting.most_on_the_way - on_order, 0.0)
        if physics.forbids:
            most = np.minimum(most, physics.capacity - states.stock - on_order)
        fits = grid.orders <= np.maximum(most, grid.orders[0])[:, None] + 1e-9
        return np.asarray(np.tile(fits, (1, len(grid.prices))) & problem.allowed)

    def simulate(self, ahead: Ahead, states: _States) -> tuple[_States, _States, int]:
        """States of the last periods under a plan, some orders drawn near the best; and the usual price."""
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
            states = self.next(states, price, grid.orders[np.where(explores, moved, order)])
        recorded = _States(*(np.concatenate([getattr(each, name) for each in kept]) for name in _FIELDS))
        return states, recorded, int(np.rint(np.mean(prices[-RECORDED:])))

    def next(self, states: _States, price: Ints, order: Floats) -> _States:
        """Draw demand, arrivals and market of a period."""
        problem, rng = self.problem, self.rng
        physics, market, arrivals = problem.dynamics.physics, problem.states, problem.arrivals
        count = len(states.cell)
        lag = np.minimum(states.lag / problem.grid.lags[1], len(problem.grid.lags) - 1)
        node = np.floor(lag + rng.random(count)).astype(np.int64)
        node = np.minimum(node, len(problem.grid.lags) - 1)
        shape = np.minimum(states.depth, len(problem.demand) - 1)
        atoms = problem.demand[shape, market.cells[states.cell, 0], price, node]
        demand = atoms[np.arange(count), rng.integers(0, atoms.shape[1], count)]
        available = states.stock
        if arrivals.before:
            available = np.minimum(available + order, physics.capacity)
        left = available - demand
        hidden = ~((left > 0) | ((left == 0) & physics.strict))
        truncated = hidden & physics.truncates & (states.depth == physics.depth_cap)
        above = (atoms > available[:, None]) | (~np.array(physics.strict) & (atoms >= available[:, None]))
        mean = (atoms * above).sum(axis=1) / np.maximum(above.sum(axis=1), 1)
        units = np.column_stack([states.pipeline, order])
        arrives = rng.random(units.shape) < arrivals.chances[:, 0]
        came = np.zeros(count) if arrivals.before else arrivals.share * (units * arrives).sum(axis=1)
        netted = left + came if physics.netted else np.maximum(left, 0.0) + came
        w = self._w(states.cell, price)
        by_w = market.transition[w]
        return _States(
            w=w,
            cell=(by_w.cumsum(axis=1) < rng.random(count)[:, None]).sum(axis=1).clip(0, by_w.shape[1] - 1),
            depth=np.where(hidden & ~truncated, np.minimum(states.depth + 1, physics.depth_cap), 0),
            lag=np.where(truncated, available, np.where(hidden, mean, demand)),
            stock=np.clip(netted, 0.0, physics.capacity),
            pipeline=(units * ~arrives)[:, 1:] if not arrivals.before else states.pipeline,
            phase=(states.phase + 1) % arrivals.phases,
        )

    def iterate(self, ahead: Ahead, states: _States) -> Ahead:
        """Value iteration on some states: greedy sweeps, each with evaluations of its actions."""
        problem, rows = self.problem, self.rows(states)
        arrivals, discount = problem.arrivals, problem.dynamics.discount
        begun = Begun(states.w, states.depth, states.lag, states.stock, states.pipeline, states.phase)
        found = np.empty((len(states.cell), 6))
        plain = ahead._replace(spare=0.0, short=0.0)
        aheads = plain, plain._replace(spare=1.0), plain._replace(short=1.0)
        project_states(found, begun, aheads, arrivals.later(), problem.dynamics)
        left, then, later = found[:, 1:4].T
        limits = np.array([[then.min(), later.min()], [then.max(), later.max()]])
        ahead = ahead._replace(knots=_knots(left - then), range=limits)
        fit = _Fit.of(ahead.knots, found, states.phase, discount ** arrivals.horizons[states.phase])
        allowed = self.may(states)
        gain = 0.0
        for _ in range(SWEEPS):
            q = np.where(allowed, self.values(ahead, rows), -np.inf)
            best = q.argmax(axis=1)
            ahead, gain = fit.to(q[np.arange(len(best)), best], ahead)
            chosen = self.rows(states, *np.divmod(best, len(problem.grid.orders)))
            for _ in range(EVALUATIONS):
                ahead, gain = fit.to(self.values(ahead, chosen)[:, 0], ahead)
        weights = ahead.weights.copy()
        weights[:, 0] += gain / (1 - discount) / discount**arrivals.horizons
        return ahead._replace(weights=weights)

    def _w(self, cell: Ints, price: Ints) -> Ints:
        """A node of w of each state, drawn between two."""
        node, weight = (each[cell, price] for each in self.problem.states.cell_w(self.problem.grid.prices))
        return np.asarray(node + (self.rng.random(len(cell)) < weight))


_FIELDS = ("w", "cell", "depth", "lag", "stock", "pipeline", "phase")


def _knots(left: Floats) -> Floats:
    """Knots at quantiles of what is left, a little apart."""
    found = np.quantile(left, (np.arange(KNOTS) + 0.5) / KNOTS)
    apart = 1e-3 * max(float(np.ptp(left)), 1e-6)
    return np.asarray(np.maximum.accumulate(found) + apart * np.arange(1, KNOTS + 1))


@dataclass(frozen=True, eq=False)
class _Fit:
    """Least squares of values on what is left and the mean demands then, phase by phase, concave in what is left.

    What prices that follow the stock earn on the way is common to all phases.
    """

    profit: Floats  # (rows,) at fixed prices
    design: Floats  # (rows, terms)
    factor: Floats  # (terms, terms) of the scaled design
    scale: Floats  # (terms,)
    most: Floats  # (terms,) of each weight
    phases: int

    @classmethod
    def of(cls, knots: Floats, found: Floats, phase: Ints, discount: Floats) -> "_Fit":
        profit, left, then, later, spare, short = found.T
        beyond, phases = left - then, int(phase.max()) + 1
        below = np.maximum(knots - beyond[:, None], 0.0) ** 2
        above = np.maximum(beyond - knots[len(knots) // 2], 0.0) ** 2
        terms = discount[:, None] * np.column_stack([np.ones_like(left), then, then**2, later, beyond, above, below])
        by_phase = [terms * (phase == each)[:, None] for each in range(phases)]
        design = np.column_stack([spare, short, *by_phase])
        scale = np.maximum(np.sqrt((design**2).mean(axis=0)), 1e-9)
        own = design / scale
        factor = np.linalg.cholesky(own.T @ own + RIDGE * len(own) * np.eye(own.shape[1]))
        most = np.where(np.arange(terms.shape[1]) < FREE_TERMS, np.inf, 0.0)
        return cls(profit, design, factor, scale, np.r_[np.inf, np.inf, np.tile(most, phases)], phases)

    def to(self, target: Floats, ahead: Ahead) -> tuple[Ahead, float]:
        """Weights that fit values with mean 0, and by how much the mean of the values grew."""
        from scipy.optimize import lsq_linear

        gain = float((target - self.value(ahead)).mean())
        wanted = (self.design / self.scale).T @ (target - target.mean() - self.profit)
        projected = np.linalg.solve(self.factor, wanted)
        found = lsq_linear(self.factor.T, projected, (-np.inf, self.most), method="bvls").x / self.scale
        weights = found[2:].reshape(self.phases, -1)
        return ahead._replace(spare=float(found[0]), short=float(found[1]), weights=weights), gain

    def value(self, ahead: Ahead) -> Floats:
        """The value of each state."""
        return np.asarray(self.profit + self.design @ np.r_[ahead.spare, ahead.short, ahead.weights.reshape(-1)])
