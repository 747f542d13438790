"""The policy of the planner: the best action by one-period lookahead on the values of the plans."""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from lostsales.data.economics import UnitCosts
from lostsales.data.problem import Problem
from lostsales.data.settings import StrictSettings, checked_json
from lostsales.learn.planner.belief import Belief, BeliefTracker
from lostsales.learn.planner.decision_loops import Rows, action_values
from lostsales.learn.planner.latent_table import LatentTable
from lostsales.learn.planner.market_states import STATE_ARRAYS, MarketStates
from lostsales.learn.planner.physics import Physics
from lostsales.learn.planner.series_table import SeriesTable
from lostsales.learn.planner.state_grid import Dynamics
from lostsales.policy.action_grid import ActionGrid, keep_largest
from lostsales.policy.base import PolicyBase
from lostsales.policy.decision import Decision, greedy
from lostsales.policy.file_content import (
    POSITIVE,
    Content,
    Depth,
    Header,
    NonNegative,
    Positive,
    action_sizes,
    feature_count,
    indices,
    numbers,
    texts,
    truths,
)
from lostsales.policy.file_format import Artefact, arrays_of
from lostsales.policy.rules import Rules
from lostsales.policy.view import Action, View
from lostsales.types import Array, Bools, Floats

NO_SAFE_DEPTH = 1 << 30
CHUNK = 4_000  # rows scored at once


class PlanSettings(StrictSettings):
    """The settings in a policy file."""

    multiplicative: bool
    integer: bool
    demand_max: Positive
    strict: bool
    discount: Annotated[float, Field(ge=0, lt=1)]
    pessimism: Annotated[float, Field(ge=0, le=1)]
    safe_depth: Depth
    learned_depth: Depth
    usual_demand: NonNegative
    family: str
    rules: Rules


@dataclass(frozen=True, eq=False)
class PlanPolicy(PolicyBase):
    """Greedy in the mean value over one or several laws of demand."""

    problem: Problem
    rules: Rules
    physics: Physics
    states: MarketStates
    series: SeriesTable
    latents: Floats  # (groups, laws, belief shapes, z nodes, prices, lags, atoms)
    next_values: Floats  # (groups, laws, w nodes, depths, lags, stocks)
    steps: Floats  # (groups, 2) of stock and last demand
    ranges: Floats  # (2, 2) least and most of z and the stock in the log
    allowed: Bools  # (actions,)
    multiplicative: bool
    integer: bool
    demand_max: float
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
    def tables(self) -> tuple[tuple[LatentTable, ...], ...]:
        """The law of demand by group and law."""
        demand = self.multiplicative, self.integer, float(self.demand_max)
        return tuple(
            tuple(LatentTable(each, float(steps[1]), *demand, float(scale)) for each in latents)
            for latents, steps, scale in zip(self.latents, self.steps, self.series.group_scale, strict=True)
        )

    @cached_property
    def tracker(self) -> BeliefTracker:
        """The belief over the last demand."""
        strict = self.physics.strict
        return BeliefTracker(self.problem, self.grid.prices, self.states, self.series, self.tables, strict)

    def summary(self) -> dict[str, Any]:
        """The method."""
        return {"method": "planner"}

    def decide(self, view: View, rng: np.random.Generator) -> Action:  # noqa: ARG002, the protocol passes it
        """Price and order of every series."""
        values, _ = self._values(view, self.tracker.belief(view))
        return Action(*self.grid.pairs[values.argmax(axis=1)].T)

    def explain(self, view: View) -> Decision:
        """The decision with its value, runner-up and warnings, the mean of the last demand and today's expected one."""
        belief = self.tracker.belief(view)
        values, penalty = self._values(view, belief)
        found, pairs, rows = greedy(values), self.grid.pairs, np.arange(len(values))
        price, order = pairs[found.best].T
        runner_up_price, runner_up_order = found.runner_up(pairs)
        scales_matter = len(self.series.group_scale) > 1 or self.series.effect.any()
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
            outside=self._is_outside(view, belief),
            unknown_series=self.series.is_unknown(belief.entry) if scales_matter else None,
            more={
                "last_demand": belief.mean,
                "expected_demand": self.tracker.expected_demand(view, belief, price),
            },
        )

    def _is_outside(self, view: View, belief: Belief) -> Bools:
        """Rows whose z or stock lies outside the log, (rows,)."""
        z = self.states.z(belief.features, self.series.effect[belief.entry])
        state = np.column_stack([z, view.stock])
        slack = 1e-9 * (1 + self.ranges[1] - self.ranges[0])
        return np.asarray(((state < self.ranges[0] - slack) | (state > self.ranges[1] + slack)).any(axis=1))

    def _values(self, view: View, belief: Belief) -> tuple[Floats, Floats]:
        """Value of every action, -inf where it is not allowed, and the penalty of pessimism in it, (rows, actions)."""
        effect = self.series.effect[belief.entry]
        rows = Rows(
            z_position=belief.z_position,
            w_position=self.states.w_position(belief.features, effect, self.grid.prices),
            depth=view.depth.astype(np.int64),
            lag=belief.mean,
            stock=view.stock.astype(np.float64),
        )
        values = np.empty((len(view.stock), len(self.grid)))
        penalty = np.zeros_like(values)
        for group, of_group in self.series.by_group(belief.entry):
            for start in range(0, len(of_group), CHUNK):
                chunk = of_group[start : start + CHUNK]
                by_law = self._values_by_law(group, rows.take(chunk))
                values[chunk] = by_law.mean(axis=0)
                if self.pessimism and len(by_law) > 1:
                    low = np.quantile(by_law, 0.5 * (1 - self.pessimism), axis=0)
                    penalty[chunk] = np.maximum(values[chunk] - low, 0.0)
        values -= penalty
        values[~self._allowed(view)] = -np.inf
        return values, penalty

    def _values_by_law(self, group: int, rows: Rows) -> Floats:
        """Value of every action under every law, (laws, rows, actions)."""
        dynamics = Dynamics(self.physics, self.discount, *map(float, self.steps[group]))
        values = np.empty((self.latents.shape[1], len(rows.stock), len(self.grid)))
        for each, table, next_values in zip(values, self.tables[group], self.next_values[group], strict=True):
            action_values(each, rows, table, next_values, self.grid.prices, self.grid.orders, dynamics)
        return values

    def _allowed(self, view: View) -> Bools:
        """Actions that each row may take, (rows, actions); from the safe depth on the paper's safe action only."""
        price, order = self.grid.pairs.T
        feasible = self.rules.feasible(self.grid, view.stock, view.last_price, view.features_by_name(self.asks))
        allowed = feasible & self.allowed
        allowed = np.where(allowed.any(axis=1, keepdims=True), allowed, feasible)
        deep = view.depth >= self.safe_depth
        if deep.any():
            allowed[deep] = keep_largest(keep_largest(allowed[deep], order), price)
        return allowed

    @classmethod
    def content(cls, header: Header) -> Content:
        """What a file of this kind may hold."""
        settings = checked_json(PlanSettings, header.settings, "its settings")
        return Content(
            arrays={
                "shops_names": texts("series"),
                "shops_attributes": numbers("series+1", "attributes"),
                "shops_scale": numbers("series+1", least=POSITIVE),
                "shops_effect": numbers("series+1"),
                "shops_group_scale": numbers("groups", least=POSITIVE),
                "shops_group": indices("series+1", below="groups"),
                "latents": numbers("groups", "laws", "shapes", "z", "prices", "lags", "atoms"),
                "following": numbers("groups", "laws", "w", "depths", "lags", "1+stocks"),
                "steps": numbers("groups", 2, least=POSITIVE),
                "costs": numbers(4, least=0),
                "ranges": numbers(2, 2),
                "barred": truths("actions"),
            }
            | {f"states_{name}": spec for name, spec in STATE_ARRAYS.items()},
            sizes=action_sizes(header.problem)
            | {"features": feature_count(header.problem.features)}
            | {"depths": Physics.of(header.problem, UnitCosts(0.0, 0.0, 0.0), settings.strict).depth_cap + 1},
            most={"laws": 10_000, "shapes": 100, "z": 1_000, "w": 1_000, "lags": 10_000, "atoms": 1_000},
            may_be_empty=("series", "attributes"),
        )

    def to_artefact(self) -> Artefact:
        """The arrays and settings of the file; `barred` are the actions that are not allowed."""
        arrays: dict[str, Array] = {
            "latents": self.latents.astype(np.float32),
            "following": self.next_values.astype(np.float32),
            "steps": self.steps,
            "costs": np.array(self.physics.costs),
            "ranges": self.ranges,
            "barred": ~self.allowed,
        }
        arrays |= {f"states_{name}": each for name, each in self.states.to_arrays().items()}
        arrays |= {f"shops_{name}": each for name, each in self.series.to_arrays().items()}
        settings: dict[str, Any] = {
            "multiplicative": self.multiplicative,
            "integer": self.integer,
            "demand_max": self.demand_max,
            "strict": self.physics.strict,
            "discount": self.discount,
            "pessimism": self.pessimism,
            "safe_depth": self.safe_depth,
            "learned_depth": self.learned_depth,
            "usual_demand": self.usual_demand,
            "family": self.family,
            "rules": self.rules.saved(),
        }
        return Artefact("plan", self.observes, None, self.problem, settings, arrays)

    @classmethod
    def from_artefact(cls, artefact: Artefact) -> "PlanPolicy":
        """From `to_artefact`."""
        arrays, settings = artefact.arrays, dict(artefact.settings)
        costs, strict = UnitCosts(*map(float, arrays["costs"])), settings.pop("strict")
        return cls(
            problem=artefact.problem,
            rules=Rules.of_saved(settings.pop("rules")),
            physics=Physics.of(artefact.problem, costs, strict),
            states=MarketStates.from_arrays(arrays_of("states", arrays)),
            series=SeriesTable.from_arrays(arrays_of("shops", arrays)),
            latents=arrays["latents"].astype(np.float64),
            next_values=arrays["following"].astype(np.float64),
            steps=arrays["steps"],
            ranges=arrays["ranges"],
            allowed=~arrays["barred"],
            **settings,
        )
