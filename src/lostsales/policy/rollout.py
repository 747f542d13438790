"""One period as a pure function, and a batched roll-out of a policy against any law of demand."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

import numpy as np

from lostsales.data.economics import UnitCosts, next_stock, period_profit, units_available
from lostsales.data.problem import Problem, Shop
from lostsales.errors import LostSalesError
from lostsales.types import Array, Bools, Floats, exceeds

Observes = Literal["sales", "history", "demand"]
Features = tuple[Floats, ...]


@dataclass(frozen=True, eq=False)
class SeriesContext:
    """What is told of series beside their history; every array has one entry a series."""

    attributes: dict[str, Array]  # as text, those that were told
    mean_demand: Floats  # of recent periods whose demand is known, NaN where there are none


@dataclass(frozen=True)
class View:
    """An open period as a retailer sees it; every array has one entry a series."""

    period: int
    features: Features
    stock: Floats
    last_sales: Floats
    last_stockout: Bools
    depth: Array  # (series,) int16, censored periods in a row just before
    last_demand: Floats | None  # only where true demand may be seen
    past: "tuple[ClosedPeriod, ...]" = ()  # closed periods, oldest first, where history is observed
    names: Array | None = None  # (series,) text, where the series have names
    context: SeriesContext | None = None  # None in a simulation


def features_by_name(problem: Problem, view: View) -> dict[str, Floats]:
    """The features of a view by name; a view may know more of them than the problem."""
    return {each.name: values for each, values in zip(problem.features, view.features, strict=False)}


class Action(NamedTuple):
    """The decision of a period, one entry a series."""

    price: Floats
    order: Floats


class ClosedPeriod(NamedTuple):
    """A closed period as a retailer remembers it; what it sold stands in the view of the next."""

    view: View
    action: Action


class Policy(Protocol):
    """Anything that decides for many series at once."""

    @property
    def observes(self) -> Observes:
        """What it must be shown: the last sales, all closed periods as a retailer saw them, or true demand."""
        ...

    def decide(self, view: View, rng: np.random.Generator) -> Action:
        """Price and order of every series."""
        ...


class Opening(NamedTuple):
    """How the series start: the market, the stock, and the demand before the first period."""

    features: Features
    stock: Floats
    last_demand: Floats


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
class Outcome:
    """What a decision and a demand lead to; every array has one entry a series."""

    demand: Floats  # after truncation
    sales: Floats
    lost: Floats
    stockout: Bools
    truncated: Bools | None  # None where no rule truncates
    profit: Floats
    stock_tp1: Floats
    depth_tp1: Array


@dataclass(frozen=True)
class Step:
    """A closed period."""

    view: View
    action: Action
    outcome: Outcome


def transition(
    stock_t: Floats, depth_t: Array, action: Action, demand_t: Floats, shop: Shop, costs: UnitCosts
) -> Outcome:
    """Close a period: Z_t, Delta_t, R_t and Y_{t+1} (lines 181-195), with the truncation rule where the shop has one.

    >>> shop, costs = Shop(arrival="before", longest_run=1), UnitCosts(lost=2, order=3, holding=1)
    >>> action = Action(price=np.array([4.0]), order=np.array([2.0]))
    >>> outcome = transition(np.array([3.0]), np.array([1]), action, np.array([9.0]), shop, costs)
    >>> outcome.demand, outcome.stockout, outcome.truncated
    (array([5.]), array([False]), array([ True]))
    """
    price, order = action
    available = units_available(stock_t, order, shop.arrival, shop.capacity)
    truncated = None
    if shop.longest_run is not None:
        truncated = (depth_t >= shop.longest_run) & (demand_t > available)
        demand_t = np.where(truncated, available, demand_t)
    sales = np.minimum(available, demand_t)
    lost = demand_t - sales
    stockout = lost > 0
    return Outcome(
        demand=demand_t,
        sales=sales,
        lost=lost,
        stockout=stockout,
        truncated=truncated,
        profit=period_profit(price, order, sales, lost, available - sales, costs),
        stock_tp1=next_stock(stock_t, order, demand_t, shop.arrival, shop.balance, shop.capacity),
        depth_tp1=(depth_t + 1) * stockout,
    )


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
    """Let a policy run period by period; what is not kept is gone, so that memory stays small and quick.

    Market and policy draw from generators of their own and the market draws the same numbers whatever is decided, so
    that two policies under one seed meet the same customers.
    """
    opening = market.open(series, market_rng)
    features, stock, demand = opening
    sales, stockout, depth = demand, np.zeros(series, dtype=bool), np.zeros(series, dtype=np.int16)
    sees_demand, names = (
        policy.observes == "demand",
        getattr(market, "names", None),
    )  # a learned market has named series
    past: tuple[ClosedPeriod, ...] = ()
    for period in range(horizon):
        seen = demand if sees_demand else None
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
