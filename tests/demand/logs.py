"""Small logs with censored demand."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.assortments import Assortment
from lostsales.data.log import SalesLog
from lostsales.data.problem import Columns, Costs, Problem
from lostsales.data.reading.gate import read_log
from lostsales.types import Bools, Floats

COSTS = Costs(lost=2, order=3, holding=1)


def log_of_flags(*series: str, problem: Problem | None = None, **columns: Sequence[Any]) -> SalesLog:
    """One series a text, one row a letter: `x` a stock-out that sold 3 of 3, a digit an observed demand out of 10.

    >>> log_of_flags("4x7").sales
    array([4., 3., 7.])
    """
    letters = "".join(series)
    out = np.array([letter == "x" for letter in letters])
    frame = {
        "series": np.repeat([f"s{index}" for index in range(len(series))], [len(text) for text in series]),
        "period": np.concatenate([np.arange(len(text)) for text in series]),
        "stock": np.where(out, 3.0, 10.0),
        "price": np.full(len(letters), 4.0),
        "order": np.zeros(len(letters)),
        "sales": [3.0 if letter == "x" else float(letter) for letter in letters],
        "stockout": out,
    }
    return read_log(pd.DataFrame(frame | columns), problem or Problem(costs=COSTS))


def log_of_draws(
    demand: Floats,  # (series, periods)
    available: Floats,  # (series, periods)
    problem: Problem | None = None,
    flag: bool = True,
    **columns: Any,
) -> SalesLog:
    """The log of these demands; the stock is refilled every period, so it is off the balance."""
    series, periods = demand.shape
    frame: dict[str, Any] = {
        "series": np.repeat(np.arange(series), periods),
        "period": np.tile(np.arange(periods), series),
        "stock": available.ravel(),
        "price": np.full(demand.size, 4.0),
        "order": np.zeros(demand.size),
        "sales": np.minimum(demand, available).ravel(),
    }
    if flag:
        frame["stockout"] = (demand > available).ravel()
    for name, values in columns.items():
        frame[name] = np.asarray(values).ravel()
    return read_log(pd.DataFrame(frame), problem or Problem(costs=COSTS))


def bools(letters: str) -> Bools:
    """A text of 0 and 1 as truth values."""
    return np.array([letter == "1" for letter in letters])


def late_orders(lead: int, series: int = 8, periods: int = 60) -> pd.DataFrame:
    """A table of orders that can be sold `lead` periods later; the row does not say so."""
    rng = np.random.default_rng(lead)
    shape = series, periods
    order, demand = rng.integers(4, 16, shape), rng.poisson(9, shape)
    stock, sales = np.full(shape, 40), np.zeros(shape, dtype=np.int64)
    for period in range(periods):
        if period:
            stock[:, period] = stock[:, period - 1] - sales[:, period - 1] + 10
        if period >= lead:
            stock[:, period] += order[:, period - lead] - 10
        sales[:, period] = np.minimum(stock[:, period], demand[:, period])
    columns = {"stock": stock, "order": order, "sales": sales, "price": rng.integers(3, 6, shape)}
    keys = {"series": np.repeat(np.arange(series), periods), "period": np.tile(np.arange(periods), series)}
    return pd.DataFrame(keys | {name: values.ravel() for name, values in columns.items()})


def partly_out(log: SalesLog, demand: Floats, share: float, pace: float | None = None) -> SalesLog:
    """A log in which a share of all rows was out of stock for up to half of the period, whatever the demand."""
    rng = np.random.default_rng(5)
    out = np.where(rng.random(len(log)) < share, np.rint(rng.uniform(1, 8, len(log))), 0.0)
    sales = np.minimum(rng.binomial(demand.astype(int), 1 - out / 16), log.sales).astype(float)
    # Sold out at an even pace, the shelf was empty for the share of the demand that was lost.
    lost = np.ceil(16 * (1 - sales / np.maximum(demand, 1.0)))
    hours = np.where(np.asarray(log.stockout), np.maximum(out, lost), out)
    columns = Columns(out_of_stock="hours")
    update = {"columns": columns, "open_time": 16.0, "out_of_stock_pace": pace}
    return replace(log, problem=log.problem.model_copy(update=update), sales=sales, out_of_stock=hours, stockout=None)


def log_of_assortment(shop: Assortment, seed: int, **columns: Floats) -> SalesLog:
    """The log of an assortment, without its demand, with other `columns`."""
    table = {name: each for name, each in (shop.columns(seed) | columns).items() if name != "demand"}
    return read_log(pd.DataFrame(table), shop.problem)
