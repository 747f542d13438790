"""A policy that was learned in counts of a unit, for a shop that writes its quantities otherwise."""

from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from lostsales.data.ladders import Ladders
from lostsales.data.log import SalesLog
from lostsales.data.problem import Problem
from lostsales.data.units import DIGITS, counted, in_units
from lostsales.policy.decision import Decision
from lostsales.policy.expected import Expected
from lostsales.policy.policy import SavedPolicy
from lostsales.policy.view import Action, ClosedPeriod, SeriesContext, View
from lostsales.policy.wrapper import PolicyWrapper
from lostsales.saved_fields import MOST, Positive
from lostsales.types import Floats

# Columns of a decision that are quantities, and those that are money for a number of units.
QUANTITIES = frozenset({"order", "runner_up_order", "last_demand", "expected_demand", "expected_lost"})
MONEY = frozenset({"value", "penalty", "advantage"})
EXPECTED = ("demand", "sales", "lost", "leftover", "profit", "value")  # quantities and money of an expectation


@dataclass(frozen=True, eq=False)
class Rescaled(PolicyWrapper[SavedPolicy]):
    """Asks the policy inside in units of each row, and answers in the quantities of the shop."""

    problem: Problem  # of the shop

    def expect(self, view: View, action: Action, unit_cost: Floats | None = None) -> Expected | None:
        """What the policy inside expects, in the quantities of the shop."""
        unit = self.units(view)
        counts = action._replace(order=counted(action.order, unit))
        found = self.policy.expect(view_in_units(view, unit), counts, unit_cost)
        return found and replace(found, **{name: getattr(found, name) * unit for name in EXPECTED})

    def demand_atoms(self, view: View, price: Floats) -> Floats | None:
        """What the policy inside holds possible, in the quantities of the shop."""
        unit = self.units(view)
        atoms = self.policy.demand_atoms(view_in_units(view, unit), price)
        return None if atoms is None else atoms * unit[:, None]

    def units(self, view: View) -> Floats:
        """The unit of each series of a view, (rows,)."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class InUnits(Rescaled):
    """Asks in counts of one unit, or of a unit of each product."""

    unit: Positive
    own: dict[str, Annotated[float, Field(ge=1, le=MOST)]] = field(
        default_factory=dict
    )  # units of products, in the unit of the shop

    @property
    def usual_demand(self) -> float:
        """That of the policy inside."""
        return self.policy.usual_demand * self.unit

    @property
    def may_recommend(self) -> Ladders | None:
        """The ladders of the policy inside, with orders in the quantities of the shop."""
        inside = self.policy.may_recommend
        if inside is None:
            return None
        orders = inside.orders if inside.relative_orders else _quantity(inside.orders, self.unit)
        return replace(inside, orders=orders, order_multiple=inside.order_multiple * self.unit)

    def summary(self) -> dict[str, Any]:
        """That of the policy inside, and the unit in which its quantities are counted."""
        return self.policy.summary() | {"unit": self.unit}

    def informed(self, view: View, recent: SalesLog) -> View:
        """What recent rows tell the policy inside."""
        return self.policy.informed(view, in_units(recent, self.unit, self.own))

    def replayed_on(self, log: SalesLog) -> "InUnits":
        """With the policy inside as it is replayed."""
        return replace(self, policy=self.policy.replayed_on(in_units(log, self.unit, self.own)))

    def decide(self, view: View, rng: np.random.Generator) -> Action:
        """Price and order of every series."""
        unit = self.units(view)
        price, order = self.policy.decide(view_in_units(view, unit), rng)
        return Action(price, _quantity(order, unit))

    def explain(self, view: View) -> Decision:
        """The decision of the policy inside."""
        unit = self.units(view)
        found = self.policy.explain(view_in_units(view, unit))
        named = {name: getattr(found, name) for name in QUANTITIES | MONEY if hasattr(found, name)}
        return replace(found, **_of_shop(named, unit), more=found.more | _of_shop(found.more, unit))

    def units(self, view: View) -> Floats:
        """The unit of each series of a view."""
        return self.unit * factors(view, self.own)


def _of_shop(columns: dict[str, Any], unit: Floats) -> dict[str, Any]:
    """Columns of a decision in the quantities of the shop."""
    quantities = {name: _quantity(each, unit) for name, each in columns.items() if name in QUANTITIES}
    return quantities | {name: each * unit for name, each in columns.items() if name in MONEY}


def factors(view: View, by_name: dict[str, float]) -> Floats:
    """The factor of each series of a view, 1 where its name has none, (rows,)."""
    if view.names is None:
        return np.ones(len(view.stock))
    return np.array([by_name.get(str(name), 1.0) for name in view.names])


def _quantity(counts: Floats, unit: Floats | float) -> Floats:
    return np.asarray(np.round(counts * unit, DIGITS))


def view_in_units(view: View, unit: Floats) -> View:
    """The same open period in counts."""
    if (unit == 1).all():
        return view
    context = view.context
    if context is not None:
        context = SeriesContext(context.attributes, context.mean_demand / unit)
    past = tuple(
        # Every closed period knows those before it as well: their pasts again would double the work with each period.
        ClosedPeriod(
            view_in_units(replace(each.view, past=()), unit),
            each.action._replace(order=counted(each.action.order, unit)),
        )
        for each in view.past
    )
    return replace(
        view,
        stock=counted(view.stock, unit),
        last_sales=counted(view.last_sales, unit),
        last_demand=None if view.last_demand is None else counted(view.last_demand, unit),
        past=past,
        context=context,
        pipeline=None if view.pipeline is None else counted(view.pipeline, unit[:, None]),
        recent=None if view.recent is None else view.recent.in_units(unit),
    )
