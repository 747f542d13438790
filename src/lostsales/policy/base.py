"""Defaults of the policy protocol, `save` and `recommend`."""

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from lostsales import plots
from lostsales.data.candidate_grid import CandidateGrid
from lostsales.data.feature import Feature
from lostsales.policy.allocation import OrderValues
from lostsales.policy.decision import Decision
from lostsales.policy.expected import Expected
from lostsales.policy.file_format import save
from lostsales.policy.policy import Policy, SavedPolicy
from lostsales.policy.provenance import verdict_sentence
from lostsales.policy.recommendation import on_tables, recommend, recommendation
from lostsales.policy.view import Action, Features, View
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

    def order_values(self, view: View) -> OrderValues | None:  # noqa: ARG002
        """None: it values no orders."""
        return None

    def demand_futures(self, view: View, price: Floats, features: Sequence[Features]) -> Floats | None:  # noqa: ARG002
        """None: periods follow one after another."""
        return None

    def demand_atoms(self, view: View, price: Floats) -> Floats | None:  # noqa: ARG002
        """None: it knows no law of demand."""
        return None

    def __init_subclass__(cls, **options: Any) -> None:
        """A `decide` that takes tables too, and a representation of one line: a dataclass would show all its arrays."""
        super().__init_subclass__(**options)
        if "decide" in vars(cls):
            cls.decide = on_tables(cls.decide)  # type: ignore[attr-defined]
        if "__repr__" not in vars(cls):
            cls.__repr__ = _one_line  # type: ignore[assignment]

    def summary(self) -> dict[str, Any]:
        """Facts of the policy; none by default."""
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
            If the policy cannot recommend or a table is not usable; the message names the rows.

        """
        return recommend(self, recent, today)

    def plot(self: SavedPolicy, recent: Any, today: Any = None) -> Any:
        """Picture of the recommended orders and prices, with the verdict as its title; tables as for `recommend`."""
        return plots.draw_decisions(recommendation(self, recent, today, reasons=False), verdict_sentence(self))

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p><p>{escape(verdict_sentence(self))}</p>"


def _one_line(policy: SavedPolicy) -> str:
    """The class of a policy, those that it wraps, and the features that it asks for."""
    classes: list[str] = []
    inner: SavedPolicy | None = policy
    while inner is not None:
        classes.append(type(inner).__name__)
        inner = getattr(inner, "policy", None)
    features = ", ".join(feature.name for feature in policy.problem.features) or "none"
    return f"<{' of '.join(classes)}: features {features}>"
