"""Policies without learning: uniform, base-stock, and exploration around any policy."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lostsales.data.problem import Problem
from lostsales.policy.action_grid import ActionGrid
from lostsales.policy.base import PolicyBase
from lostsales.policy.decision import Decision
from lostsales.policy.policy import Observes, Policy
from lostsales.policy.view import Action, View
from lostsales.policy.wrapper import PolicyWrapper


@dataclass(frozen=True)
class Uniform(PolicyBase):
    """Every feasible (price, order) of the grid is as likely as any other."""

    problem: Problem
    observes: Observes = "sales"

    @cached_property
    def grid(self) -> ActionGrid:
        """The actions."""
        return ActionGrid.of(self.problem)

    def decide(self, view: View, rng: np.random.Generator) -> Action:
        """Draw a price and, apart from it, a feasible order."""
        grid, series, limit = self.grid, len(view.stock), view.order_limit(self.problem)
        if np.isinf(grid.room) and limit is None:
            drawn = rng.integers(0, len(grid), size=series, dtype=np.min_scalar_type(len(grid)))
            orders = len(grid.orders)
            return Action(
                np.repeat(grid.prices, orders).take(drawn), np.tile(grid.orders, len(grid.prices)).take(drawn)
            )
        order = (rng.random(series) * grid.feasible_orders(view.stock, limit)).astype(np.int64)
        return Action(grid.prices[rng.integers(0, len(grid.prices), size=series)], grid.orders[order])


@dataclass(frozen=True)
class BaseStockRule(PolicyBase):
    """One price, and an order that fills stock and pipeline up to a level as far as the grid allows."""

    problem: Problem
    level: float
    price: float
    observes: Observes = "sales"

    @cached_property
    def grid(self) -> ActionGrid:
        """The actions."""
        return ActionGrid.of(self.problem)

    def decide(self, view: View, rng: np.random.Generator) -> Action:  # noqa: ARG002, the protocol passes it
        """The largest order of the grid that does not pass the level; the smallest where every one does."""
        position = view.stock + view.on_order
        wanted = np.searchsorted(self.grid.orders, self.level - position, side="right") - 1
        order = np.clip(wanted, 0, self.grid.feasible_orders(view.stock, view.order_limit(self.problem)) - 1)
        return Action(np.full(len(view.stock), self.price), self.grid.orders[order])


@dataclass(frozen=True)
class EpsilonGreedy(PolicyWrapper[Policy]):
    """Follows `policy`, with probability `epsilon` draws uniformly from the grid; recommends as `policy` does."""

    epsilon: float

    @property
    def problem(self) -> Problem:
        """The problem of the policy inside."""
        return self.policy.problem

    @cached_property
    def _uniform(self) -> Uniform:
        return Uniform(self.problem)

    def decide(self, view: View, rng: np.random.Generator) -> Action:
        """One coin a series decides which of the two is followed."""
        greedy, drawn = self.policy.decide(view, rng), self._uniform.decide(view, rng)
        explores = rng.random(len(view.stock)) < self.epsilon
        return Action(np.where(explores, drawn.price, greedy.price), np.where(explores, drawn.order, greedy.order))

    def explain(self, view: View) -> Decision:
        """The decision of the policy inside."""
        return self.policy.explain(view)
