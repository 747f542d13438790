"""Defaults of the policy protocol, `save` and `recommend`; and a policy around another one."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

import numpy as np

from lostsales.data.candidate_grid import CandidateGrid
from lostsales.data.feature import Feature
from lostsales.data.problem import Problem
from lostsales.errors import LostSalesError
from lostsales.policy.decision import Decision
from lostsales.policy.expected import Expected
from lostsales.policy.file_format import save
from lostsales.policy.policy import Observes, Policy, SavedPolicy
from lostsales.policy.recommendation import recommend
from lostsales.policy.view import Action, View
from lostsales.saved_fields import SOME_POLICY
from lostsales.types import Floats


class PolicyBase:
    """A policy that decides the same in every period, on the features of its problem."""

    @property
    def asks(self: Policy) -> tuple[Feature, ...]:
        """The features of the problem."""
        return self.problem.features

    @property
    def horizon(self) -> int | None:
        """None: it decides the same in every period."""
        return None

    @property
    def refusal(self: Policy) -> str | None:
        """A policy that needs true demand cannot recommend: a shop does not observe it."""
        needs_demand = "this policy needs true demand, which no shop sees: it can only be simulated"
        return needs_demand if self.observes == "demand" else None

    @property
    def may_recommend(self: Policy) -> CandidateGrid | None:
        """The prices and orders of the problem, where it declares both."""
        prices, orders = self.problem.prices, self.problem.orders
        return None if prices is None or orders is None else CandidateGrid(np.array(prices), np.array(orders))

    def explain(self: Policy, view: View) -> Decision:
        """The decision, without reasons."""
        return Decision.without_reasons(self.decide(view, np.random.default_rng(0)))

    def expect(self, view: View, action: Action, unit_cost: Floats | None = None) -> Expected | None:  # noqa: ARG002
        """None: it knows no law of demand."""
        return None

    def demand_atoms(self, view: View, price: Floats) -> Floats | None:  # noqa: ARG002
        """None: it knows no law of demand."""
        return None

    def __init_subclass__(cls, **options: Any) -> None:
        """Give every policy a representation of one line; that of a dataclass would show all of its arrays."""
        super().__init_subclass__(**options)
        if "__repr__" not in vars(cls):
            cls.__repr__ = _one_line  # type: ignore[assignment]

    def summary(self) -> dict[str, Any]:
        """Nothing."""
        return {}

    def save(self: SavedPolicy, path: str | Path) -> None:
        """Write it to a file for `lostsales.load`."""
        save(self, path)

    def recommend(self: SavedPolicy, recent: Any, today: Any = None) -> Any:
        """Price and order for today's open rows.

        Parameters
        ----------
        recent : pandas, polars or Arrow table, or None
            Closed rows of each series (columns of the log), back to its last observed demand at least; None on day one.
        today : pandas, polars or Arrow table, optional
            One open row per series: series, period, features, stock. By default the period after the recent rows, with
            the stock that they leave and features as usual.

        Returns
        -------
        table
            Of the library and in the order of `today`: series and period as they came, price and order under their
            names in the log, depth, value, penalty, safe_action, runner-up, advantage (how far it was ahead of the
            runner-up when actions were compared, in C-FQI and PC-FQI by Q - U and not by `value`), flag, and what
            explains the decision, where the policy knows the law of demand; where orders take time, `on_order` (units
            on the way) and `expected_arrivals` (what of it comes when). A column whose name the table has given to
            another is called `recommended_` and its name.

        Raises
        ------
        LostSalesError
            Where the policy cannot recommend or a table is not usable; the message names the rows.

        """
        return recommend(self, recent, today)


def _one_line(policy: SavedPolicy) -> str:
    """The class of a policy, those that it wraps, and the features that it asks for."""
    classes: list[str] = []
    inner: SavedPolicy | None = policy
    while inner is not None:
        classes.append(type(inner).__name__)
        inner = getattr(inner, "policy", None)
    features = ", ".join(feature.name for feature in policy.problem.features) or "none"
    return f"<{' of '.join(classes)}: features {features}>"


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

    def demand_atoms(self, view: View, price: Floats) -> Floats | None:
        """Equally likely demands by the policy inside."""
        return self.policy.demand_atoms(view, price)

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
