"""A world small enough to enumerate: in each of a few periods demand is hidden with probability one half."""

from itertools import product

import numpy as np
import pandas as pd

from lostsales.data.log import SalesLog
from lostsales.data.problem import Problem
from lostsales.data.reading.gate import read_log

PERIODS = 6
PATHS = tuple(product((False, True), repeat=PERIODS))  # True: a stock-out; all are equally likely
OPENING_SALES = 2.0
PRICES, ORDERS = (4.0, 5.0), (3.0, 4.0)
DISCOUNT = 0.9


def problem(discount: float = DISCOUNT) -> Problem:
    return Problem(
        arrival="before", prices=PRICES, orders=ORDERS, discount=discount, costs={"lost": 2, "order": 3, "holding": 1}
    )


def seen_demand(period: int) -> float:
    return 1.0 + period % 3


def log_of_all_paths(discount: float = DISCOUNT) -> SalesLog:
    """Every path once, so that a mean over the log is an expectation."""
    rows = []
    for number, path in enumerate(PATHS):
        stock = 4.0
        for period, hidden in enumerate(path):
            price, order = PRICES[(number + period) % 2], ORDERS[(number // 2 + period) % 2]
            sales = stock + order if hidden else seen_demand(period)
            rows.append((f"s{number:02}", period, stock, price, order, sales, hidden, OPENING_SALES, False))
            stock = stock + order - sales
    names = ["series", "period", "stock", "price", "order", "sales", "stockout", "last_sales", "last_stockout"]
    frame = pd.DataFrame(rows, columns=names)
    frame.loc[frame["period"] > 0, ["last_sales"]] = np.nan
    return read_log(frame, problem=problem(discount))


def depth(path: tuple[bool, ...], period: int) -> int:
    """Stock-outs in a row just before a period; demand before the first one was seen."""
    found = 0
    while found < period and path[period - 1 - found]:
        found += 1
    return found


def anchor_demand(path: tuple[bool, ...], period: int) -> float:
    anchor = period - 1 - depth(path, period)
    return OPENING_SALES if anchor < 0 else seen_demand(anchor)
