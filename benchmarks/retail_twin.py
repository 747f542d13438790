"""A synthetic twin of a public retail table: 100 series of 731 days, thousands of prices, sales around 136."""

from typing import Any

import numpy as np
import pandas as pd

from lostsales.data.log import SalesLog
from lostsales.data.problem import Problem
from lostsales.data.reading.gate import read_log

SERIES, PERIODS = 100, 731
PRICES = 10.0, 100.0  # uniform, with two decimals: 8,999 different ones
ORDERS = 20, 200  # 181 different ones
STOCK = 50, 500
SEASONS = ("Autumn", "Spring", "Summer", "Winter")
PROBLEM: dict[str, Any] = {
    "arrival": "after",
    "features": [{"name": "season", "kind": "categorical", "levels": SEASONS}, "promotion", "discount_percent"],
    "costs": {"lost": 10.0, "order": 25.0, "holding": 0.1},
}


def retail_table(
    *, balanced: bool = True, series: int = SERIES, periods: int = PERIODS, times: float = 1.0, seed: int = 0
) -> pd.DataFrame:
    """The table, with all quantities times a number.

    `balanced`: the stock is what was left and what was ordered, and a manager orders towards a level. Otherwise stock,
    orders and sales are drawn on their own, as in the original, where the stock follows from nothing.
    """
    rng = np.random.default_rng(seed)
    shape = (series, periods)
    price = np.round(rng.uniform(*PRICES, shape), 2)
    promotion, discount = rng.integers(0, 2, shape), 5 * rng.integers(0, 5, shape)
    season = rng.integers(0, len(SEASONS), shape)
    usual = 136 * rng.gamma(20, 1 / 20, (series, 1)) * (1 + 0.1 * promotion + 0.05 * (season == 2))
    mean = usual * (1 - 0.001 * (price - 55))  # the price hardly moves sales
    demand = np.rint(rng.gamma(4, mean / 4))
    stock, order = (rng.integers(low, high + 1, shape).astype(np.float64) for low, high in (STOCK, ORDERS))
    if balanced:
        level = 2.6 * usual.mean(axis=1)
        for period in range(periods):
            wanted = level - stock[:, period] + rng.normal(0, 30, series)
            order[:, period] = np.clip(np.rint(wanted), *ORDERS)
            if period + 1 < periods:
                left = np.maximum(stock[:, period] - demand[:, period], 0)
                stock[:, period + 1] = left + order[:, period]
    sales = np.minimum(demand, stock)
    return pd.DataFrame(
        {
            "series": np.repeat([f"S{each // 20 + 1:03}-P{each % 20 + 1:04}" for each in range(series)], periods),
            "period": np.tile(pd.date_range("2022-01-01", periods=periods), series),
            "season": np.array(SEASONS)[season].ravel(),
            "promotion": promotion.ravel(),
            "discount_percent": discount.ravel(),
            "stock": times * stock.ravel(),
            "price": price.ravel(),
            "order": times * order.ravel(),
            "sales": times * sales.ravel(),
        }
    )


def retail_twin(**options: Any) -> SalesLog:
    """The table of `retail_table` as a log, without `prices` and `orders`: candidates are derived."""
    return read_log(retail_table(**options), Problem(**PROBLEM))
