"""Policies of an assortment as this build makes them: products of their own units, ranges and rules, a shop's clock.

The stored policies of `tests/compatibility` are of a build that had none of these.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pandas as pd

import lostsales
from lostsales.data.units import problem_in_units
from lostsales.policy.chosen_products import ChosenProducts
from lostsales.policy.in_units import InUnits
from tests.learn.small import frame_of

PRODUCTS = (("tea", "drinks", 3.0, 4), ("milk", "dairy", 1.2, 9), ("cake", "bakery", 5.0, 3))
PERIODS = 80
SUNDAY = 6
KERNEL = {"kind": "rbf", "coefficient": 0.1}
LONG = frozenset({"planner with lead times"})  # to make, and so in long runs only
PROBLEM = lostsales.Problem.model_validate(
    {
        "arrival": "before",
        "attributes": ["department"],
        "costs": {"lost": 0.5, "holding": 0.05},
        "rules": {
            "least_margin": 0.1,
            "own": [{"where": {"department": "bakery"}, "multiple": 2, "greatest_price_change_percent": 20}],
        },
    }
)


@cache
def table() -> pd.DataFrame:
    """Three products of 80 days, closed on Sundays."""
    rng = np.random.default_rng(3)
    rows = []
    for name, department, usual, size in PRODUCTS:
        stock = 0.0
        for day in range(PERIODS):
            if day % 7 == SUNDAY:
                continue
            price = round(usual * float(rng.choice([0.8, 1, 1.1])), 2)
            order = max(float(rng.poisson(1.1 * size)) - stock, 0.0)
            demand = rng.poisson(size * (price / usual) ** -1.5)
            sales = min(stock + order, demand)
            date = (pd.Timestamp("2026-01-05") + pd.Timedelta(days=day)).date().isoformat()
            rows.append((name, department, date, stock, price, order, sales, demand > stock + order, usual / 2))
            stock += order - sales
    names = ("series", "department", "period", "stock", "price", "order", "sales", "stockout", "order_cost")
    return pd.DataFrame(rows, columns=names)


@cache
def log() -> lostsales.SalesLog:
    """The table as a log."""
    return lostsales.read_log(table(), PROBLEM)


def question(name: str = "") -> tuple[pd.DataFrame, pd.DataFrame]:
    """Recent rows, and an open day with a product that the log never had."""
    if "lead times" in name:
        rows = frame_of(log_with_lead_times())
        is_last = rows["period"] == rows["period"].max()
        return rows[~is_last], rows[is_last][["series", "period", "stock"]]
    last = table().groupby("series").tail(1)
    today = last.assign(period="2026-03-26")[["series", "department", "period", "stock", "order_cost"]]
    unknown = today.head(1).assign(series="a new one", department="bakery")
    return table().groupby("series").tail(9), pd.concat([today, unknown], ignore_index=True)


@cache
def log_with_lead_times() -> lostsales.SalesLog:
    """A shop whose orders take two periods."""
    scenario = lostsales.Scenario.load("newsvendor", ("arrival=after", "supply.lead_time=2"))
    return lostsales.simulate(scenario, episodes=6, seed=1)[0]


def _in_dozens(policy: Any) -> InUnits:
    """A policy for a shop that writes single pieces of what is sold by the dozen, and of tea by two dozens."""
    return InUnits(policy, problem_in_units(policy.problem, 1 / 12), 12.0, {"tea": 2.0})


@cache
def made(name: str) -> Any:
    """The policy of a name."""
    return MAKERS[name]()


MAKERS: dict[str, Callable[[], Any]] = {
    "base-stock": lambda: lostsales.fit(log(), "base-stock"),
    "newsvendor": lambda: lostsales.fit(log(), "newsvendor"),
    "behaviour": lambda: lostsales.fit(log(), "behaviour"),
    "c-fqi": lambda: lostsales.fit(log(), "c-fqi", iterations=2, function={"most_rank": 20, "kernels": [KERNEL]}),
    "planner": lambda: lostsales.fit(log(), "planner", draws=1),
    "base-stock with lead times": lambda: lostsales.fit(log_with_lead_times(), "base-stock"),
    "behaviour with lead times": lambda: lostsales.fit(log_with_lead_times(), "behaviour"),
    "c-fqi with lead times": lambda: lostsales.fit(
        log_with_lead_times(), "c-fqi", iterations=2, function={"most_rank": 20, "kernels": [KERNEL]}
    ),
    "planner with lead times": lambda: lostsales.fit(log_with_lead_times(), "planner", draws=1),
    "base-stock in dozens": lambda: _in_dozens(made("base-stock")),
    "planner in dozens": lambda: _in_dozens(made("planner")),
    "planner for some": lambda: ChosenProducts(made("planner"), np.array(["tea", "cake"], dtype=object)),
    "base-stock in dozens for some": lambda: ChosenProducts(
        made("base-stock in dozens"), np.array(["tea"], dtype=object)
    ),
}


@cache
def made_file(name: str) -> Path:
    """The file of it, beside what it is asked."""
    path = Path(mkdtemp()) / f"{name}.policy"
    made(name).save(path)
    for each, asked in zip(("recent.csv", "today.csv"), question(name), strict=True):
        asked.to_csv(path.with_name(each), index=False)
    return path
