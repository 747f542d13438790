"""A policy around another one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Generic, TypeVar

import numpy as np

from lostsales.data.feature import Feature
from lostsales.data.problem import Problem
from lostsales.errors import LostSalesError
from lostsales.policy.allocation import OrderValues
from lostsales.policy.base import PolicyBase
from lostsales.policy.expected import Expected
from lostsales.policy.policy import Observes, Policy
from lostsales.policy.view import Action, Features, View
from lostsales.saved_fields import SOME_POLICY
from lostsales.types import Floats

Inside = TypeVar("Inside", bound=Policy)


@dataclass(frozen=True, eq=False)
class PolicyWrapper(PolicyBase, Generic[Inside]):
    """Policy that does what the policy inside does, but for the methods that a subclass changes."""

    policy: Annotated[Inside, SOME_POLICY]

    @property
    def observes(self) -> Observes:
        """Information that the policy inside needs."""
        return self.policy.observes

    @property
    def asks(self) -> tuple[Feature, ...]:
        """Features that the policy inside asks for."""
        return self.policy.asks

    @property
    def horizon(self) -> int | None:
        """Number of periods that the policy inside plans."""
        return self.policy.horizon

    def decide(self, view: View, rng: np.random.Generator) -> Action:
        """Price and order of every product by the policy inside."""
        return self.policy.decide(view, rng)

    def expect(self, view: View, action: Action, unit_cost: Floats | None = None) -> Expected | None:
        """Expectations of the policy inside."""
        return self.policy.expect(view, action, unit_cost)

    def order_values(self, view: View) -> OrderValues | None:
        """Values of orders by the policy inside."""
        return self.policy.order_values(view)

    def demand_atoms(self, view: View, price: Floats) -> Floats | None:
        """Equally likely demands by the policy inside."""
        return self.policy.demand_atoms(view, price)

    def demand_futures(self, view: View, price: Floats, features: Sequence[Features]) -> Floats | None:
        """Equally likely demands of the coming periods by the policy inside."""
        return self.policy.demand_futures(view, price, features)

    def validate(self: Policy) -> None:
        """Raise where a file says that the policy inside was made for another kind of shop."""
        inside: Policy = self.policy  # type: ignore[attr-defined]
        if _kind_of_shop(inside.problem) != _kind_of_shop(self.problem):
            raise LostSalesError("the policy inside was made for another problem")


def _kind_of_shop(problem: Problem) -> tuple[object, ...]:
    """Fields of a problem that do not depend on the units of prices and quantities."""
    supply = problem.supply
    columns = problem.features, problem.attributes, problem.calendar, problem.columns
    return *columns, problem.arrival, problem.balance, problem.longest_run, problem.lead_times, supply.order_cycle
