"""Small logs with censored demand."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from lostsales.data.log import SalesLog
from lostsales.data.problem import Costs, Problem
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
