"""Movement of stock and money, in the form that compiled loops take."""

from typing import NamedTuple

from lostsales.data.economics import UNBOUNDED, StockFlow, UnitCosts
from lostsales.data.problem import Problem

BELIEF_SHAPES = 3  # of the last demand: observed, hidden by one stock-out, hidden by several


class Physics(NamedTuple):
    """Rules by which an action and a demand become profit and the next stock."""

    flow: StockFlow
    costs: UnitCosts  # numbers
    strict: bool  # a stock-out is distinguished from selling out exactly
    depth_cap: int  # greater depths count as this one

    @classmethod
    def of(cls, problem: Problem, costs: UnitCosts, strict: bool) -> "Physics":
        """Physics of a log's problem; costs that vary by row enter by their mean."""
        flow = problem.flow
        return cls(flow, costs.mean(), strict, BELIEF_SHAPES - 1 if flow.longest_run == UNBOUNDED else flow.longest_run)
