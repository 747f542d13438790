"""What moves stock and money, in the form that compiled loops take."""

from typing import NamedTuple

import numpy as np

from lostsales.data.economics import UnitCosts
from lostsales.data.problem import Problem
from lostsales.types import Floats

BELIEF_SHAPES = 3  # of the last demand: observed, hidden by one stock-out, hidden by several


class Physics(NamedTuple):
    """How an action and a demand become profit and the next stock."""

    after: bool  # orders arrive after the sales of the period
    netted: bool
    strict: bool  # a stock-out is distinguished from selling out exactly
    truncates: bool  # demand is truncated at the longest run
    forbids: bool  # orders beyond the capacity are not allowed
    capacity: float
    lost_cost: float
    order_cost: float
    holding_cost: float
    fixed_order_cost: float
    depth_cap: int  # greater depths count as this one

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
            capacity=float(np.inf if problem.capacity is None else problem.capacity),
            lost_cost=float(mean.lost),
            order_cost=float(mean.order),
            holding_cost=float(mean.holding),
            fixed_order_cost=mean.fixed_order,
            depth_cap=problem.longest_run or BELIEF_SHAPES - 1,
        )

    def with_costs(self, costs: Floats) -> "Physics":
        """The same with other costs: of a lost sale, an order, holding, and the fixed cost of an order."""
        lost, order, holding, fixed = map(float, costs)
        return self._replace(lost_cost=lost, order_cost=order, holding_cost=holding, fixed_order_cost=fixed)

    @property
    def costs(self) -> tuple[float, float, float, float]:
        """Unit costs of a lost sale, an order and holding, and the fixed cost of an order."""
        return self.lost_cost, self.order_cost, self.holding_cost, self.fixed_order_cost
