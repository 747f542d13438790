"""The policy of the planner: belief over the last demand, then the best action one period ahead of a plan."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from lostsales.data.economics import UnitCosts, units_available
from lostsales.data.encoding import attributes, feature_columns
from lostsales.data.log import SalesLog
from lostsales.data.problem import Problem
from lostsales.data.scale import scale_groups
from lostsales.demand.law.demand_law import DemandLaw
from lostsales.learn.planner import decision_loops as glance
from lostsales.learn.planner.market_states import MarketStates, place
from lostsales.learn.planner.physics import Physics
from lostsales.policy.action_grid import ActionGrid
from lostsales.policy.base import PolicyBase
from lostsales.policy.decision import Decision, greedy
from lostsales.policy.file_format import Artefact
from lostsales.policy.rules import Rules
from lostsales.policy.view import Action, View
from lostsales.types import Array, Bools, Floats, Ints

NEVER = 1 << 30
CHUNK = 4_000
ROUNDED = ("latents", "following")  # to single precision when they were made
ARRAYS = ("latents", "following", "steps", "costs", "ranges", "barred")


@dataclass(frozen=True, eq=False)
class SeriesTable:
    """What is known of each series of the log; the last entry stands for a series that it never had."""

    names: Array  # (series,) text
    attributes: Floats  # (series + 1, columns)
    scale: Floats  # (series + 1,)
    effect: Floats  # (series + 1,)
    group: Ints  # (series + 1,) which plan serves it
    group_scale: Floats  # (groups,)

    @classmethod
    def of(cls, log: SalesLog, law: DemandLaw) -> "SeriesTable":
        """Scale, effect and attributes by name; a usual series has the middle of each."""
        names, last = np.unique(log.names[::-1], return_index=True)  # of a series that holes split, the last part
        last = len(log.names) - 1 - last
        columns = attributes(log, log.starts)
        told = np.column_stack([*columns, np.zeros((len(log.names), 0))])[last]
        scale, effect = law.scale[last], law.effect[last]
        all_scales = np.r_[scale, np.exp(np.median(np.log(scale)))]
        group, group_scale = scale_groups(all_scales)
        return cls(
            names=names,
            attributes=np.concatenate([told, np.median(told, axis=0, keepdims=True)]),
            scale=all_scales,
            effect=np.r_[effect, np.median(effect)],
            group=group,
            group_scale=group_scale,
        )

    @cached_property
    def _places(self) -> dict[str, int]:
        return {str(name): at for at, name in enumerate(self.names)}

    def find(self, view: View) -> Ints:
        """The entry of each series of a view."""
        usual = len(self.names)
        if view.names is None:
            return np.full(len(view.stock), usual)
        codes, back = np.unique(view.names.astype(str), return_inverse=True)
        return np.array([self._places.get(name, usual) for name in codes], dtype=np.int64)[back]


@dataclass(frozen=True, eq=False)
class _Beliefs:
    """What is believed of the last demand, and where today's market stands."""

    shop: Ints
    mean: Floats  # of the last demand: itself where it is known
    market: Floats
    z_place: Floats


@dataclass(frozen=True, eq=False)
class PlanPolicy(PolicyBase):
    """Best in expectation over tomorrow, under one or several laws of demand."""

    problem: Problem
    rules: Rules
    states: MarketStates
    shops: SeriesTable
    latents: Floats  # (groups, laws, 3, z nodes, prices, lags, atoms)
    following: Floats  # (groups, laws, w nodes, layers + 1, lags, stocks)
    steps: Floats  # (groups, 2) of stock and last demand
    costs: Floats  # (4,)
    ranges: Floats  # (2, 2) of the market's index and the stock
    barred: Bools  # (actions,) never taken
    multiplicative: bool
    integer: bool
    demand_max: float
    strict: bool
    discount: float
    pessimism: float
    safe_depth: int
    learned_depth: int
    usual_demand: float
    family: str
    observes: Literal["history"] = "history"

    @cached_property
    def grid(self) -> ActionGrid:
        """The actions."""
        return ActionGrid.of(self.problem)

    @cached_property
    def physics(self) -> Physics:
        """How stock and money move."""
        return Physics.of(self.problem, UnitCosts(*map(float, self.costs)), self.strict)

    def _reading(self, group: int) -> glance.Reading:
        scale = float(self.shops.group_scale[group])
        return glance.Reading(self.multiplicative, self.integer, float(self.demand_max), scale)

    def decide(self, view: View, rng: np.random.Generator) -> Action:  # noqa: ARG002, the protocol passes it
        """Price and order of every series."""
        scores, _ = self._scores(view, self.believe(view))
        return Action(*self.grid.pairs[scores.argmax(axis=1)].T)

    def explain(self, view: View) -> Decision:
        """The decision with its value, runner-up, warnings, and the mean of its belief about the last demand."""
        beliefs = self.believe(view)
        scores, penalty = self._scores(view, beliefs)
        found, pairs, rows = greedy(scores), self.grid.pairs, np.arange(len(scores))
        price, order = pairs[found.best].T
        runner_up_price, runner_up_order = found.runner_up(pairs)
        z = self.states.index(beliefs.market) + self.shops.effect[beliefs.shop]
        state = np.column_stack([z, view.stock])
        slack = 1e-9 * (1 + self.ranges[1] - self.ranges[0])
        unknown = beliefs.shop == len(self.shops.names)
        return Decision(
            price=price,
            order=order,
            value=found.value,
            penalty=penalty[rows, found.best],
            safe=view.depth >= self.safe_depth,
            runner_up_price=runner_up_price,
            runner_up_order=runner_up_order,
            margin=found.margin,
            unsafe=np.zeros(len(rows), dtype=bool),
            beyond=view.depth > self.learned_depth,
            outside=((state < self.ranges[0] - slack) | (state > self.ranges[1] + slack)).any(axis=1),
            unknown_series=unknown if len(self.shops.group_scale) > 1 or self.shops.effect.any() else None,
            more={"last_demand": beliefs.mean, "expected_demand": self._expected(view, beliefs, price)},
        )

    def believe(self, view: View) -> _Beliefs:
        """The mean of the last demand given the run of stock-outs since it was last known, period by period."""
        shop = self.shops.find(view)
        mean = view.last_sales.astype(np.float64)
        closed = list(reversed(view.past))
        depth = np.minimum(view.depth.astype(np.int64), len(closed))
        for back in range(int(depth.max(initial=0)), 0, -1):
            at = np.flatnonzero(depth >= back)
            then, action = closed[back - 1]
            begins = at[depth[at] == back]
            mean[begins] = then.last_sales[begins]
            z_place = self._z_place(then, shop, at)
            arrived = action.order[at]
            available = units_available(then.stock[at], arrived, self.problem.arrival, self.problem.capacity)
            layer = depth[at] - back
            price = place(action.price[at], self.grid.prices)
            mean[at] = self._above(shop[at], z_place, price, layer, mean[at], available)
        market = self._market(view, shop, np.arange(len(shop)))
        return _Beliefs(shop, mean, market, self.states.z_place(market, self.shops.effect[shop]))

    def _market(self, view: View, shop: Ints, at: Ints) -> Floats:
        columns = feature_columns(self.problem.features, [each[at] for each in view.features])
        return np.column_stack([*columns, self.shops.attributes[shop[at]]])

    def _z_place(self, view: View, shop: Ints, at: Ints) -> Floats:
        return self.states.z_place(self._market(view, shop, at), self.shops.effect[shop[at]])

    def _above(self, shop: Ints, z_place: Floats, price: Floats, layer: Ints, lag: Floats, available: Floats) -> Floats:
        """E[D | a stock-out], averaged over the laws."""
        means = np.zeros(len(shop))
        for group in np.unique(self.shops.group[shop]):
            rows = np.flatnonzero(self.shops.group[shop] == group)
            for law in range(self.latents.shape[1]):
                out = np.empty(len(rows))
                glance.believe(
                    out, self.latents[group, law], z_place[rows], price[rows], layer[rows], lag[rows], available[rows],
                    self.strict, self.steps[group], self._reading(group),
                )  # fmt: skip
                means[rows] += out / self.latents.shape[1]
        return means

    def _expected(self, view: View, beliefs: _Beliefs, price: Floats) -> Floats:
        """E[D] today at a price."""
        nothing = np.full(len(price), -1.0)
        layer = view.depth.astype(np.int64)
        return self._above(beliefs.shop, beliefs.z_place, place(price, self.grid.prices), layer, beliefs.mean, nothing)

    def _scores(self, view: View, beliefs: _Beliefs) -> tuple[Floats, Floats]:
        """Value of every action that may be taken, (rows, actions), and what pessimism took off it."""
        physics, grid = self.physics, self.grid
        w_place = self.states.w_place(beliefs.market, self.shops.effect[beliefs.shop], grid.prices)
        layer = view.depth.astype(np.int64)
        scores = np.empty((len(view.stock), len(grid)))
        penalty = np.zeros_like(scores)
        laws = self.latents.shape[1]
        groups = self.shops.group[beliefs.shop]
        for group in np.unique(groups):
            of_group = np.flatnonzero(groups == group)
            for start in range(0, len(of_group), CHUNK):
                rows = of_group[start : start + CHUNK]
                each = np.empty((laws, len(rows), len(grid)))
                for law in range(laws):
                    glance.score(
                        each[law], self.latents[group, law], self.following[group, law], beliefs.z_place[rows],
                        w_place[rows], layer[rows], beliefs.mean[rows], view.stock[rows].astype(np.float64),
                        grid.prices, grid.orders, physics, self.discount, self.steps[group], self._reading(group),
                    )  # fmt: skip
                scores[rows] = each.mean(axis=0)
                if self.pessimism and laws > 1:
                    low = np.quantile(each, 0.5 * (1 - self.pessimism), axis=0)
                    penalty[rows] = np.maximum(scores[rows] - low, 0.0)
        scores -= penalty
        feasible = self.rules.feasible(grid, view.stock, view.last_price, view.features_by_name(self.asks))
        may = feasible & ~self.barred
        may = np.where(may.any(axis=1, keepdims=True), may, feasible)
        deep = np.flatnonzero(view.depth >= self.safe_depth)
        if len(deep):
            dear = np.where(may[deep], grid.pairs[:, 1], -1.0)
            largest = dear == dear.max(axis=1, keepdims=True)
            cost = np.where(largest, grid.pairs[:, 0], -1.0)
            may[deep] = cost == cost.max(axis=1, keepdims=True)
        scores[~may] = -np.inf
        return scores, penalty

    def summary(self) -> dict[str, Any]:
        """The method."""
        return {"method": "planner"}

    def to_artefact(self) -> Artefact:
        """What has to be saved."""
        arrays: dict[str, Array] = {name: getattr(self, name) for name in ARRAYS}
        arrays |= {name: arrays[name].astype(np.float32) for name in ROUNDED}
        arrays |= {f"states_{name}": each for name, each in self.states.arrays().items()}
        arrays |= {
            f"shops_{name}": getattr(self.shops, name)
            for name in ("attributes", "scale", "effect", "group", "group_scale")
        }
        arrays["shops_names"] = self.shops.names.astype(np.str_)
        settings: dict[str, Any] = {
            name: getattr(self, name)
            for name in (
                *("multiplicative", "integer", "demand_max", "strict", "discount", "pessimism"),
                *("safe_depth", "learned_depth", "usual_demand", "family"),
            )
        }
        return Artefact("plan", self.observes, None, self.problem, settings | {"rules": self.rules.saved()}, arrays)

    @classmethod
    def from_artefact(cls, artefact: Artefact) -> "PlanPolicy":
        """The policy again."""
        saved, arrays = artefact.settings, artefact.arrays
        shops = {name.removeprefix("shops_"): each for name, each in arrays.items() if name.startswith("shops_")}
        states = {name.removeprefix("states_"): each for name, each in arrays.items() if name.startswith("states_")}
        own: dict[str, Any] = (
            saved | {name: arrays[name] for name in ARRAYS} | {"rules": Rules.of_saved(saved["rules"])}
        )
        own |= {name: arrays[name].astype(np.float64) for name in ROUNDED}
        shops["names"] = shops["names"].astype(object)
        return cls(problem=artefact.problem, states=MarketStates.from_arrays(states), shops=SeriesTable(**shops), **own)
