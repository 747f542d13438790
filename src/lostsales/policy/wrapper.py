"""A policy around another one."""

from dataclasses import dataclass
from typing import Annotated, Generic, TypeVar

from lostsales.data.feature import Feature
from lostsales.data.problem import Problem
from lostsales.errors import LostSalesError
from lostsales.policy.base import PolicyBase
from lostsales.policy.policy import Observes, Policy
from lostsales.saved_fields import SOME_POLICY

Inside = TypeVar("Inside", bound=Policy)


@dataclass(frozen=True, eq=False)
class PolicyWrapper(PolicyBase, Generic[Inside]):
    """Observes, asks for and plans what the policy inside does."""

    policy: Annotated[Inside, SOME_POLICY]

    @property
    def observes(self) -> Observes:
        """What the policy inside observes."""
        return self.policy.observes

    @property
    def asks(self) -> tuple[Feature, ...]:
        """What the policy inside asks for."""
        return self.policy.asks

    @property
    def horizon(self) -> int | None:
        """That of the policy inside."""
        return self.policy.horizon

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
