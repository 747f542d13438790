"""Policies of the exact references."""

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from lostsales.data.problem import Problem
from lostsales.data.settings import StrictSettings, checked, checked_json
from lostsales.errors import LostSalesError
from lostsales.lab.exact.belief_filter import beliefs_of_runs, decide_on_belief
from lostsales.lab.exact.finite_model import FiniteModel, Resolution
from lostsales.lab.exact.pi_star import BeliefModel
from lostsales.lab.exact.value_iteration import Criterion
from lostsales.policy.base import PolicyBase
from lostsales.policy.file_content import ArraySpec, Content, Header, action_sizes, indices, numbers
from lostsales.policy.file_format import Artefact
from lostsales.policy.view import Action, View
from lostsales.simulation.scenario import Scenario
from lostsales.types import Array, Floats, Ints


class SavedResolution(StrictSettings):
    """A `Resolution` in a policy file."""

    nodes: Annotated[int, Field(ge=1, le=1_000)]
    orders_deep: Annotated[float, Field(ge=0, le=1_000)]
    widths: Annotated[int, Field(ge=2, le=1_000)]
    means: Annotated[int, Field(ge=1, le=1_000)]


class SavedCriterion(StrictSettings):
    """A `Criterion` in a policy file."""

    discount: Annotated[float, Field(ge=0, le=1)]
    horizon: Annotated[int, Field(ge=1)] | None


class SavedSolution(StrictSettings):
    """The settings in a policy file."""

    scenario: dict[str, Any]
    grid: SavedResolution
    criterion: SavedCriterion
    max_depth: Annotated[int, Field(ge=0, le=1_000)] | None


@dataclass(frozen=True)
class SolverSettings:
    """The problem that was solved."""

    scenario: Scenario
    grid: Resolution
    criterion: Criterion
    max_depth: int | None = None

    def to_json(self) -> dict[str, Any]:
        """The settings as a JSON object."""
        scenario = self.scenario.model_dump(mode="json", by_alias=True)
        criterion = asdict(self.criterion)
        return {"scenario": scenario, "grid": asdict(self.grid), "criterion": criterion, "max_depth": self.max_depth}

    @classmethod
    def of(cls, settings: dict[str, Any]) -> "SolverSettings":
        """Read the output of `to_json`."""
        saved = checked_json(SavedSolution, settings, "its settings")
        scenario = checked(Scenario, saved.scenario, "its scenario")
        grid, criterion = Resolution(**saved.grid.model_dump()), Criterion(**saved.criterion.model_dump())
        return cls(scenario, grid, criterion, saved.max_depth)

    def check(self, problem: Problem) -> None:
        """Raise where the scenario has another problem than the policy file."""
        if self.scenario.problem != problem:
            raise LostSalesError("its scenario and its problem differ")
        action_sizes(problem)


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
class SolvedPolicy(ScenarioPolicy, ABC):
    """Base of the policies whose orders take no time."""

    model: FiniteModel

    @abstractmethod
    def to_artefact(self) -> Artefact:
        """Artefact with everything to be saved."""

    @classmethod
    def content(cls, header: Header) -> Content:
        """Content of a file of this kind; `from_artefact` compares the shapes with the model."""
        settings = SolverSettings.of(header.settings)
        settings.check(header.problem)
        layers = sum(name.startswith("layer_") for name in header.names)
        return Content(cls.arrays(layers), action_sizes(header.problem), may_be_empty=("stock-outs",))

    @staticmethod
    @abstractmethod
    def arrays(layers: int) -> dict[str, ArraySpec]:
        """The arrays in a policy file."""

    @property
    def refusal(self) -> str | None:
        """It knows the law of the scenario, not that of a shop."""
        return "this policy can only be simulated: it does not explain its decisions"

    def demand_position(self, demand: Floats) -> Ints:
        """Demand as a position, clipped to the range."""
        return np.clip(demand, 0, self.model.shape[2] - 1).astype(np.int64)


@dataclass(frozen=True, eq=False)
class OraclePolicy(SolvedPolicy):
    """A table of actions by depth, features, true last demand and stock."""

    actions: Array  # (periods, depth, f, d, y)
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

    @staticmethod
    def arrays(layers: int) -> dict[str, ArraySpec]:  # noqa: ARG004, one signature
        """The arrays in a policy file."""
        return {"actions": indices("periods", "depths", "f", "d", "y", below="actions")}

    def to_artefact(self) -> Artefact:
        """Artefact with everything to be saved."""
        arrays = {"actions": self.actions}
        return Artefact("oracle", self.observes, self.horizon, self.problem, self.settings.to_json(), arrays)

    @classmethod
    def from_artefact(cls, artefact: Artefact) -> "OraclePolicy":
        """The policy again."""
        settings = SolverSettings.of(artefact.settings)
        model, actions = FiniteModel.of(settings.scenario, settings.grid), artefact.arrays["actions"]
        features, stocks, demands = model.shape
        _check_shape("actions", actions.shape[2:], (features, demands, stocks))
        _check_periods(settings, actions)
        return cls(settings, model, actions)


@dataclass(frozen=True, eq=False)
class BeliefPolicy(SolvedPolicy):
    """pi*: a table where the last demand is observed, else greedy one step ahead for the exact belief."""

    belief_model: BeliefModel
    actions: Array  # (periods, f, d, y) where the last demand is observed
    following: list[tuple[Array, ...]]  # the value after each period, one float32 (f, belief, y) a layer
    observes: Literal["history"] = "history"

    def decide(self, view: View, rng: np.random.Generator) -> Action:  # noqa: ARG002, the protocol passes it
        """Price and order of every series."""
        row = self.row(view, len(self.actions))
        feature, stock = self.model.state_of(view), self.model.position(view.stock)
        action = self.actions[row][feature, self.demand_position(view.last_sales), stock].astype(np.int64)
        runs = np.flatnonzero(view.depth > 0)
        if len(runs):
            beliefs, which = beliefs_of_runs(self.model, view, runs)
            layer = np.minimum(view.depth[runs], self.belief_model.layers)
            cell = np.stack([layer, which, feature[runs], stock[runs]])
            different, of_cell = np.unique(cell, axis=1, return_inverse=True)
            best = np.empty(different.shape[1], dtype=np.int64)
            for depth in np.unique(different[0]):
                at = different[0] == depth
                _, belief, state, units = different[:, at]
                discount = self.settings.criterion.discount
                best[at] = decide_on_belief(
                    self.belief_model, self.following[row], discount, int(depth), beliefs[belief], state, units
                )
            action[runs] = best[of_cell.reshape(-1)]
        return Action(*self.model.decode(action))

    @staticmethod
    def arrays(layers: int) -> dict[str, ArraySpec]:
        """The arrays in a policy file."""
        values = {f"layer_{i}": numbers("periods", "f", f"beliefs {i}", f"y {i}") for i in range(layers)}
        return {"actions": indices("periods", "f", "d", "y", below="actions"), **values}

    def to_artefact(self) -> Artefact:
        """Artefact with everything to be saved."""
        depths = range(self.belief_model.layers + 1)
        layers = {f"layer_{i}": np.array([each[i] for each in self.following]) for i in depths}
        arrays = {"actions": self.actions, **layers}
        return Artefact("pi-star-beliefs", self.observes, self.horizon, self.problem, self.settings.to_json(), arrays)

    @classmethod
    def from_artefact(cls, artefact: Artefact) -> "BeliefPolicy":
        """The policy again."""
        settings = SolverSettings.of(artefact.settings)
        model = FiniteModel.of(settings.scenario, settings.grid)
        belief_model = BeliefModel.of(model, settings.grid, settings.max_depth)
        actions, (features, stocks, demands) = artefact.arrays["actions"], model.shape
        layers = [artefact.arrays[f"layer_{i}"] for i in range(belief_model.layers + 1)]
        _check_shape("actions", actions.shape[1:], (features, demands, stocks))
        _check_periods(settings, actions)
        after = features, len(belief_model.beliefs.pmf), len(belief_model.stocks)
        for i, layer in enumerate(layers):
            _check_shape(f"layer_{i}", layer.shape[1:], after if i else (features, demands, stocks))
        if len(artefact.arrays) != len(layers) + 1:
            raise LostSalesError(f"it must have {len(layers)} layers of values")
        return cls(settings, model, belief_model, actions, list(zip(*layers, strict=True)))


@dataclass(frozen=True, eq=False)
class HistoryPolicy(SolvedPolicy):
    """pi* of a small scenario, on the tree of all histories."""

    actions: Array  # (periods, block, f)
    parents: Ints  # (stock-outs,) rising keys ((block * f + feature) * actions + action) * stocks + next stock
    children: Ints  # (stock-outs,)
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

    @staticmethod
    def arrays(layers: int) -> dict[str, ArraySpec]:  # noqa: ARG004, one signature
        """The arrays in a policy file."""
        return {
            "actions": indices("periods", "blocks", "f", below="actions"),
            "parents": ArraySpec(("stock-outs",), "index", least=0, rising=True),
            "children": indices("stock-outs", below="blocks"),
        }

    def to_artefact(self) -> Artefact:
        """Artefact with everything to be saved."""
        arrays = {"actions": self.actions, "parents": self.parents, "children": self.children}
        return Artefact("pi-star-histories", self.observes, self.horizon, self.problem, self.settings.to_json(), arrays)

    @classmethod
    def from_artefact(cls, artefact: Artefact) -> "HistoryPolicy":
        """The policy again."""
        settings = SolverSettings.of(artefact.settings)
        actions, parents, children = (artefact.arrays[name] for name in ("actions", "parents", "children"))
        model = FiniteModel.of(settings.scenario, settings.grid)
        features, stocks, demands = model.shape
        _check_shape("actions", actions.shape[2:], (features,))
        _check_periods(settings, actions)
        if actions.shape[1] < stocks * demands:
            raise LostSalesError(f"its array 'actions' must have at least {stocks * demands} blocks of histories")
        return cls(settings, model, actions, parents, children)


def _check_shape(name: str, found: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    if found != wanted:
        raise LostSalesError(f"its array {name!r} must have {wanted} states by its scenario, but has {found}")


def _check_periods(settings: SolverSettings, actions: Array) -> None:
    if len(actions) != (settings.criterion.horizon or 1):
        raise LostSalesError(f"its array 'actions' must have one row per period of its horizon, but has {len(actions)}")
