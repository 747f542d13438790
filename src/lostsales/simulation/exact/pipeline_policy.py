"""The optimal policy of a scenario whose orders take time."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lostsales.data.problem import Problem
from lostsales.errors import LostSalesError
from lostsales.policy.base import PolicyBase
from lostsales.policy.file_content import ArraySpec, Content, Header, action_sizes
from lostsales.policy.file_format import Artefact
from lostsales.policy.policy import Observes
from lostsales.policy.view import Action, View
from lostsales.simulation.exact.pipeline_model import PipelineModel
from lostsales.simulation.exact.solved_policies import SolverSettings
from lostsales.types import Array


@dataclass(frozen=True, eq=False)
class PipelinePolicy(PolicyBase):
    """A table of actions by depth, features, true last demand, stock and pipeline."""

    settings: SolverSettings
    model: PipelineModel
    actions: Array  # (periods, depth, f, d, y, s); the last row holds for all later periods
    usual_demand: ClassVar[float] = 0.0  # never asked for, as it does not recommend

    @property
    def observes(self) -> Observes:
        """True demand, where the last one matters."""
        return "demand" if self.model.has_memory else "sales"

    @property
    def problem(self) -> Problem:
        """The problem it decides for."""
        return self.settings.scenario.problem

    @property
    def horizon(self) -> int | None:
        """Periods that it plans, None where it is stationary."""
        return self.settings.criterion.horizon

    @property
    def refusal(self) -> str | None:
        """It knows the law of the scenario, not that of a shop."""
        return "this policy can only be simulated: it knows the law of a scenario, not that of a shop"

    def decide(self, view: View, rng: np.random.Generator) -> Action:  # noqa: ARG002, the protocol passes it
        """Price and order of every series."""
        if self.horizon is not None and view.period >= self.horizon:
            raise LostSalesError(f"the policy plans {self.horizon} periods, but period {view.period} came (from 0)")
        table = self.actions[min(view.period, len(self.actions) - 1)]
        demand = np.zeros(len(view.stock), dtype=np.int64)
        if self.model.has_memory:
            if view.last_demand is None:
                raise LostSalesError("the oracle decides on the true last demand, but it was not shown")
            demand = np.clip(view.last_demand, 0, self.model.shape[1] - 1).astype(np.int64)
        feature, stock, pipeline = self.model.state_of(view)
        depth = np.minimum(view.depth, len(table) - 1)
        taken = table[depth, feature, demand, stock, pipeline]
        price, order = self.model.actions
        return Action(price[taken], order[taken])

    @classmethod
    def content(cls, header: Header) -> Content:
        """What a file of this kind may hold; `from_artefact` compares the shape with the model."""
        SolverSettings.of(header.settings).check(header.problem)
        spec = ArraySpec(("periods", "depths", "f", "d", "y", "s"), "index", least=0, below="actions")
        return Content({"actions": spec}, action_sizes(header.problem))

    def to_artefact(self) -> Artefact:
        """What has to be saved."""
        arrays = {"actions": self.actions}
        return Artefact("oracle-pipeline", self.observes, self.horizon, self.problem, self.settings.to_json(), arrays)

    @classmethod
    def from_artefact(cls, artefact: Artefact) -> "PipelinePolicy":
        """The policy again."""
        settings, actions = SolverSettings.of(artefact.settings), artefact.arrays["actions"]
        model = PipelineModel.of(settings.scenario, settings.grid)
        if actions.shape[2:] != model.shape or len(actions) != (settings.criterion.horizon or 1):
            raise LostSalesError(
                f"its array 'actions' must have {model.shape} states by its scenario, but has {actions.shape[2:]}"
            )
        if actions.max() >= len(model.actions[0]):
            raise LostSalesError("its array 'actions' names an action that its scenario does not have")
        return cls(settings, model, actions)
