"""Simple policies that make histories: uniform, base-stock, and a little exploration around any policy."""

from dataclasses import dataclass

import numpy as np

from lostsales.policy.action_grid import ActionGrid
from lostsales.policy.rollout import Action, Observes, Policy, View


@dataclass(frozen=True)
class Uniform:
    """Every feasible (price, order) of the grid is as likely as any other."""

    grid: ActionGrid
    observes: Observes = "sales"

    def decide(self, view: View, rng: np.random.Generator) -> Action:
        """Draw a price and, apart from it, a feasible order."""
        grid, series = self.grid, len(view.stock)
        if np.isinf(grid.room):
            drawn = rng.integers(0, len(grid), size=series, dtype=np.min_scalar_type(len(grid)))
            orders = len(grid.orders)
            return Action(
                np.repeat(grid.prices, orders).take(drawn), np.tile(grid.orders, len(grid.prices)).take(drawn)
            )
        order = (rng.random(series) * grid.feasible_orders(view.stock)).astype(np.int64)
        return Action(grid.prices[rng.integers(0, len(grid.prices), size=series)], grid.orders[order])


@dataclass(frozen=True)
class BaseStock:
    """One price, and an order that fills the stock up to a level as far as the grid allows."""

    grid: ActionGrid
    level: float
    price: float
    observes: Observes = "sales"

    def decide(self, view: View, rng: np.random.Generator) -> Action:  # noqa: ARG002, the protocol passes it
        """The largest order of the grid that does not pass the level; the smallest where every one does."""
        wanted = np.searchsorted(self.grid.orders, self.level - view.stock, side="right") - 1
        order = np.clip(wanted, 0, self.grid.feasible_orders(view.stock) - 1)
        return Action(np.full(len(view.stock), self.price), self.grid.orders[order])


@dataclass(frozen=True)
class EpsilonGreedy:
    """Follows `policy`, but with probability `epsilon` draws uniformly from the grid."""

    policy: Policy
    epsilon: float
    grid: ActionGrid

    @property
    def observes(self) -> Observes:
        """What the policy inside observes."""
        return self.policy.observes

    def decide(self, view: View, rng: np.random.Generator) -> Action:
        """One coin a series decides which of the two is followed."""
        greedy, drawn = self.policy.decide(view, rng), Uniform(self.grid).decide(view, rng)
        explores = rng.random(len(view.stock)) < self.epsilon
        return Action(np.where(explores, drawn.price, greedy.price), np.where(explores, drawn.order, greedy.order))
