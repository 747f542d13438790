"""A shop whose demand is known, replayed: every way of ordering meets the same customers and sees only its own books.

The studies share it. A shop is a table of demand by series and period, as recorded. A manager orders by a simple rule
and leaves books: stock, orders, sales and whether the shelf was empty. From a later period on each way of ordering
(`ways.py`) goes on from there.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

import lostsales
from lostsales.types import Array, Bools, Floats


@dataclass(frozen=True, eq=False)
class Shop:
    """Demand, and what is known before it: every table is (series, periods).

    Prices are the shop's own. A unit is worth its usual margin whenever it is sold: who paid for a discount is unknown.
    """

    series: Array  # (series,) names
    periods: Array  # (periods,) dates, evenly apart
    demand: Floats
    is_known: Bools  # false: the shelf was empty when this was recorded, demand was at least so much
    price: Floats  # (series,) the usual one; what a week's price does to demand is told by features
    order_cost: Floats  # (series,) of a unit, as the two that follow
    lost_cost: Floats
    holding_cost: Floats
    lead_time: int  # periods until an order can be sold
    step: float = 1.0  # orders are multiples of it
    features: dict[str, Floats] = field(default_factory=dict)
    calendar: tuple[str, ...] = ()

    @property
    def problem(self) -> lostsales.Problem:
        """Facts that the books do not have."""
        costs = {"lost": "lost_cost", "order": "order_cost", "holding": "holding_cost"}
        return lostsales.Problem.model_validate(
            {
                "features": tuple(self.features),
                "calendar": self.calendar,
                "costs": costs,
                "supply": {"lead_time": self.lead_time},
                "discount": 0.99,
                "columns": {"in_stock": "in_stock"},
            }
        )

    @property
    def fractile(self) -> Floats:
        """The critical fractile, (series,): what a lost sale costs over that and what a unit left costs."""
        short = self.price - self.order_cost + self.lost_cost
        return np.asarray(short / (short + self.holding_cost))


@dataclass(frozen=True, eq=False)
class Books:
    """Records of the shop, each (series, periods)."""

    stock: Floats  # when a period opens, arrivals included
    order: Floats
    sales: Floats

    @classmethod
    def opened(cls, shop: Shop, stock: Floats) -> "Books":
        """Before the first period."""
        empty = np.zeros(shop.demand.shape)
        return cls(np.column_stack([stock, empty[:, 1:]]), empty, empty.copy())

    def on_way(self, shop: Shop, now: int) -> Floats:
        """Orders that arrive in 1, 2, ... periods, (series, lead time - 1)."""
        columns = [now - shop.lead_time + ahead for ahead in range(1, shop.lead_time)]
        padded = np.column_stack([np.zeros((len(self.order), shop.lead_time)), self.order])
        return np.asarray(padded[:, [each + shop.lead_time for each in columns]])

    def in_stock(self, shop: Shop) -> Bools:
        """True where the shelf was never empty."""
        return np.asarray((shop.demand <= self.stock) & shop.is_known)


Decide = Callable[[Books, int], Floats]  # books and the open period to orders, (series,)


def play(shop: Shop, books: Books, periods: range, decide: Decide) -> Books:
    """The books after these periods."""
    stock, order, sales = books.stock.copy(), books.order.copy(), books.sales.copy()
    books = Books(stock, order, sales)
    for now in periods:
        if now > 0:
            arrived = order[:, now - shop.lead_time] if now >= shop.lead_time else 0.0
            stock[:, now] = stock[:, now - 1] - sales[:, now - 1] + arrived
        wanted = np.maximum(decide(books, now), 0.0)
        order[:, now] = np.rint(wanted / shop.step) * shop.step
        sales[:, now] = np.minimum(stock[:, now], shop.demand[:, now])
    return books


def profit(shop: Shop, books: Books) -> Floats:
    """Profit of every series and period; a unit is paid for when it is sold, so that what is left keeps what it cost.

    What customers were refused is known here, and its cost counted.
    """
    margin = (shop.price - shop.order_cost)[:, None]
    lost, left = shop.demand - books.sales, books.stock - books.sales
    return np.asarray(margin * books.sales - shop.lost_cost[:, None] * lost - shop.holding_cost[:, None] * left)


def manager(shop: Shop, cover: float, averaged: int, safety: float = 1.0, spread: float = 0.2, seed: int = 0) -> Decide:
    """Order up to a cover of the mean sales of the last periods in stock and their square root, with a free hand."""
    rng = np.random.default_rng(seed)

    def decide(books: Books, now: int) -> Floats:
        recent = slice(max(now - averaged, 0), now)
        weight = 1e-6 + books.in_stock(shop)[:, recent]
        usual = shop.demand[:, 0] if now == 0 else np.average(books.sales[:, recent], axis=1, weights=weight)
        level = cover * usual + safety * np.sqrt(cover * usual)
        level = level * np.exp(rng.normal(-(spread**2) / 2, spread, len(usual)))
        return np.asarray(level - books.stock[:, now] - books.on_way(shop, now).sum(axis=1))

    return decide


def rows(shop: Shop, books: Books, periods: range) -> pd.DataFrame:
    """Closed periods as the table of a shop."""
    found = _keys(shop, periods)
    tables = {"stock": books.stock, "order": books.order, "sales": books.sales, "in_stock": books.in_stock(shop)}
    return found.assign(**{name: each[:, periods].ravel() for name, each in tables.items()})


def today(shop: Shop, books: Books, now: int) -> pd.DataFrame:
    """The open period; and later ones until an order of today is sold, whose prices are announced."""
    last = min(now + shop.lead_time, len(shop.periods) - 1)
    found = _keys(shop, range(now, last + 1))
    is_open = found["period"] == shop.periods[now]
    found.loc[is_open, "stock"] = books.stock[:, now]
    for ahead, units in enumerate(books.on_way(shop, now).T, start=1):
        found.loc[is_open, f"on_order_{ahead}"] = units
    return found if shop.features else found[is_open]


def _keys(shop: Shop, periods: range) -> pd.DataFrame:
    count, length = len(shop.series), len(periods)
    costs = {"lost_cost": shop.lost_cost, "order_cost": shop.order_cost, "holding_cost": shop.holding_cost}
    return pd.DataFrame(
        {
            "series": np.repeat(shop.series, length),
            "period": np.tile(shop.periods[periods], count),
            "price": np.repeat(shop.price, length),
            **{name: np.repeat(each, length) for name, each in costs.items()},
            **{name: each[:, periods].ravel() for name, each in shop.features.items()},
        }
    )
