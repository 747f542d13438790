"""A shop of several products, simulated apart from the package, each with its own price, size and elasticity."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from lostsales.data.log import DecisionLog
from lostsales.data.problem import Problem
from lostsales.data.reading.gate import read_log
from lostsales.policy.base import PolicyBase
from lostsales.policy.view import Action, View
from lostsales.types import Array, Floats

WEEKDAYS = np.array([0.9, 0.85, 0.9, 1.0, 1.15, 1.3, 0.9])
PROBLEM = Problem(
    arrival="before",
    features=({"name": "weekday", "kind": "categorical"},),
    costs={"lost": 0, "order": "order_cost", "holding": "holding_cost"},
)
HELD = 0.02  # cost of holding a unit for a day, of its usual price


@dataclass(frozen=True, eq=False)
class Assortment:
    """Products whose mean demand is size (price / usual price) ** elasticity times that of the weekday; Poisson."""

    usual_price: Floats  # (products,)
    size: Floats  # (products,)
    elasticity: Floats  # (products,)
    level: Floats  # (products,) up to which the manager orders, of the usual sales of the weekday

    @classmethod
    def drawn(cls, products: int, seed: int) -> "Assortment":
        """Prices between 2 and 10, sizes between 3 and 40, elasticities between -3 and -1; a tenth of days sold out."""
        rng = np.random.default_rng(seed)
        price, size = 2.0 * 5.0 ** rng.random(products), 3.0 * 13.0 ** rng.random(products)
        return cls(
            np.round(price, 1), np.round(size, 1), rng.uniform(-3.0, -1.0, products), rng.uniform(1.1, 1.8, products)
        )

    @property
    def names(self) -> Array:
        """Of the products."""
        return np.array([f"product {each}" for each in range(len(self.size))], dtype=object)

    def mean(self, price: Floats, day: int) -> Floats:
        """Mean demand of each product."""
        return np.asarray(self.size * (price / self.usual_price) ** self.elasticity * WEEKDAYS[day % 7])

    def cost(self) -> Floats:
        """Purchase price of each product."""
        return self.usual_price / 2

    def manager(self, day: int, stock: Floats, rng: np.random.Generator) -> Action:
        """Promotions at -10 % and -20 % in two of five days, and then more on the shelf."""
        relative = rng.choice([1.0, 0.9, 0.8], stock.shape, p=[0.6, 0.2, 0.2])
        up_to = self.size * WEEKDAYS[day % 7] * self.level * np.where(relative < 1, 1.25, 1.0)
        return Action(self.usual_price * relative, np.maximum(np.rint(up_to - stock), 0.0))

    def log(self, days: int, seed: int, dated: bool = True) -> DecisionLog:
        """Days under the manager."""
        rng, stock, rows = np.random.default_rng(seed), np.ceil(self.size), []
        for day in range(days):
            price, order = self.manager(day, stock, rng)
            demand = rng.poisson(self.mean(price, day))
            sales = np.minimum(stock + order, demand)
            columns = (stock, price, order, sales, demand > stock + order, self.cost(), HELD * self.usual_price)
            rows.append(pd.DataFrame(dict(zip(COLUMNS, columns, strict=True))).assign(series=self.names, period=day))
            stock = stock + order - sales
        table = pd.concat(rows).assign(weekday=lambda table: table.period % 7)
        if dated:
            table["period"] = pd.Timestamp("2025-01-06") + pd.to_timedelta(table["period"], unit="D")
        return read_log(table, PROBLEM).decisions("evaluate")

    def true_profit(
        self, decide: "Manager | RelativeRule", days: int = 140, copies: int = 400, seed: int = 0
    ) -> Floats:
        """Mean profit a day of each product, (products,), once the opening stock no longer matters."""
        rng, stock = np.random.default_rng(seed), np.tile(np.ceil(self.size), (copies, 1))
        total = np.zeros(len(self.size))
        for day in range(days + 14):
            price, order = decide.of_shop(self, day, stock, rng)
            demand = rng.poisson(self.mean(price, day))
            sales = np.minimum(stock + order, demand)
            stock = stock + order - sales
            if day >= 14:
                profit = price * sales - self.cost() * order - HELD * self.usual_price * stock
                total += profit.mean(axis=0)
        return total / days


COLUMNS = ("stock", "price", "order", "sales", "stockout", "order_cost", "holding_cost")


class Manager:
    """What the shop did."""

    def of_shop(self, shop: Assortment, day: int, stock: Floats, rng: np.random.Generator) -> Action:
        """The manager's decision."""
        return shop.manager(day, stock, rng)


@dataclass(frozen=True, eq=False)
class RelativeRule(PolicyBase):
    """A price and an order-up-to level of each product, relative to its usual ones."""

    shop: Assortment
    price: Floats  # (products,) of the usual price
    level: Floats  # (products,) of the mean demand at that price
    problem: Problem = PROBLEM
    observes: Literal["sales"] = "sales"

    def of_shop(self, shop: Assortment, day: int, stock: Floats, rng: np.random.Generator) -> Action:  # noqa: ARG002
        """The decision for all products of a shop."""
        price = np.broadcast_to(shop.usual_price * self.price, stock.shape)
        return Action(price, np.maximum(np.rint(shop.mean(price, day) * self.level - stock), 0.0))

    def decide(self, view: View, rng: np.random.Generator) -> Action:  # noqa: ARG002
        """Of the products of a view."""
        names = {name: number for number, name in enumerate(self.shop.names)}
        at = np.array([names[name] for name in np.asarray(view.names)])
        price = (self.shop.usual_price * self.price)[at]
        weekday = WEEKDAYS[view.features[0].astype(np.int64)]
        mean = self.shop.size[at] * self.price[at] ** self.shop.elasticity[at] * weekday
        return Action(price, np.maximum(np.rint(mean * self.level[at] - view.stock), 0.0))
