"""A policy around another one."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from lostsales.data.feature import Feature
from lostsales.policy.base import PolicyBase
from lostsales.policy.policy import Observes, Policy

Inside = TypeVar("Inside", bound=Policy)


@dataclass(frozen=True, eq=False)
class PolicyWrapper(PolicyBase, Generic[Inside]):
    """Observes, asks for and plans what the policy inside does."""

    policy: Inside

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
