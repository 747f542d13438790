"""What moves stock and money, in the form that compiled loops take."""

from typing import NamedTuple

import numpy as np

from lostsales.data.economics import UnitCosts
from lostsales.data.problem import Problem

KINDS = 3  # of what is known of the last demand: itself, hidden by one stock-out, by several


class Physics(NamedTuple):
    """How an action becomes profit and the next stock."""

    after: bool  # orders arrive after the sales of the day
    netted: bool
    strict: bool  # a stock-out is told apart from selling out exactly
    truncates: bool
    forbids: bool  # orders beyond the room are not taken
    room: float
    lost_cost: float
    order_cost: float
    holding_cost: float
    fixed_order_cost: float
    layers: int  # depths that are told apart

    @classmethod
    def of(cls, problem: Problem, costs: UnitCosts, strict: bool) -> "Physics":
        """From a log's problem; costs that vary by row enter by their mean."""
        mean = costs.mean()
        return cls(
            after=problem.arrival == "after",
            netted=problem.balance == "netted",
            strict=strict,
            truncates=problem.longest_run is not None,
            forbids=problem.capacity_rule == "forbid",
            room=float(np.inf if problem.capacity is None else problem.capacity),
            lost_cost=float(mean.lost),
            order_cost=float(mean.order),
            holding_cost=float(mean.holding),
            fixed_order_cost=mean.fixed_order,
            layers=problem.longest_run or KINDS - 1,
        )

    @property
    def costs(self) -> tuple[float, float, float, float]:
        """Of a lost sale, of a unit ordered, of a unit held, of ordering at all."""
        return self.lost_cost, self.order_cost, self.holding_cost, self.fixed_order_cost
