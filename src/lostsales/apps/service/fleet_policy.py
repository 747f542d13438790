"""Policies of a fleet as one policy: every product is decided by the policy of its shard."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from lostsales.apps.fleet.fleet import Fleet
from lostsales.data.feature import Feature
from lostsales.data.problem import Problem
from lostsales.errors import LostSalesError
from lostsales.policy.allocation import OrderValues
from lostsales.policy.base import PolicyBase
from lostsales.policy.decision import Decision, merged
from lostsales.policy.expected import Expected
from lostsales.policy.policy import Observes, SavedPolicy
from lostsales.policy.view import Action, Features, View
from lostsales.types import Array, Floats, Ints

Part = TypeVar("Part")


@dataclass(frozen=True, eq=False)
class FleetPolicy(PolicyBase):
    """Policy by shard; an unknown product is decided by the first shard, as an unknown series."""

    fleet: Fleet
    shard_of: dict[str, int]  # by the name of the product
    first: int

    @classmethod
    def of(cls, fleet: Fleet) -> "FleetPolicy":
        """The policies of a fleet."""
        deciding, products = fleet.policy_shard, fleet.products
        of_product = zip(products["series"].tolist(), products["shard"].tolist(), strict=True)
        return cls(fleet, {name: deciding[shard] for name, shard in of_product}, deciding[0])

    @property
    def problem(self) -> Problem:
        """The problem of all products."""
        return self.fleet.problem

    @property
    def observes(self) -> Observes:
        """All closed periods as a retailer saw them."""
        return "history"

    @property
    def asks(self) -> tuple[Feature, ...]:
        """Inputs that the policies need, the same for all."""
        return self.fleet.policy(self.first).asks

    @property
    def usual_demand(self) -> float:
        """Usual demand of the first policy, for unknown products."""
        return self.fleet.policy(self.first).usual_demand

    def policy_of(self, name: str) -> SavedPolicy:
        """The policy of a product."""
        return self.fleet.policy(self.shard_of.get(name, self.first))

    def summary(self) -> dict[str, Any]:
        """Summary of the first policy, with the number of products."""
        return self.fleet.policy(self.first).summary() | {"products": len(self.shard_of)}

    def decide(self, view: View, rng: np.random.Generator) -> Action:
        """Price and order of every product."""
        parts, back = self._by_shard(view, lambda policy, part, _: policy.decide(part, rng))
        price, order = (np.concatenate([part[at] for part in parts])[back] for at in (0, 1))
        return Action(price, order)

    def explain(self, view: View) -> Decision:
        """Decisions of the policies, merged."""
        parts, back = self._by_shard(view, lambda policy, part, _: policy.explain(part))
        return merged(parts, back)

    def expect(self, view: View, action: Action, unit_cost: Floats | None = None) -> Expected | None:
        """Expected outcomes of the policies, None if one of them has no demand model."""
        parts, back = self._by_shard(
            view,
            lambda policy, part, rows: policy.expect(
                part, Action(action.price[rows], action.order[rows]), None if unit_cost is None else unit_cost[rows]
            ),
        )
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return None
        return Expected(
            **{each.name: _joined([getattr(p, each.name) for p in known], back) for each in fields(Expected)}
        )

    def order_values(self, view: View) -> OrderValues | None:
        """Values of orders of the policies, None if one of them values none."""
        return OrderValues.joined(*self._by_shard(view, lambda policy, part, _: policy.order_values(part)))

    def demand_atoms(self, view: View, price: Floats) -> Floats | None:
        """Demand atoms of the policies, as many as the policy with the fewest has."""
        parts, back = self._by_shard(view, lambda policy, part, rows: policy.demand_atoms(part, price[rows]))
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return None
        fewest = min(part.shape[1] for part in known)
        levels = (np.arange(fewest) + 0.5) / fewest
        same = [part if part.shape[1] == fewest else np.quantile(part, levels, axis=1).T for part in known]
        return _joined(same, back)

    def demand_futures(self, view: View, price: Floats, features: Sequence[Features]) -> Floats | None:
        """Demands of the coming periods by the policy of one shard; None for products of several."""

        def ask(policy: SavedPolicy, part: View, rows: Ints) -> Floats | None:
            return policy.demand_futures(part, price[rows], [tuple(one[rows] for one in each) for each in features])

        parts, _ = self._by_shard(view, ask)
        return parts[0] if len(parts) == 1 else None

    def save(self, path: str | Path) -> None:  # noqa: ARG002, the protocol passes it
        """Refused: a fleet is its store."""
        raise LostSalesError("the policies of a fleet are saved in its store")

    def _by_shard(self, view: View, ask: Callable[[SavedPolicy, View, Ints], Part]) -> tuple[list[Part], Ints]:
        """Answers of the policies, and the position of each row of the view in them."""
        names = np.full(len(view.stock), "") if view.names is None else view.names
        shard = np.array([self.shard_of.get(str(name), self.first) for name in names], dtype=np.int64)
        rows = [np.flatnonzero(shard == each) for each in np.unique(shard)]
        parts = [ask(self.fleet.policy(int(shard[own[0]])), view.take(own), own) for own in rows]
        return parts, np.argsort(np.concatenate(rows))


def _joined(parts: list[Array], back: Ints) -> Array:
    return np.concatenate(parts)[back]
