"""The optimal policies of a scenario whose orders take time: the oracle, and pi* on beliefs."""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from lostsales.errors import LostSalesError
from lostsales.lab.exact.beliefs import conditioned
from lostsales.lab.exact.pipeline_model import PipelineModel
from lostsales.lab.exact.solved_policies import ScenarioPolicy
from lostsales.policy.policy import Observes
from lostsales.policy.view import Action, View
from lostsales.saved_fields import NOT_SAVED, indices
from lostsales.types import Array, Floats, Ints


@dataclass(frozen=True, eq=False)
class PipelinePolicy(ScenarioPolicy):
    """A table of actions by depth, features, last demand or belief about it, stock and pipeline.

    After a stock-out pi* acts as for the belief of the grid that is nearest to the exact one.
    """

    model: Annotated[PipelineModel, NOT_SAVED]
    sees_demand: bool  # an oracle
    # the last row holds for all later periods
    actions: Annotated[Array, indices("periods", "depths", "f", "d", "y", "s", below="actions", compact=True)]

    @property
    def observes(self) -> Observes:
        """Source of the last demand: true demand or the history, if it matters."""
        if self.model.beliefs is not None:
            return "history"
        return "demand" if self.model.has_memory else "sales"

    @property
    def refusal(self) -> str | None:
        """It knows the law of the scenario, not that of a shop."""
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
        if model.beliefs is None and not model.has_memory:
            return np.zeros(len(view.stock), dtype=np.int64)
        if model.beliefs is None and view.last_demand is None:
            raise LostSalesError("the oracle decides on the true last demand, but it was not shown")
        seen = view.last_sales if view.last_demand is None else view.last_demand
        at = model.point[np.clip(seen, 0, len(model.point) - 1).astype(np.int64)]
        runs = np.flatnonzero(view.depth > 0)
        if model.beliefs is not None and len(runs):
            belief = self._beliefs(view, runs)
            demands = np.arange(belief.shape[1])
            mean = belief @ demands
            position, weight = model.beliefs.locate(mean, np.maximum(belief @ demands**2 - mean**2, 0.0))
            at[runs] = np.take_along_axis(position, weight.argmax(axis=1)[:, None], axis=1)[:, 0]
        return at

    def _beliefs(self, view: View, rows: Ints) -> Floats:
        """The exact law of the last demand of series in a run, (rows, demands): filtered from the anchor on."""
        model, depth = self.model, view.depth[rows]
        points, demands = model.point, len(model.point)
        belief = np.zeros((len(rows), demands))
        for back in range(int(depth.max()), 0, -1):
            past, action = view.past[-back]
            sold = (view.last_sales if back == 1 else view.past[1 - back].view.last_sales)[rows]
            starts = depth == back
            anchor = np.clip(past.last_sales[rows[starts]], 0, demands - 1).astype(np.int64)
            belief[starts] = np.eye(demands)[anchor]
            running = np.flatnonzero(depth >= back)
            law = (model.first_pmf if past.period == 0 else model.pmf)[:, :, points]  # (f, p, d, D)
            price = np.searchsorted(model.scenario.prices, action.price[rows[running]])
            drawn = np.einsum("rd,rdD->rD", belief[running], law[model.state_of(past)[0][rows[running]], price])
            belief[running] = conditioned(drawn, np.arange(demands) > sold[running, None])
        return belief

    @classmethod
    def derived(cls, saved: dict[str, Any]) -> dict[str, Any]:
        """The model, which follows from the settings."""
        return {"model": PipelineModel.of(saved["settings"].scenario, saved["settings"].grid, saved["sees_demand"])}

    def validate(self) -> None:
        """Raise where a file has another table than the model."""
        shape, periods = self.actions.shape, self.settings.criterion.horizon or 1
        if shape[2:] != self.model.shape or len(self.actions) != periods:
            raise LostSalesError(
                f"its array 'actions' must have {self.model.shape} states by its scenario, but has {shape[2:]}"
            )
        if self.actions.max() >= len(self.model.actions[0]):
            raise LostSalesError("its array 'actions' names an action that its scenario does not have")
