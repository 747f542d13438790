"""Values of actions under the plans, by one-period lookahead."""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from lostsales.data.candidate_grid import CandidateGrid
from lostsales.data.economics import UnitCosts
from lostsales.data.feature import feature_count
from lostsales.data.parallel import in_parallel
from lostsales.data.problem import Problem
from lostsales.data.product_table import ProductAttributes
from lostsales.demand.law.demand_law import MOST_LAGS
from lostsales.learn.planner.belief import Belief, BeliefTracker
from lostsales.learn.planner.decision_loops import Rows
from lostsales.learn.planner.following import Following
from lostsales.learn.planner.latent_table import LatentTable
from lostsales.learn.planner.market_states import MarketStates, position
from lostsales.learn.planner.paths.roll_out_loops import FOR_EVER, Shelves
from lostsales.learn.planner.paths.search import shelves_of
from lostsales.learn.planner.physics import BELIEF_SHAPES, Physics
from lostsales.learn.planner.state_grid import Dynamics, Memory
from lostsales.policy.action_grid import ActionGrid, action_sizes, keep_largest, room_of
from lostsales.policy.rules import Rules, SavedRules
from lostsales.policy.view import View
from lostsales.saved_fields import POSITIVE, Axis, Depth, NonNegative, Positive, Share, numbers
from lostsales.types import Bools, Floats, Ints

LagWeight = Annotated[float, Field(ge=-MOST_LAGS, le=1 + MOST_LAGS)]
NO_SAFE_DEPTH = 1 << 30  # deeper than any run
CHUNK = 2_000  # rows scored at once
REFINED = 4  # parts into which each step of a refinement divides the gap between candidates
PRICE_REACH = 0.02  # prices so little beyond the nodes of a plan are within them


@dataclass(frozen=True, eq=False)
class ScoredActions:
    """Rows of a view against the actions of each."""

    grid: ActionGrid  # one a row
    values: Floats  # (rows, actions) less the penalty; -inf where an action was found not allowed
    penalty: Floats  # (rows, actions) of pessimism


@dataclass(frozen=True, eq=False)
class PlanValues:
    """Plans of one or several laws of demand, and the values that they give to actions."""

    AXES: ClassVar[dict[str, Axis]] = {
        "features": Axis(least=0),
        "attributes": Axis(least=0),
        "series": Axis(least=0),
        "laws": Axis(most=10_000),
        "z": Axis(most=1_000),
        "w": Axis(most=1_000),
        "lags": Axis(least=2, most=10_000),
        "atoms": Axis(most=1_000),
    }

    problem: Problem
    rules: SavedRules
    candidates: CandidateGrid
    attributes: ProductAttributes
    prices: Annotated[Floats, numbers("nodes", least=0, rising=True)]  # of the plans
    unit_costs: Annotated[Floats, numbers(4, least=0)]  # of a lost sale, an order, holding, and any order
    strict: bool  # a stock-out is distinguished from selling out exactly
    states: MarketStates
    latents: Annotated[Floats, numbers("laws", BELIEF_SHAPES, "z", "nodes", "lags", "atoms", single=True)]
    following: Following
    steps: Annotated[Floats, numbers(2, least=POSITIVE)]  # of stock and last demand
    ranges: Annotated[Floats, numbers(2, 2)]  # least and most of z and the stock in the log
    multiplicative: bool
    integer: bool
    rounded: bool
    demand_max: Positive
    lag_weights: Annotated[tuple[LagWeight, ...], Field(min_length=1, max_length=MOST_LAGS)]  # of the last demands
    discount: Annotated[float, Field(ge=0, lt=1)]
    pessimism: Share
    safe_depth: Depth
    learned_depth: Depth
    usual_demand: NonNegative
    family: str

    @cached_property
    def physics(self) -> Physics:
        """The movement of stock and money by its problem and costs."""
        return Physics.of(self.problem, UnitCosts(*self.unit_costs.tolist()), self.strict)

    @cached_property
    def tables(self) -> tuple[LatentTable, ...]:
        """The laws of demand."""
        demand = self.multiplicative, self.integer, self.rounded, float(self.demand_max)
        return tuple(LatentTable(each, float(self.steps[1]), *demand) for each in self.latents)

    @cached_property
    def tracker(self) -> BeliefTracker:
        """The belief over the last demand."""
        places = self.prices, self.states, self.attributes, self.tables
        return BeliefTracker(self.problem, *places, self.strict, self.lag_weights)

    def scored_actions(self, view: View, belief: Belief, rules: Rules) -> ScoredActions:
        """Values of the actions of each row: of all, or of a coarse choice and then ever finer around the best."""
        every = np.ones(len(view.stock))
        prices, multiple = (
            self.candidates.prices_of(every),
            rules.multiples(view, self.candidates.order_multiple * every),
        )
        orders = self.candidates.orders_of(every, multiple)
        rows, (some_prices, some_orders) = np.arange(len(prices))[:, None], self.candidates.coarse_indices
        scored = self._values(view, belief, rules, prices[:, some_prices], orders[:, some_orders])
        chosen = np.divmod(scored.values.argmax(axis=1), len(some_orders))
        centres = some_prices[chosen[0]], some_orders[chosen[1]]
        gaps = tuple(int(np.diff(each).max(initial=1)) for each in (some_prices, some_orders))
        while max(gaps) > 1:
            price = _around(centres[0], gaps[0], prices.shape[1])
            order = _around(centres[1], gaps[1], orders.shape[1])
            scored = self._values(view, belief, rules, prices[rows, price], orders[rows, order])
            chosen = np.divmod(scored.values.argmax(axis=1), order.shape[1])
            centres = price[rows[:, 0], chosen[0]], order[rows[:, 0], chosen[1]]
            gaps = tuple(-(-gap // REFINED) for gap in gaps)
        return scored

    def _values(self, view: View, belief: Belief, rules: Rules, prices: Floats, orders: Floats) -> ScoredActions:
        """Value of every pair of each row's prices and orders, -inf where it is not allowed."""
        scored = self.values_of(view, belief, prices, orders)
        scored.values[~self.allowed(view, scored.grid, rules)] = -np.inf
        return scored

    def values_of(self, view: View, belief: Belief, prices: Floats, orders: Floats) -> ScoredActions:
        """Value of every pair of each row's prices (rows, prices) and orders (rows, orders), allowed or not."""
        coming = None if belief.coming is None else self.states.expected(belief.features, belief.coming)
        rows = Rows(
            z_position=belief.z_position,
            w_position=self.states.w_position(belief.features, prices, coming),
            depth=view.depth.astype(np.int64),
            lag=belief.lag,
            stays=belief.stays,
            stock=view.stock,
            price=prices,
            price_position=position(prices, self.prices),
            order=orders,
            pipeline=self._pipeline(view),
            phase=np.zeros(len(prices), dtype=np.int64) if view.order_phase is None else view.order_phase,
            shelves=self._shelves(view),
        )
        values = np.empty((len(prices), prices.shape[1] * orders.shape[1]))
        penalty = np.zeros_like(values)

        def score(chunk: Ints) -> None:
            by_law = self._values_by_law(rows.take(chunk))
            values[chunk] = by_law.mean(axis=0)
            if self.pessimism and len(by_law) > 1:
                low = np.quantile(by_law, 0.5 * (1 - self.pessimism), axis=0)
                penalty[chunk] = np.maximum(values[chunk] - low, 0.0)

        parts = [np.arange(start, min(start + CHUNK, len(prices))) for start in range(0, len(prices), CHUNK)]
        in_parallel(score, parts) if len(parts) > 1 else list(map(score, parts))
        grid = ActionGrid(prices, orders, room_of(self.problem), float(self.unit_costs[1]))
        return ScoredActions(grid, values - penalty, penalty)

    def _values_by_law(self, rows: Rows) -> Floats:
        """Value of every action under every law, (laws, rows, actions)."""
        stock_step, lag_step = map(float, self.steps)
        dynamics = Dynamics(self.physics, self.discount, stock_step, lag_step, Memory(self.lag_weights[0]))
        values = np.empty((len(self.tables), len(rows.stock), rows.price.shape[1] * rows.order.shape[1]))
        for law, (each, table) in enumerate(zip(values, self.tables, strict=True)):
            self.following.score(each, law, rows, table, dynamics, self.problem)
        return values

    def _shelves(self, view: View) -> Shelves:
        """Stock by remaining life; shelf life and cost of waste are those of the problem."""
        keys, rows = self.problem.product, len(view.stock)
        if not isinstance(keys.shelf_life, int) or isinstance(keys.oldest_first, str):
            return FOR_EVER
        life, share = np.full(rows, keys.shelf_life), np.full(rows, keys.oldest_first)
        return shelves_of(self.problem, view, life, np.full(rows, keys.unit_waste_cost), share)

    def _pipeline(self, view: View) -> Floats:
        """Orders on the way, (rows, columns): as many of the last ones as the lead times of the plan let wait."""
        found = np.zeros((len(view.stock), self.problem.pipeline_length))
        if view.pipeline is not None and (shared := min(view.pipeline.shape[1], found.shape[1])):
            found[:, -shared:] = view.pipeline[:, -shared:]
        return found

    def allowed(self, view: View, grid: ActionGrid, rules: Rules) -> Bools:
        """Actions that each row may take, (rows, actions); from the safe depth on the paper's safe action only.

        Prices beyond those of the plan are not allowed where there are others: nothing is known of demand there.
        """
        rules = rules.of_view(view)
        features, limit = view.features_by_name(self.problem.features), view.order_limit(self.problem)
        allowed = rules.feasible(grid, view.stock, view.last_price, features, limit)
        near = self.is_planned(grid.prices)
        if not near.all():
            within = allowed & np.repeat(near, grid.orders.shape[1], axis=1)
            allowed = np.where(within.any(axis=1, keepdims=True), within, allowed)
        deep = view.depth >= self.safe_depth
        if deep.any():
            price, order = (np.broadcast_to(each, allowed.shape)[deep] for each in (grid.price, grid.order))
            allowed[deep] = keep_largest(keep_largest(allowed[deep], order), price)
        return allowed

    def is_planned(self, price: Floats) -> Bools:
        """Prices at which the law of demand is known."""
        least, most = PRICE_REACH * self.prices[[0, -1]] * [-1, 1] + self.prices[[0, -1]]
        return np.asarray((price >= least) & (price <= most))

    @classmethod
    def axis_sizes(cls, saved: dict[str, Any]) -> dict[str, int]:
        """The sizes that the problem fixes."""
        problem = saved["problem"]
        physics = Physics.of(problem, UnitCosts(0.0, 0.0, 0.0), saved["strict"])
        return action_sizes(problem) | {
            "features": feature_count(problem.features),
            "depths": physics.depth_cap + 1,
        }

    def validate(self) -> None:
        """Raise where the parts of a file are not of the same plan."""
        self.following.validate_for(self.problem, len(self.states.w_nodes) * len(self.states.cycle), self.steps)


def _around(centre: Ints, gap: int, count: int) -> Ints:
    """Candidates (of `count`) up to a gap away from a centre, each REFINED-th part of the gap, (rows, candidates)."""
    steps = np.unique(np.rint(np.linspace(-gap, gap, 2 * min(gap, REFINED) + 1)).astype(np.int64))
    return np.asarray(np.clip(centre[:, None] + steps, 0, count - 1))
