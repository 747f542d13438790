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
from lostsales.policy.shelf import Shelf
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
    shelf: Shelf | None = None  # that the period opened with


class RunningShop:
    """Many series of a shop in a market, period by period: what `play` and the Gymnasium environments share."""

    def __init__(self, market: Market, shop: Shop, costs: UnitCosts, series: int, rng: np.random.Generator) -> None:
        self.market, self.shop, self.costs, self.flow, self.rng = market, shop, costs, shop.flow, rng
        opening = market.open(series, rng)
        self.features, self.stock, self.demand, self.names = opening[:4]
        self._supply_rng = rng if shop.receives_orders else rng.spawn(1)[0]
        self.pipeline = None if shop.receives_orders else Pipeline.of(shop, opening.pipeline, series, self._supply_rng)
        phase = opening.order_phase
        self.phase = shop.supply.order_phase(np.zeros(series, dtype=np.int64)) if phase is None else phase
        self.shelf = Shelf.of(shop, self.stock)
        self._shelf_rng = rng.spawn(1)[0] if self.shelf is not None and self.shelf.is_mixed else None
        self._believed = self.shelf if self._shelf_rng is not None else None
        self.sales, self.stockout = self.demand, np.zeros(series, dtype=bool)
        self.depth: Array = np.zeros(series, dtype=np.int16)
        self.period = 0

    @property
    def on_order(self) -> Floats | None:
        """Units on the way, as a `View` shows them."""
        return None if self.pipeline is None else self.pipeline.seen

    def ages(self, *, exact: bool) -> Floats | None:
        """Stock by remaining life as a `View` shows it: exact, or expected from receipts, sales and waste."""
        shelf = self.shelf if exact or self._believed is None else self._believed
        return None if shelf is None else shelf.seen

    def close(self, action: Action) -> Outcome:
        """Close a period with a decision, and open the next."""
        drawn, arrived = self.market.demand(self.period, self.features, action.price, self.demand, self.rng), None
        if self.pipeline is not None:
            arrived, self.pipeline = deliver(self.pipeline, action.order, self.shop, self._supply_rng)
        ages = self.shelf, self.shop.product.unit_waste_cost, self._shelf_rng
        outcome = transition(self.stock, self.depth, action, drawn, self.flow, self.costs, arrived, *ages)
        self.shelf = outcome.shelf
        if self._believed is not None and outcome.wasted is not None:
            available = outcome.sales + outcome.leftover
            self._believed = self._believed.known(available, outcome.sales, outcome.wasted, outcome.stock_tp1)
        self.features = self.market.next_features(self.features, action.price, self.rng)
        self.stock, self.depth = outcome.stock_tp1, outcome.depth_tp1
        self.demand, self.sales, self.stockout = outcome.demand, outcome.sales, outcome.stockout
        if self.phase is not None and (cycle := self.shop.supply.order_cycle) is not None:
            self.phase = (self.phase + 1) % len(cycle)
        self.period += 1
        return outcome


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
    now = RunningShop(market, shop, costs, series, market_rng)
    past: tuple[ClosedPeriod, ...] = ()
    shown = ShownDemand.of(series, horizon, len(now.features)) if policy.observes == "history" else None
    for period in range(horizon):
        view = View(
            period=period,
            features=now.features,
            stock=now.stock,
            last_sales=now.sales,
            last_stockout=now.stockout,
            depth=now.depth,
            last_demand=now.demand if policy.observes == "demand" else None,
            ages=now.ages(exact=policy.observes == "demand"),
            past=past,
            names=now.names,
            pipeline=now.on_order,
            order_phase=now.phase,
            recent=None if shown is None else shown.before(period),
        )
        action = policy.decide(view, policy_rng)
        _refuse_overfilling(view, action.order, shop)
        shelf, outcome = now.shelf, now.close(action)
        yield Step(view, action, outcome, shelf)
        if shown is not None:
            past = (*past, ClosedPeriod(view, action))
            shown.add(period, outcome.sales, outcome.stockout, action.price, view.features)


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
