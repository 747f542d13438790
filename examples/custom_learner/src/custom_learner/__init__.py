"""A learner from another package: keep the last price and order up to a quantile of the sales in the log."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from lostsales import Learner, Problem, SalesLog
from lostsales.data.progress import Progress
from lostsales.learn.training_data import TrainingData
from lostsales.policy.action_grid import ActionGrid
from lostsales.policy.base import PolicyBase
from lostsales.policy.decision import Decision
from lostsales.policy.rules import SavedRules
from lostsales.policy.view import Action, View
from lostsales.saved_fields import NonNegative


class SalesQuantile(Learner):
    """Order up to a quantile of the sales in the log, at the last price."""

    method: ClassVar[str] = "sales-quantile"

    quantile: Annotated[float, Field(gt=0, lt=1)] = Field(0.9, description="Share of periods whose sales it covers.")

    def fit(self, log: SalesLog, progress: Progress | None = None) -> "SalesQuantilePolicy":  # noqa: ARG002, quick
        """The quantile, and the median price for series without a last price."""
        data = TrainingData.of(log, self.rules)  # refuses a log without stock, orders or costs
        return SalesQuantilePolicy(
            problem=data.problem,
            rules=self.rules,
            order_up_to=float(np.quantile(log.sales, self.quantile)),
            first_price=float(np.median(log.price)),
            most_stock=float(np.max(np.asarray(log.stock))),
            usual_demand=data.usual_demand,
        )


@dataclass(frozen=True, eq=False)
class SalesQuantilePolicy(PolicyBase):
    """Order up to one level at the last price, or the nearest action that the rules allow."""

    problem: Problem
    rules: SavedRules
    order_up_to: NonNegative  # the declarations say what a policy file may hold
    first_price: NonNegative
    most_stock: NonNegative  # in the log
    usual_demand: NonNegative
    observes: Literal["history"] = "history"  # the last price is part of the history

    @cached_property
    def grid(self) -> ActionGrid:
        """The actions."""
        return ActionGrid.of(self.problem)

    def decide(self, view: View, rng: np.random.Generator) -> Action:  # noqa: ARG002, it draws nothing
        """Price and order of every series."""
        last_price = view.last_price  # NaN where there is none
        may = self.rules.feasible(self.grid, view.stock, last_price, view.features_by_name(self.asks))
        wanted_price = np.where(np.isnan(last_price), self.first_price, last_price)
        wanted_order = np.maximum(self.order_up_to - view.stock, 0.0)
        return self.grid.nearest(Action(wanted_price, wanted_order), may)

    def explain(self, view: View) -> Decision:
        """The decision; a stock larger than any in the log is flagged."""
        action = self.decide(view, np.random.default_rng(0))
        return replace(Decision.without_reasons(action), outside=view.stock > self.most_stock)

    def summary(self) -> dict[str, Any]:
        """What `lostsales fit` prints."""
        return {"order_up_to": self.order_up_to, "first_price": self.first_price}
