"""The protocols of policies: what they observe, decide, explain and save."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np

from lostsales.data.candidate_grid import CandidateGrid
from lostsales.data.feature import Feature
from lostsales.data.problem import Problem
from lostsales.policy.allocation import OrderValues
from lostsales.policy.decision import Decision
from lostsales.policy.expected import Expected
from lostsales.policy.view import Action, Features, View
from lostsales.registry import Registry
from lostsales.types import Floats

Observes = Literal["sales", "history", "demand"]


class Policy(Protocol):
    """Decides price and order of many series at once.

    Derive from `lostsales.policy.base.PolicyBase` for the defaults of all but `problem`, `observes` and `decide`.

    Examples
    --------
    >>> import lostsales
    >>> from lostsales.policy.simple import BaseStockRule
    >>> released = lostsales.Scenario.load("released")
    >>> policy: Policy = BaseStockRule(released.problem, level=20, price=6.0)
    >>> policy.observes, policy.horizon, policy.refusal
    ('sales', None, None)
    >>> log, truth = lostsales.simulate(released, policy, episodes=2)

    """

    @property
    def observes(self) -> Observes:
        """Information that it needs: the last sales, all closed periods as a retailer saw them, or true demand."""
        ...

    @property
    def problem(self) -> Problem:
        """The problem it decides for."""
        ...

    @property
    def asks(self) -> tuple[Feature, ...]:
        """The features of a view, in order: those of the problem, then unit costs that vary, where it uses them."""
        ...

    @property
    def horizon(self) -> int | None:
        """Number of periods that it plans, None where it decides the same in every one."""
        ...

    @property
    def refusal(self) -> str | None:
        """Reason why it cannot recommend to a shop, None where it can."""
        ...

    def decide(self, view: View, rng: np.random.Generator) -> Action:
        """Price and order of every series."""
        ...

    def explain(self, view: View) -> Decision:
        """The decision that it recommends, with its value, runner-up and flags."""
        ...

    def expect(self, view: View, action: Action, unit_cost: Floats | None = None) -> Expected | None:
        """Expectations of another action today; None where it has no demand model."""
        ...

    def order_values(self, view: View) -> OrderValues | None:
        """Value of candidate orders at the prices it decides; None where it does not value them."""
        ...

    def demand_atoms(self, view: View, price: Floats) -> Floats | None:
        """Equally likely demands of today at a price, (rows, atoms); None where it knows no law of demand."""
        ...

    def demand_futures(self, view: View, price: Floats, features: Sequence[Features]) -> Floats | None:
        """Equally likely demands of today and the periods with these features at one price, (rows, paths, periods).

        None where they follow from the demands of one period after another.
        """
        ...


class SavedPolicy(Policy, Protocol):
    """A policy with a file and recommendations: what `fit`, `load` and `solve` return.

    Examples
    --------
    >>> import lostsales
    >>> log, _ = lostsales.simulate("released", episodes=5, seed=1)
    >>> policy = lostsales.fit(log, "base-stock")
    >>> policy.summary()["order_up_to"], policy.usual_demand
    (20.0, 8.0)

    """

    @property
    def usual_demand(self) -> float:
        """Median observed demand of the log, for series without a last demand."""
        ...

    @property
    def may_recommend(self) -> CandidateGrid | None:
        """The prices and orders among which it chooses, None where it does not say."""
        ...

    def summary(self) -> dict[str, Any]:
        """Facts that `fit` reports of it, by name."""
        ...

    def save(self, path: str | Path) -> None:
        """Write it to a file for `lostsales.load`."""
        ...

    def recommend(self, recent: Any, today: Any = None) -> Any:
        """Price and order for today's open rows."""
        ...


# A file names the kind of its policy, and an installed package holds the code: reading a file runs none of its own.
POLICIES = Registry[type[SavedPolicy]]("lostsales.policies", "kind of policy")
