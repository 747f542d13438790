"""A policy for some of the products of a shop: for the others it says so, and the manager decides as before."""

from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from lostsales.data.candidate_grid import CandidateGrid
from lostsales.data.problem import Problem
from lostsales.policy.decision import Decision
from lostsales.policy.policy import SavedPolicy
from lostsales.policy.provenance import learned_by, verdict_of, with_provenance, with_verdict
from lostsales.policy.view import View
from lostsales.policy.wrapper import PolicyWrapper
from lostsales.saved_fields import texts
from lostsales.types import Array


@dataclass(frozen=True, eq=False)
class ChosenProducts(PolicyWrapper[SavedPolicy]):
    """Decides for all products, and marks those for which what was done before is to be kept.

    Parameters
    ----------
    policy : SavedPolicy
        What `fit` or `load` gives.
    products : array of str
        Names of the products that it should decide for, as `evaluate` and `compare` choose them.

    Examples
    --------
    >>> import lostsales
    >>> log, _ = lostsales.simulate("released", episodes=5, seed=1)
    >>> policy = ChosenProducts(lostsales.fit(log, "base-stock"), np.array(["0", "3"], dtype=object))
    >>> policy.summary()["products"]
    ['0', '3']

    """

    products: Annotated[Array, texts("products")]  # those that the policy should decide for

    def __post_init__(self) -> None:
        """It decides as the policy inside does, and so was learned as that was."""
        with_verdict(with_provenance(self, learned_by(self.policy)), verdict_of(self.policy))

    @property
    def problem(self) -> Problem:
        """The problem of the policy inside."""
        return self.policy.problem

    @property
    def usual_demand(self) -> float:
        """Usual demand of the policy inside."""
        return self.policy.usual_demand

    @property
    def may_recommend(self) -> CandidateGrid | None:
        """Grid of the policy inside."""
        return self.policy.may_recommend

    def summary(self) -> dict[str, Any]:
        """Summary of the policy inside, and the products that it should decide for."""
        return self.policy.summary() | {"products": self.products.tolist()}

    def explain(self, view: View) -> Decision:
        """The decision of the policy inside, with products that were not chosen marked."""
        found = self.policy.explain(view)
        if view.names is None:
            return found
        return replace(found, not_chosen=~np.isin(view.names.astype(str), self.products.astype(str)))
