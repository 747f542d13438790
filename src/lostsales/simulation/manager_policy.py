"""The manager of a scenario as a policy: prices and orders by what a person in the shop sees, hidden features too."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lostsales.data.feature import Feature
from lostsales.data.problem import Problem
from lostsales.errors import SettingError
from lostsales.policy.action_grid import ActionGrid
from lostsales.policy.base import PolicyBase
from lostsales.policy.policy import Observes
from lostsales.policy.view import Action, View
from lostsales.simulation.manager import Manager, Rule
from lostsales.simulation.scenario import Scenario
from lostsales.types import Floats


@dataclass(frozen=True)
class ManagerPolicy(PolicyBase):
    """Follows the rules of a manager.

    Examples
    --------
    >>> manager = ManagerPolicy.of(Scenario.load("confounded"))
    >>> [each.name for each in manager.asks], [each.name for each in manager.problem.features]
    (['market'], [])

    """

    scenario: Scenario
    manager: Manager
    observes: Observes = "sales"

    @classmethod
    def of(cls, scenario: Scenario) -> "ManagerPolicy":
        """The manager of a scenario that has one."""
        if scenario.manager is None:
            raise SettingError(f"scenario {scenario.name} has no manager: give it a table [manager]")
        return cls(scenario, scenario.manager)

    @property
    def problem(self) -> Problem:
        """Problem of the scenario as the log shows it."""
        return self.scenario.problem

    @property
    def asks(self) -> tuple[Feature, ...]:
        """All features, the hidden ones last."""
        return (*self.problem.features, *(Feature(name=name) for name in self.scenario.hidden))

    @cached_property
    def grid(self) -> ActionGrid:
        """The actions."""
        return ActionGrid.of(self.problem)

    def decide(self, view: View, rng: np.random.Generator) -> Action:
        """The nearest price of the grid, and the order that brings the stock nearest to the level."""
        grid = self.grid
        price = _nearest(grid.prices, self._wanted(self.manager.price, view, rng))
        position = view.stock + view.on_order
        order = _nearest(grid.orders, self._wanted(self.manager.level, view, rng) - position)
        if self.manager.stray:
            drawn = grid.orders[rng.integers(0, len(grid.orders), len(order))]
            order = np.where(rng.random(len(order)) < self.manager.stray, drawn, order)
        most = grid.feasible_orders(view.stock, view.order_limit(self.problem)) - 1
        return Action(price, np.minimum(order, grid.orders[most]))

    def _wanted(self, rule: Rule, view: View, rng: np.random.Generator) -> Floats:
        seen = dict(zip(self.scenario.features, view.features, strict=True))
        seen |= {"last_sales": view.last_sales, "stock": view.stock}
        wanted = rule.base + rule.noise * rng.standard_normal(len(view.stock))
        for name, effect in rule.on.items():
            strength = self.scenario.strength if name in self.scenario.hidden else 1.0
            value = np.array(effect)[seen[name].astype(np.int64)] if isinstance(effect, tuple) else effect * seen[name]
            wanted += strength * value
        return np.asarray(wanted)


def _nearest(grid: Floats, wanted: Floats) -> Floats:
    middle = (grid[1:] + grid[:-1]) / 2
    return np.asarray(grid[np.searchsorted(middle, wanted)])
