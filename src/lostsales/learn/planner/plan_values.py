"""Values of actions under the plans, by one-period lookahead."""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from lostsales.data.candidate_grid import CandidateGrid, thinned
from lostsales.data.economics import UnitCosts
from lostsales.data.feature import feature_count
from lostsales.data.parallel import in_parallel
from lostsales.data.problem import Problem
from lostsales.demand.law.demand_law import MOST_LAGS
from lostsales.learn.planner.belief import Belief, BeliefTracker, LawInputs
from lostsales.learn.planner.decision_loops import Rows
from lostsales.learn.planner.following import Following
from lostsales.learn.planner.latent_table import LatentTable
from lostsales.learn.planner.market_states import MarketStates, position
from lostsales.learn.planner.physics import BELIEF_SHAPES, Physics
from lostsales.learn.planner.plan_groups import PlanGroups, PlanRows
from lostsales.learn.planner.state_grid import Dynamics, Memory
from lostsales.policy.action_grid import ActionGrid, action_sizes, keep_largest, room_of
from lostsales.policy.rules import Rules, SavedRules
from lostsales.policy.view import View
from lostsales.saved_fields import POSITIVE, Axis, Depth, NonNegative, Positive, Share, numbers
from lostsales.types import Bools, Floats, Ints

LagWeight = Annotated[float, Field(ge=-MOST_LAGS, le=1 + MOST_LAGS)]
NO_SAFE_DEPTH = 1 << 30
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
    prices: Annotated[Floats, numbers("nodes", least=0, rising=True)]  # of the plans, relative to the usual price
    unit_costs: Annotated[Floats, numbers(4, least=0)]  # of a lost sale, an order, holding, and any order
    strict: bool  # a stock-out is distinguished from selling out exactly
    states: MarketStates
    series: PlanGroups
    latents: Annotated[Floats, numbers("groups", "laws", BELIEF_SHAPES, "z", "nodes", "lags", "atoms", single=True)]
    following: Following
    steps: Annotated[Floats, numbers("groups", 2, least=POSITIVE)]  # of stock and last demand
    ranges: Annotated[Floats, numbers(2, 2)]  # least and most of z and the stock, in units of scale, in the log
    multiplicative: bool
    log_link: bool
    integer: bool
    rounded: bool
    demand_max: Positive
    near_zero: Positive
    saturates: bool  # the memory of the law
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
    def tables(self) -> tuple[tuple[LatentTable, ...], ...]:
        """The law of demand by group and law."""
        demand = self.multiplicative, self.log_link, self.integer, self.rounded, float(self.demand_max)
        return tuple(
            tuple(LatentTable(each, float(steps[1]), *demand, float(scale)) for each in latents)
            for latents, steps, scale in zip(self.latents, self.steps, self.series.group_scale, strict=True)
        )

    @cached_property
    def tracker(self) -> BeliefTracker:
        """The belief over the last demand."""
        is_log = self.multiplicative or self.log_link
        log_price = is_log and bool((self.series.usual_price != 1).any())
        inputs = LawInputs(log_price, is_log, self.near_zero, self.saturates)
        weights = self.lag_weights
        return BeliefTracker(
            self.problem, self.prices, self.states, self.series, self.tables, inputs, self.strict, weights
        )

    def scored_actions(self, view: View, belief: Belief, rules: Rules) -> ScoredActions:
        """Values of the actions of each row: of all, or of a coarse choice and then ever finer around the best."""
        prices, own = self.candidates.prices_of(belief.series.usual_price), belief.series.seen
        prices = prices if own is None else own.prices_within(prices, rules)
        multiple = rules.multiples(view, belief.series.order_multiple)
        orders = self.candidates.orders_of(belief.series.scale, multiple)
        rows, (some_prices, some_orders) = np.arange(len(prices))[:, None], self.candidates.coarse_indices
        some_orders = some_orders[thinned(len(some_orders), *self.following.orders_first)]
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
        scored.values[~self.allowed(view, scored.grid, belief.series, rules)] = -np.inf
        return scored

    def values_of(self, view: View, belief: Belief, prices: Floats, orders: Floats) -> ScoredActions:
        """Value of every pair of each row's prices (rows, prices) and orders (rows, orders), allowed or not."""
        series = belief.series
        usual, to_group = series.usual_price, series.to_group
        relative = prices / usual[:, None]
        effects = self.series.market_effects(series, belief.features)
        rows = Rows(
            z_position=belief.z_position,
            shift=self.tracker.shift(belief, relative),
            w_position=self.states.w_position(belief.features, effects, relative, self._coming(belief)),
            depth=view.depth.astype(np.int64),
            lag=belief.lag * to_group,
            stays=belief.stays * to_group,
            stock=view.stock * to_group,
            price=relative,
            price_position=position(relative, self.prices),
            order=orders * to_group[:, None],
            pipeline=self._pipeline(view) * to_group[:, None],
            phase=np.zeros(len(prices), dtype=np.int64) if view.order_phase is None else view.order_phase,
        )
        values = np.empty((len(prices), prices.shape[1] * orders.shape[1]))
        penalty = np.zeros_like(values)

        def score(part: tuple[int, Ints]) -> None:
            group, chunk = part
            by_law = self._values_by_law(group, rows.take(chunk))
            values[chunk] = by_law.mean(axis=0)
            if self.pessimism and len(by_law) > 1:
                low = np.quantile(by_law, 0.5 * (1 - self.pessimism), axis=0)
                penalty[chunk] = np.maximum(values[chunk] - low, 0.0)

        parts = [
            (group, own[start : start + CHUNK])
            for group, own in series.by_group()
            for start in range(0, len(own), CHUNK)
        ]
        in_parallel(score, parts) if len(parts) > 1 else list(map(score, parts))
        money = (usual / to_group)[:, None]
        caution = np.repeat(_price_caution(series, prices), orders.shape[1], axis=1)
        values, penalty = (values - penalty) * money - caution, penalty * money + caution
        return ScoredActions(ActionGrid(prices, orders, room_of(self.problem), series.order_cost), values, penalty)

    def _coming(self, belief: Belief) -> tuple[Floats, Floats] | None:
        """Features of the next period, as far as they are known, and the effects of series on them."""
        if belief.coming is None:
            return None
        features = self.states.expected(belief.features, belief.coming)
        return features, self.series.market_effects(belief.series, features)

    def _values_by_law(self, group: int, rows: Rows) -> Floats:
        """Value of every action under every law, (laws, rows, actions), relative to the usual price."""
        physics = self.physics.with_costs(self.series.group_costs[group])
        memory = Memory(self.lag_weights[0])
        stock_step, lag_step = map(float, self.steps[group])
        dynamics = Dynamics(physics, self.discount, stock_step, lag_step, memory)
        values = np.empty((self.latents.shape[1], len(rows.stock), rows.price.shape[1] * rows.order.shape[1]))
        for law, (each, table) in enumerate(zip(values, self.tables[group], strict=True)):
            self.following.score(each, group, law, rows, table, dynamics)
        return values

    def _pipeline(self, view: View) -> Floats:
        """Orders on the way, (rows, columns): as many of the last ones as the lead times of the plan let wait."""
        found = np.zeros((len(view.stock), self.problem.pipeline_length))
        if view.pipeline is not None and (shared := min(view.pipeline.shape[1], found.shape[1])):
            found[:, -shared:] = view.pipeline[:, -shared:]
        return found

    def allowed(self, view: View, grid: ActionGrid, series: PlanRows, rules: Rules) -> Bools:
        """Actions that each row may take, (rows, actions); from the safe depth on the paper's safe action only.

        Prices beyond those of the plan are not allowed where there are others: nothing is known of demand there. Nor
        are actions far outside what the series has seen.
        """
        rules = rules.of_view(view)
        allowed = rules.feasible(
            grid,
            view.stock,
            view.last_price,
            view.features_by_name(self.problem.features),
            view.order_limit(self.problem),
        )
        if series.seen is not None:
            allowed = series.seen.allowed(grid.price, grid.order, allowed)
        near = self.is_planned(grid.prices / series.usual_price[:, None])
        if not near.all():
            within = allowed & np.repeat(near, grid.orders.shape[1], axis=1)
            allowed = np.where(within.any(axis=1, keepdims=True), within, allowed)
        deep = view.depth >= self.safe_depth
        if deep.any():
            price, order = (np.broadcast_to(each, allowed.shape)[deep] for each in (grid.price, grid.order))
            allowed[deep] = keep_largest(keep_largest(allowed[deep], order), price)
        return allowed

    def is_planned(self, relative_price: Floats) -> Bools:
        """Prices, relative to the usual one, at which the law of demand is known."""
        least, most = PRICE_REACH * self.prices[[0, -1]] * [-1, 1] + self.prices[[0, -1]]
        return np.asarray((relative_price >= least) & (relative_price <= most))

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


def _price_caution(series: PlanRows, prices: Floats) -> Floats:
    """Penalty of prices (rows, prices) today, as the elasticity is uncertain, (rows, prices)."""
    margin = np.maximum(prices - series.order_cost[:, None], 0.0)
    with np.errstate(divide="ignore"):
        moved = np.abs(np.log(prices / series.usual_price[:, None]))
    uncertain = (series.price_caution * series.scale)[:, None] * margin
    return np.where(uncertain > 0, uncertain * np.minimum(moved, 1.0), 0.0)


def _around(centre: Ints, gap: int, count: int) -> Ints:
    """Candidates (of `count`) up to a gap away from a centre, each REFINED-th part of the gap, (rows, candidates)."""
    steps = np.unique(np.rint(np.linspace(-gap, gap, 2 * min(gap, REFINED) + 1)).astype(np.int64))
    return np.asarray(np.clip(centre[:, None] + steps, 0, count - 1))
