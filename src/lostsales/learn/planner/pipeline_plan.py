"""A plan where orders take time: fitted value iteration on states that are simulated under the law of demand.

The value of a state is the expected profit until an order that is not yet placed arrives, by projection of stock and
orders on the way (`projection_loops.py`), plus the value of what is left then: a smooth function of its mean and of the
mean demand expected at that time. Only this function is fitted, so that few parameters do.
"""

from dataclasses import dataclass

import numpy as np

from lostsales.learn.planner.demand_paths import DemandPaths, demand_paths
from lostsales.learn.planner.pipeline_loops import Begun, project_states
from lostsales.learn.planner.pipeline_simulation import PipelineProblem, Simulation, States
from lostsales.learn.planner.projection_loops import FREE_TERMS, GAPS, Ahead
from lostsales.learn.planner.shortfall import shortfall_table
from lostsales.types import Floats, Ints

KNOTS = 7
GAP_STEP = 0.4  # of a usual demand, between nodes of the excess of a stock over demand
FIRST, LATER_ROUNDS = 128, (128, 512)  # simulated series of the first rounds, and of the later ones
REFINED = 256  # the same where a plan starts from another
COMPARED = 256  # simulated series by which the best of these plans is chosen
SWEEPS = 5  # greedy ones of a round
EVALUATIONS = 4  # sweeps after each greedy one that keep its actions
RIDGE = 1e-6


def plan_pipeline(problem: PipelineProblem, start: Ahead | None = None) -> Ahead:
    """Fit the value of what is left by value iteration; from a start, one round does.

    Each round is on states under the best plan so far. The first rounds begin with prices on the way from low to high,
    as a plan for many customers and one for few may both be hard to improve by small steps.
    """
    planning, rng = _Planning(problem), np.random.default_rng(problem.setting.seed)

    def profit(ahead: Ahead) -> float:
        return Simulation(problem, np.random.default_rng(problem.setting.seed + 1)).profit(ahead, COMPARED)

    def improved(ahead: Ahead, series: int, price: int | None = None) -> tuple[float, Ahead]:
        recorded, usual_price = Simulation(problem, rng).record(ahead, series)
        found = planning.iterate(planning.with_price(ahead, usual_price if price is None else price), recorded)
        return profit(found), found

    if start is not None:
        own = planning.with_price(start, planning.price_of(start))
        return max((profit(own), own), improved(own, REFINED), key=lambda plan: plan[0])[1]
    last = len(problem.grid.prices) - 1
    prices = sorted({0, last // 2, last})
    best = max((improved(planning.first(price), FIRST, price) for price in prices), key=lambda plan: plan[0])
    for series in LATER_ROUNDS:
        best = max(best, improved(best[1], series), key=lambda plan: plan[0])
    return best[1]


@dataclass(frozen=True, eq=False)
class _Planning:
    problem: PipelineProblem

    def first(self, price: int) -> Ahead:
        """Values before any round: a unit that is left is worth what it cost, less holding it."""
        physics, demand = self.problem.dynamics.physics, self.problem.demand
        usual = max(float(demand[0].mean()), 1e-9)
        phases = self.problem.arrivals.phases
        weights = np.zeros((phases, FREE_TERMS + 1 + KNOTS))
        weights[:, FREE_TERMS - 1] = physics.costs.order - physics.costs.holding
        return Ahead(
            paths=self.paths(price),
            shortfall=shortfall_table(self.problem.noise),
            knots=usual * np.arange(1.0, 1 + KNOTS),
            weights=weights,
            range=np.array([[-np.inf, -np.inf], [np.inf, np.inf]]),
            price=float(self.problem.grid.prices[price]),
            by_gap=np.zeros(GAPS),
            gap_step=GAP_STEP * usual,
        )

    def with_price(self, ahead: Ahead, price: int) -> Ahead:
        """The same with the demands of another price on the way."""
        return ahead._replace(paths=self.paths(price), price=float(self.problem.grid.prices[price]))

    def paths(self, price: int) -> DemandPaths:
        """The demands on the way at a price."""
        problem = self.problem
        grid, periods, memory = problem.grid, max(problem.arrivals.longest, 1), problem.dynamics.memory
        return demand_paths(problem.demand, problem.states, grid.prices, price, grid.lags, periods, memory)

    def price_of(self, ahead: Ahead) -> int:
        """The price on the way, as an index."""
        return int(np.abs(self.problem.grid.prices - ahead.price).argmin())

    def iterate(self, ahead: Ahead, states: States) -> Ahead:
        """Value iteration on some states: greedy sweeps, each with evaluations of its actions."""
        problem, simulation = self.problem, Simulation(self.problem, np.random.default_rng(0))
        rows = simulation.rows(states)
        arrivals, discount = problem.arrivals, problem.dynamics.discount
        begun = Begun(states.w, states.depth, states.lag, states.stock, states.pipeline, states.phase)
        found = np.empty((len(states.cell), 4 + GAPS))
        project_states(found, begun, ahead._replace(by_gap=np.empty(GAPS)), arrivals.later(), problem.dynamics)
        if len(problem.grid.prices) == 1:  # then prices follow nothing
            found[:, 4:] = 0.0
        left, then, later = found[:, 1:4].T
        limits = np.array([[then.min(), later.min()], [then.max(), later.max()]])
        ahead = ahead._replace(knots=_knots(left - then), range=limits)
        fit = _Fit.of(ahead.knots, found, states.phase, np.power(discount, arrivals.horizons[states.phase]))
        allowed = simulation.may(states)
        gain = 0.0
        for _ in range(SWEEPS):
            q = np.where(allowed, simulation.values(ahead, rows), -np.inf)
            best = q.argmax(axis=1)
            ahead, gain = fit.to(q[np.arange(len(best)), best], ahead)
            chosen = simulation.rows(states, *np.divmod(best, len(problem.grid.orders)))
            for _ in range(EVALUATIONS):
                ahead, gain = fit.to(simulation.values(ahead, chosen)[:, 0], ahead)
        weights = ahead.weights.copy()
        weights[:, 0] += gain / (1 - discount) / discount**arrivals.horizons
        return ahead._replace(weights=weights)


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
        profit, left, then, later = found[:, :4].T
        beyond, phases = left - then, int(phase.max()) + 1
        below = np.maximum(knots - beyond[:, None], 0.0) ** 2
        above = np.maximum(beyond - knots[len(knots) // 2], 0.0) ** 2
        terms = discount[:, None] * np.column_stack([np.ones_like(left), then, then**2, later, beyond, above, below])
        by_phase = [terms * (phase == each)[:, None] for each in range(phases)]
        design = np.column_stack([found[:, 4:], *by_phase])
        scale = np.maximum(np.sqrt((design**2).mean(axis=0)), 1e-9)
        own = design / scale
        factor = np.linalg.cholesky(own.T @ own + RIDGE * len(own) * np.eye(own.shape[1]))
        most = np.where(np.arange(terms.shape[1]) < FREE_TERMS, np.inf, 0.0)
        return cls(profit, design, factor, scale, np.r_[np.full(GAPS, np.inf), np.tile(most, phases)], phases)

    def to(self, target: Floats, ahead: Ahead) -> tuple[Ahead, float]:
        """Weights that fit values with mean 0, and by how much the mean of the values grew."""
        from scipy.optimize import lsq_linear

        gain = float((target - self.value(ahead)).mean())
        wanted = (self.design / self.scale).T @ (target - target.mean() - self.profit)
        projected = np.linalg.solve(self.factor, wanted)
        found = lsq_linear(self.factor.T, projected, (-np.inf, self.most), method="bvls").x / self.scale
        return ahead._replace(by_gap=found[:GAPS], weights=found[GAPS:].reshape(self.phases, -1)), gain

    def value(self, ahead: Ahead) -> Floats:
        """The value of each state."""
        return np.asarray(self.profit + self.design @ np.r_[ahead.by_gap, ahead.weights.reshape(-1)])
