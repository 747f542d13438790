"""Several policies as one: each decides for series of its own."""

from dataclasses import dataclass, replace

import numpy as np

from lostsales.data.problem import Feature, Problem
from lostsales.policy.recommendation import Deployed
from lostsales.policy.rollout import Action, ClosedPeriod, Observes, View
from lostsales.types import Ints


@dataclass(frozen=True, eq=False)
class CrossFittedPolicy:
    """Policies of one kind, each of which decides for some series; those that nobody has are shared in turn."""

    policies: tuple[Deployed, ...]
    of_series: dict[str, int]  # which policy decides, by the name of a series

    @property
    def observes(self) -> Observes:
        """What the policies observe."""
        return self.policies[0].observes

    @property
    def problem(self) -> Problem:
        """The problem they decide for."""
        return self.policies[0].problem

    @property
    def costs(self) -> tuple[Feature, ...]:
        """The unit costs that they ask for."""
        costs: tuple[Feature, ...] = getattr(self.policies[0], "costs", ())
        return costs

    def decide(self, view: View, rng: np.random.Generator) -> Action:
        """Every policy for its own."""
        rows = len(view.stock)
        who = np.arange(rows) % len(self.policies)
        if view.names is not None and self.of_series:
            names, at = np.unique(view.names.astype(str), return_inverse=True)
            known = np.array([self.of_series.get(str(name), -1) for name in names])[at.reshape(-1)]
            who = np.where(known >= 0, known, who)
        price, order = np.empty(rows), np.empty(rows)
        for number, policy in enumerate(self.policies):
            own = np.flatnonzero(who == number)
            if len(own):
                price[own], order[own] = policy.decide(part_of(view, own), rng)
        return Action(price, order)


def part_of(view: View, rows: Ints) -> View:
    """Some series of a view, with their past as far back as the longest of their runs of stock-outs."""
    longest = max(int(view.depth[rows].max(initial=0)), 1)
    past = tuple(
        ClosedPeriod(_without_past(each.view, rows), Action(each.action.price[rows], each.action.order[rows]))
        for each in view.past[-longest:]
    )
    return replace(_without_past(view, rows), past=past)


def _without_past(view: View, rows: Ints) -> View:
    return View(
        period=view.period,
        features=tuple(each[rows] for each in view.features),
        stock=view.stock[rows],
        last_sales=view.last_sales[rows],
        last_stockout=view.last_stockout[rows],
        depth=view.depth[rows],
        last_demand=None if view.last_demand is None else view.last_demand[rows],
        names=None if view.names is None else view.names[rows],
    )
