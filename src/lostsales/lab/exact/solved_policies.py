"""Policies of the exact references."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from lostsales.data.problem import Problem
from lostsales.errors import LostSalesError
from lostsales.lab.exact.belief_filter import beliefs_of_runs, decide_on_belief
from lostsales.lab.exact.finite_model import FiniteModel, Resolution
from lostsales.lab.exact.perishable import PerishableModel
from lostsales.lab.exact.pi_star import BeliefModel
from lostsales.lab.exact.pipeline_model import PipelineModel
from lostsales.lab.exact.value_iteration import Criterion
from lostsales.policy.action_grid import action_sizes
from lostsales.policy.base import PolicyBase
from lostsales.policy.policy import Observes
from lostsales.policy.view import Action, View
from lostsales.saved_fields import NOT_SAVED, Axis, indices, numbers, wholes
from lostsales.simulation.scenario import Scenario
from lostsales.types import Array, Floats, Ints


@dataclass(frozen=True)
class SolverSettings:
    """The problem that was solved."""

    scenario: Scenario
    grid: Resolution
    criterion: Criterion
    max_depth: Annotated[int, Field(ge=0, le=1_000)] | None = None

    @classmethod
    def axis_sizes(cls, saved: dict[str, Any]) -> dict[str, int]:
        """The grid of the scenario."""
        return action_sizes(saved["scenario"].problem)


@dataclass(frozen=True, eq=False)
class ScenarioPolicy(PolicyBase):
    """A policy that was solved for a scenario; tables have a row a period, the last one for all later periods."""

    settings: SolverSettings
    usual_demand: ClassVar[float] = 0.0  # never asked for, as it does not recommend

    @property
    def problem(self) -> Problem:
        """The problem it decides for."""
        return self.settings.scenario.problem

    @property
    def horizon(self) -> int | None:
        """Periods that it plans, None where it is stationary."""
        return self.settings.criterion.horizon

    def row(self, view: View, rows: int) -> int:
        """The row of the tables for this period."""
        if self.horizon is not None and view.period >= self.horizon:
            raise LostSalesError(f"the policy plans {self.horizon} periods, but period {view.period} came (from 0)")
        return min(view.period, rows - 1)


@dataclass(frozen=True, eq=False)
class SolvedPolicy(ScenarioPolicy):
    """Base of the policies whose orders take no time."""

    model: Annotated[FiniteModel, NOT_SAVED]

    @classmethod
    def derived(cls, saved: dict[str, Any]) -> dict[str, Any]:
        """The model, which follows from the settings."""
        return {"model": FiniteModel.of(saved["settings"].scenario, saved["settings"].grid)}

    @property
    def refusal(self) -> str | None:
        """Reason why it recommends nothing: it knows the law of a scenario, not that of a shop."""
        return "this policy can only be simulated: it does not explain its decisions"

    def demand_position(self, demand: Floats) -> Ints:
        """Demand as a position, clipped to the range."""
        return np.clip(demand, 0, self.model.shape[2] - 1).astype(np.int64)


@dataclass(frozen=True, eq=False)
class OraclePolicy(SolvedPolicy):
    """A table of actions by depth, features, true last demand and stock."""

    actions: Annotated[Array, indices("periods", "depths", "f", "d", "y", below="actions", compact=True)]
    observes: Literal["demand"] = "demand"
    refusal = PolicyBase.refusal

    def decide(self, view: View, rng: np.random.Generator) -> Action:  # noqa: ARG002, the protocol passes it
        """Price and order of every series."""
        if view.last_demand is None:
            raise LostSalesError("the oracle decides on the true last demand, but it was not shown")
        table = self.actions[self.row(view, len(self.actions))]
        depth = np.minimum(view.depth, len(table) - 1)
        demand, stock = self.demand_position(view.last_demand), self.model.position(view.stock)
        return Action(*self.model.decode(table[depth, self.model.state_of(view), demand, stock]))

    def validate(self) -> None:
        """Raise where a file has another table than the model."""
        features, stocks, demands = self.model.shape
        _check_shape("actions", self.actions.shape[2:], (features, demands, stocks))
        _check_periods(self.settings, self.actions)


@dataclass(frozen=True, eq=False)
class BeliefPolicy(SolvedPolicy):
    """pi*: a table where the last demand is observed, else greedy one step ahead for the exact belief."""

    belief_model: Annotated[BeliefModel, NOT_SAVED]
    # where the last demand is observed
    actions: Annotated[Array, indices("periods", "f", "d", "y", below="actions", compact=True)]
    # by layer, the value after each period, (periods, f, belief, y)
    following: tuple[Annotated[Array, numbers("periods", "f", "?", "?", compact=True)], ...]
    observes: Literal["history"] = "history"

    def decide(self, view: View, rng: np.random.Generator) -> Action:  # noqa: ARG002, the protocol passes it
        """Price and order of every series."""
        row = self.row(view, len(self.actions))
        feature, stock = self.model.state_of(view), self.model.position(view.stock)
        action = self.actions[row][feature, self.demand_position(view.last_sales), stock].astype(np.int64)
        runs = np.flatnonzero(view.depth > 0)
        if len(runs):
            beliefs, which = beliefs_of_runs(self.model, view, runs)
            following = tuple(each[row] for each in self.following)
            layer = np.minimum(view.depth[runs], self.belief_model.layers)
            cell = np.stack([layer, which, feature[runs], stock[runs]])
            different, of_cell = np.unique(cell, axis=1, return_inverse=True)
            best = np.empty(different.shape[1], dtype=np.int64)
            for depth in np.unique(different[0]):
                at = different[0] == depth
                _, belief, state, units = different[:, at]
                discount = self.settings.criterion.discount
                best[at] = decide_on_belief(
                    self.belief_model, following, discount, int(depth), beliefs[belief], state, units
                )
            action[runs] = best[of_cell.reshape(-1)]
        return Action(*self.model.decode(action))

    @classmethod
    def derived(cls, saved: dict[str, Any]) -> dict[str, Any]:
        """The models, which follow from the settings."""
        own, settings = super().derived(saved), saved["settings"]
        return own | {"belief_model": BeliefModel.of(own["model"], settings.grid, settings.max_depth)}

    def validate(self) -> None:
        """Raise where a file has other tables than the models."""
        (features, stocks, demands), beliefs = self.model.shape, self.belief_model
        _check_shape("actions", self.actions.shape[1:], (features, demands, stocks))
        _check_periods(self.settings, self.actions)
        after = features, len(beliefs.beliefs.pmf), len(beliefs.stocks)
        for i, layer in enumerate(self.following):
            _check_shape(f"following.{i}", layer.shape[1:], after if i else (features, demands, stocks))
        if len(self.following) != beliefs.layers + 1:
            raise LostSalesError(f"it must have {beliefs.layers + 1} layers of values")


@dataclass(frozen=True, eq=False)
class HistoryPolicy(SolvedPolicy):
    """pi* of a small scenario, on the tree of all histories."""

    AXES: ClassVar[dict[str, Axis]] = {"stock-outs": Axis(least=0)}

    actions: Annotated[Array, indices("periods", "blocks", "f", below="actions", compact=True)]
    # keys ((block * f + feature) * actions + action) * stocks + next stock
    parents: Annotated[Ints, wholes("stock-outs", least=0, most=2.0**62, rising=True)]
    children: Annotated[Ints, indices("stock-outs", below="blocks")]
    observes: Literal["history"] = "history"

    def decide(self, view: View, rng: np.random.Generator) -> Action:  # noqa: ARG002, the protocol passes it
        """Price and order of every series."""
        table = self.actions[self.row(view, len(self.actions))]
        block = self._block(view.stock, view.last_sales)
        for back in range(int(view.depth.max()), 0, -1):
            seen, action = view.past[-back]
            running = view.depth >= back
            start = np.where(view.depth == back, self._block(seen.stock, seen.last_sales), block)
            stock_tp1 = view.stock if back == 1 else view.past[1 - back].view.stock
            block = np.where(running, self._child(start, seen, action, stock_tp1), block)
        return Action(*self.model.decode(table[block, self.model.state_of(view)]))

    def _block(self, stock: Floats, demand: Floats) -> Ints:
        return self.model.position(stock) * self.model.shape[2] + self.demand_position(demand)

    def _child(self, block: Ints, seen: View, action: Action, stock_tp1: Floats) -> Ints:
        """The block after a stock-out; the same block at the largest depth of the tree."""
        if not len(self.parents):
            return block
        scenario, (features, stocks, _) = self.model.scenario, self.model.shape
        price, order = np.searchsorted(scenario.prices, action.price), np.searchsorted(scenario.orders, action.order)
        decided = price * len(scenario.orders) + order
        decision = (block * features + self.model.state_of(seen)) * len(scenario.prices) * len(scenario.orders)
        key = (decision + decided) * stocks + self.model.position(stock_tp1)
        place = np.minimum(np.searchsorted(self.parents, key), len(self.parents) - 1)
        return np.where(self.parents[place] == key, self.children[place], block)

    def validate(self) -> None:
        """Raise where a file has another table than the model."""
        features, stocks, demands = self.model.shape
        _check_shape("actions", self.actions.shape[2:], (features,))
        _check_periods(self.settings, self.actions)
        if self.actions.shape[1] < stocks * demands:
            raise LostSalesError(f"its array 'actions' must have at least {stocks * demands} blocks of histories")


@dataclass(frozen=True, eq=False)
class PipelinePolicy(ScenarioPolicy):
    """A table of actions by depth, features, last demand or belief about it, stock and pipeline.

    After a stock-out pi* acts as for the belief of the grid that is nearest to the exact one.
    """

    model: Annotated[PipelineModel | PerishableModel, NOT_SAVED]
    sees_demand: bool  # an oracle
    # the last row holds for all later periods
    actions: Annotated[Array, indices("periods", "depths", "f", "d", "y", "s", below="actions", compact=True)]

    @property
    def observes(self) -> Observes:
        """Source of the last demand: true demand or the history, if it matters."""
        if self.model.beliefs is not None:
            return "history"
        return "demand" if self.model.has_memory or isinstance(self.model, PerishableModel) else "sales"

    @property
    def refusal(self) -> str | None:
        """Reason why it recommends nothing: it knows the law of a scenario, not that of a shop."""
        return "this policy can only be simulated: it knows the demand distribution of a scenario, not that of a shop"

    def decide(self, view: View, rng: np.random.Generator) -> Action:  # noqa: ARG002, the protocol passes it
        """Price and order of every series."""
        table = self.actions[self.row(view, len(self.actions))]
        demand = self._last_demand(view)
        feature, stock, pipeline = self.model.state_of(view)
        depth = np.minimum(view.depth, len(table) - 1)
        taken = table[depth, feature, demand, stock, pipeline]
        price, order = self.model.actions
        return Action(price[taken], order[taken])

    def _last_demand(self, view: View) -> Ints:
        """The position of the last demand, or of the belief about it, of every series."""
        model = self.model
        if isinstance(model, PerishableModel) or (model.beliefs is None and not model.has_memory):
            return np.zeros(len(view.stock), dtype=np.int64)
        if model.beliefs is None and view.last_demand is None:
            raise LostSalesError("the oracle decides on the true last demand, but it was not shown")
        seen = view.last_sales if view.last_demand is None else view.last_demand
        at = model.point[np.clip(seen, 0, len(model.point) - 1).astype(np.int64)]
        runs = np.flatnonzero(view.depth > 0)
        if model.beliefs is not None and len(runs):
            belief, which = beliefs_of_runs(model, view, runs)
            demands = np.arange(belief.shape[1])
            mean = belief @ demands
            position, weight = model.beliefs.locate(mean, np.maximum(belief @ demands**2 - mean**2, 0.0))
            at[runs] = np.take_along_axis(position, weight.argmax(axis=1)[:, None], axis=1)[which, 0]
        return at

    @classmethod
    def derived(cls, saved: dict[str, Any]) -> dict[str, Any]:
        """The model, which follows from the settings."""
        scenario = saved["settings"].scenario
        if scenario.product.shelf_life is not None:
            return {"model": PerishableModel.of(scenario)}
        return {"model": PipelineModel.of(scenario, saved["settings"].grid, saved["sees_demand"])}

    def validate(self) -> None:
        """Raise where a file has another table than the model."""
        _check_shape("actions", self.actions.shape[2:], self.model.shape)
        _check_periods(self.settings, self.actions)
        if self.actions.max() >= len(self.model.actions[0]):
            raise LostSalesError("its array 'actions' names an action that its scenario does not have")


def _check_shape(name: str, found: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    if found != wanted:
        raise LostSalesError(f"its array {name!r} must have {wanted} states by its scenario, but has {found}")


def _check_periods(settings: SolverSettings, actions: Array) -> None:
    if len(actions) != (settings.criterion.horizon or 1):
        raise LostSalesError(f"its array 'actions' must have one row per period of its horizon, but has {len(actions)}")
