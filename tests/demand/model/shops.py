"""A made-up shop whose demand law is known."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from lostsales.types import Bools, Floats


@dataclass(frozen=True, eq=False)
class Shop:
    """Table of sales and the truth behind it; rows are ordered by product and period."""

    table: pd.DataFrame
    demand: Floats  # (products, periods)
    mean: Floats  # (products, periods)
    elasticity: Floats  # (products,)
    sold_out: Bools  # (products, periods)
    start: int  # first period that the log does not have

    @property
    def log(self) -> pd.DataFrame:
        """Rows of the history."""
        return pd.DataFrame(self.table[self.table["period"] < self.table["period"].unique()[self.start]])

    @property
    def future(self) -> pd.DataFrame:
        """Prices and promotions after it."""
        rows = self.table["period"] >= self.table["period"].unique()[self.start]
        return pd.DataFrame(self.table.loc[rows, ["series", "period", "price", "promo"]])


def made_up_shop(seed: int, products: int = 24, days: int = 400, ahead: int = 14) -> Shop:
    """Weekdays, promotions, prices, a wandering level, negative binomial demand and limited stock."""
    rng = np.random.default_rng(seed)
    periods, group = days + ahead, np.arange(products) % 3
    base = np.exp(rng.uniform(np.log(2), np.log(25), products))
    elasticity = np.array([-1.2, -2.0, -2.8])[group] + 0.25 * rng.normal(size=products)
    dates = pd.date_range("2025-01-01", periods=periods)
    weekday = np.array([0.9, 0.9, 0.9, 1.0, 1.2, 1.4, 0.7])[np.asarray(dates.day_of_week)]
    level = np.cumsum(0.015 * rng.normal(size=(products, periods)), axis=1)
    regular = np.repeat(rng.normal(0, 0.08, (products, periods // 20 + 1)), 20, axis=1)[:, :periods]
    promo = np.repeat(rng.random((products, periods // 5 + 1)) < 0.1, 5, axis=1)[:, :periods]
    price = np.round(4 * np.exp(regular - promo * rng.choice([0.1, 0.2, 0.3], (products, 1))), 2)
    relative = np.log(price / np.median(price, axis=1, keepdims=True))
    mean = base[:, None] * weekday * np.exp(level + elasticity[:, None] * relative + 0.3 * promo)
    demand = rng.negative_binomial(8, 8 / (8 + mean)).astype(float)
    stock = rng.poisson(1.35 * base[:, None] * weekday * np.exp(level) + 1.0).astype(float)
    table = pd.DataFrame(
        {
            "series": np.repeat([f"p{i:02}" for i in range(products)], periods),
            "period": np.tile(dates, products),
            "price": price.reshape(-1),
            "promo": promo.reshape(-1).astype(float),
            "sales": np.minimum(demand, stock).reshape(-1),
            "stockout": (demand > stock).reshape(-1),
            "group": np.repeat([f"g{each}" for each in group], periods),
        }
    )
    return Shop(table, demand, mean, elasticity, demand > stock, days)
