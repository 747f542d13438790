"""A batched roll-out of a policy against any law of demand."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from lostsales.data.economics import UnitCosts
from lostsales.data.shop import Shop
from lostsales.errors import LostSalesError
from lostsales.policy.deliveries import Pipeline, deliver
from lostsales.policy.period import Outcome, transition
from lostsales.policy.policy import Policy
from lostsales.policy.recent_demand import ShownDemand
from lostsales.policy.view import Action, ClosedPeriod, Features, View
from lostsales.types import Array, Floats, Ints, exceeds


class Opening(NamedTuple):
    """Start of the series: features and stock of the first period, and the demand before it."""

    features: Features
    stock: Floats
    last_demand: Floats
    names: Array | None = None  # (series,) text, where the series have names
    pipeline: Floats | None = None  # (series, longest lead time - 1) on the way; by default nothing
    order_phase: Ints | None = None  # (series,) position in the cycle of order days; by default that of period 0


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
    features, stock, demand, names = opening[:4]
    supply_rng = market_rng if shop.receives_orders else market_rng.spawn(1)[0]
    pipeline = None if shop.receives_orders else Pipeline.of(shop, opening.pipeline, series, supply_rng)
    phase, arrived = first_phase(shop, opening.order_phase, series), None
    sales, stockout, depth = demand, np.zeros(series, dtype=bool), np.zeros(series, dtype=np.int16)
    past: tuple[ClosedPeriod, ...] = ()
    flow = shop.flow
    shown = ShownDemand.of(series, horizon, len(features)) if policy.observes == "history" else None
    for period in range(horizon):
        seen = demand if policy.observes == "demand" else None
        on_order = None if pipeline is None else pipeline.seen
        recent = None if shown is None else shown.before(period)
        view = View(
            period, features, stock, sales, stockout, depth, seen, past, names, None, on_order, phase, recent=recent
        )
        action = policy.decide(view, policy_rng)
        _refuse_overfilling(view, action.order, shop)
        drawn = market.demand(period, features, action.price, demand, market_rng)
        if pipeline is not None:
            arrived, pipeline = deliver(pipeline, action.order, shop, supply_rng)
        outcome = transition(stock, depth, action, drawn, flow, costs, arrived)
        yield Step(view, action, outcome)
        if shown is not None:
            past = (*past, ClosedPeriod(view, action))
            shown.add(period, outcome.sales, outcome.stockout, action.price, features)
        features = market.next_features(features, action.price, market_rng)
        stock, depth = outcome.stock_tp1, outcome.depth_tp1
        demand, sales, stockout = outcome.demand, outcome.sales, outcome.stockout
        phase = next_phase(shop, phase)


def first_phase(shop: Shop, given: Ints | None, series: int) -> Ints | None:
    """The position of the first period in the cycle of order days, by default that of period 0."""
    return shop.supply.order_phase(np.zeros(series, dtype=np.int64)) if given is None else given


def next_phase(shop: Shop, phase: Ints | None) -> Ints | None:
    """The position of the next period in the cycle of order days."""
    cycle = shop.supply.order_cycle
    return None if phase is None or cycle is None else (phase + 1) % len(cycle)


def _refuse_overfilling(view: View, order: Floats, shop: Shop) -> None:
    if shop.capacity_rule == "forbid" and shop.capacity is not None:
        over = exceeds(view.stock + order, shop.capacity)
        if over.any():
            at = int(np.flatnonzero(over)[0])
            raise LostSalesError(
                f"an order must fit the capacity {shop.capacity:g}, but the policy orders {order[at]:g} on top of "
                f"{view.stock[at]:g}"
            )
    limit = view.order_limit(shop)
    if limit is not None and (over := exceeds(order, limit)).any():
        at = int(np.flatnonzero(over)[0])
        raise LostSalesError(
            f"an order may be at most {limit[at]:g} by order days and what is on the way, but the policy orders "
            f"{order[at]:g} in period {view.period}"
        )
