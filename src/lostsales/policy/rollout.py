"""A batched roll-out of a policy against any law of demand."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from lostsales.data.economics import UnitCosts
from lostsales.data.problem import Shop
from lostsales.errors import LostSalesError
from lostsales.policy.period import Outcome, transition
from lostsales.policy.policy import Policy
from lostsales.policy.view import Action, ClosedPeriod, Features, View
from lostsales.types import Array, Floats, exceeds


class Opening(NamedTuple):
    """How the series start: features and stock of the first period, and the demand before it."""

    features: Features
    stock: Floats
    last_demand: Floats
    names: Array | None = None  # (series,) text, where the series have names


class Market(Protocol):
    """A law of demand and of the features around it."""

    def open(self, series: int, rng: np.random.Generator) -> Opening:
        """Draw the state before the first period."""
        ...

    def demand(
        self, period: int, features: Features, price: Floats, last_demand: Floats, rng: np.random.Generator
    ) -> Floats:
        """Draw D_t given X_t, P_t and D_{t-1}."""
        ...

    def next_features(self, features: Features, price: Floats, rng: np.random.Generator) -> Features:
        """Draw X_{t+1} given X_t and P_t."""
        ...


@dataclass(frozen=True)
class Step:
    """A closed period."""

    view: View
    action: Action
    outcome: Outcome


def play(
    policy: Policy,
    market: Market,
    shop: Shop,
    costs: UnitCosts,
    horizon: int,
    series: int,
    market_rng: np.random.Generator,
    policy_rng: np.random.Generator,
) -> Iterator[Step]:
    """Run a policy period by period; steps are yielded, not kept.

    Market and policy draw from generators of their own, and the draws of the market do not depend on the decisions: two
    policies under one seed share common random numbers.
    """
    opening = market.open(series, market_rng)
    features, stock, demand, names = opening
    sales, stockout, depth = demand, np.zeros(series, dtype=bool), np.zeros(series, dtype=np.int16)
    past: tuple[ClosedPeriod, ...] = ()
    for period in range(horizon):
        seen = demand if policy.observes == "demand" else None
        view = View(period, features, stock, sales, stockout, depth, seen, past, names)
        action = policy.decide(view, policy_rng)
        if shop.capacity_rule == "forbid" and shop.capacity is not None:
            _refuse_overfilling(stock, action.order, shop.capacity)
        drawn = market.demand(period, features, action.price, demand, market_rng)
        outcome = transition(stock, depth, action, drawn, shop, costs)
        yield Step(view, action, outcome)
        if policy.observes == "history":
            past = (*past, ClosedPeriod(view, action))
        features = market.next_features(features, action.price, market_rng)
        stock, depth = outcome.stock_tp1, outcome.depth_tp1
        demand, sales, stockout = outcome.demand, outcome.sales, outcome.stockout


def _refuse_overfilling(stock: Floats, order: Floats, capacity: float) -> None:
    over = exceeds(stock + order, capacity)
    if over.any():
        at = int(np.flatnonzero(over)[0])
        raise LostSalesError(
            f"an order must fit the capacity {capacity:g}, but the policy orders {order[at]:g} on top of {stock[at]:g}"
        )
