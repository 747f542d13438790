"""Shops on a calendar, in balance, whose rows know nothing of the dates."""

from collections.abc import Callable, Iterable
from datetime import date, timedelta

import numpy as np
import pandas as pd

from lostsales.data.problem import Problem

PROBLEM = Problem(features=["promotion"], costs={"lost": 1.0, "order": 1.0, "holding": 0.1})
FIRST = date(2024, 1, 1)  # a Monday
IsOpen = Callable[[date], bool]


def on_weekdays(*closed: int, but: Iterable[str] = (), also: Iterable[str] = ()) -> IsOpen:
    """Closed on weekdays (0 is Monday), not on the days `but`, and `also` on single days."""
    opened, shut = set(but), set(also)
    return lambda day: day.isoformat() in opened or (day.weekday() not in closed and day.isoformat() not in shut)


def days(count: int, is_open: IsOpen, first: date = FIRST) -> list[date]:
    """The open days among as many days."""
    return [day for day in (first + timedelta(days=each) for each in range(count)) if is_open(day)]


def shop(periods: list[date] | range, names: Iterable[str], seed: int = 0) -> pd.DataFrame:
    """Rows in order: demand depends on price and promotion, orders arrive after sales."""
    rng = np.random.default_rng(seed)
    parts = []
    for name in names:
        n = len(periods)
        price, promotion = rng.choice([2.0, 3.0], n), rng.integers(0, 2, n)
        order, demand = rng.integers(0, 12, n), rng.poisson(8 + 3 * promotion - 1.5 * price)
        stock, sales = np.empty(n), np.empty(n)
        left = 8.0
        for t in range(n):
            stock[t], sales[t] = left, min(left, demand[t])
            left += order[t] - sales[t]
        parts.append(
            pd.DataFrame(
                {
                    "series": name,
                    "period": [pd.Timestamp(day) if isinstance(day, date) else day for day in periods],
                    "stock": stock,
                    "price": price,
                    "order": order.astype(float),
                    "sales": sales,
                    "promotion": promotion.astype(float),
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def products(count: int, store: str = "") -> list[str]:
    """Names of products, in a store or not."""
    return [f"{store}{each}" for each in range(count)]
