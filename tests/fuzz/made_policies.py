"""Policies of every kind: products of their own units, ranges and rules, a shop's clock, a supply."""

import tomllib
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import lostsales
from lostsales.data.product_table import ProductTable
from lostsales.data.relative import problem_in_units
from lostsales.lab.ppo_policy import PpoPolicy, PpoTraining
from lostsales.policy.chosen_products import ChosenProducts
from lostsales.policy.shop_units import InShopUnits
from tests.fuzz.running import new_folder
from tests.learn.small import frame_of

PRODUCTS = (("tea", "drinks", 3.0, 4), ("milk", "dairy", 1.2, 9), ("cake", "bakery", 5.0, 3))
PERIODS = 80
SUNDAY = 6
KERNEL = {"kind": "rbf", "coefficient": 0.1}
SOLVED = "solved"  # for a scenario, in which it is asked
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
    if "lead times" in name or "released" in name:
        rows = frame_of(log_of_scenario() if "released" in name else log_with_lead_times("order days" in name))
        is_last = rows["period"] == rows["period"].max()
        features = [each.name for each in log_of_scenario().problem.features] if "released" in name else []
        return rows[~is_last], rows[is_last][["series", "period", *features, "stock"]]
    last = table().groupby("series").tail(1)
    today = last.assign(period="2026-03-26")[["series", "department", "period", "stock", "order_cost"]]
    unknown = today.head(1).assign(series="a new one", department="bakery")
    recent = table().groupby("series").tail(9)
    return recent, pd.concat([today, unknown], ignore_index=True)


@cache
def log_with_lead_times(order_days: bool = False) -> lostsales.SalesLog:
    """A shop whose orders take two periods, and may be placed in every other one."""
    settings = ("arrival=after", "supply.lead_time=2", *(("supply.order_days=2",) if order_days else ()))
    return lostsales.simulate(lostsales.Scenario.load("newsvendor", settings), episodes=6, seed=1)[0]


@cache
def log_with_weekdays() -> lostsales.SalesLog:
    """The table without rules, where the weekday counts."""
    problem = {"arrival": "before", "calendar": ["weekday"], "costs": {"lost": 0.5, "order": 1, "holding": 0.05}}
    return lostsales.read_log(table().drop(columns="order_cost"), lostsales.Problem.model_validate(problem))


def scenario_of(name: str) -> str:
    """The scenario in which a solved policy is asked, as TOML."""
    tiny = (Path(__file__).parent / "data" / "tiny-after.toml").read_text()
    return tiny + ("[supply]\nlead_time = 2\n" if "lead times" in name else "")


def _scenario(name: str) -> lostsales.Scenario:
    return lostsales.Scenario.model_validate(tomllib.loads(scenario_of(name)))


def _solved(target: Any, name: str, method: Any = "auto") -> Any:
    scenario = _scenario(name)
    return lostsales.solve(scenario, target, horizon=scenario.horizon, method=method).policy


def _network() -> PpoPolicy:
    """Two layers from three observations to two prices and three orders."""
    rng = np.random.default_rng(1)
    weights, biases = (rng.normal(size=(4, 3)), rng.normal(size=(5, 4))), (np.zeros(4), np.zeros(5))
    trained = PpoTraining(steps=0, discount=0.9, seed=0)
    return PpoPolicy(_scenario("").problem, np.zeros(3), np.ones(3), weights, biases, trained)


@cache
def log_of_scenario() -> lostsales.SalesLog:
    """A shop with a grid of prices and orders for all series, features and a capacity."""
    return lostsales.simulate("released", episodes=8, seed=1)[0]


def _fitted(method: str, of: lostsales.SalesLog, **settings: Any) -> Any:
    return lostsales.fit(of, method, **settings)


def _of_log(method: str) -> Any:
    return _fitted(method, log())


def _with_lead_times(method: str) -> Any:
    return _fitted(method, log_with_lead_times())


def _fitted_quickly(method: str, of: lostsales.SalesLog) -> Any:
    return _fitted(method, of, iterations=2, function={"most_rank": 20, "kernels": [KERNEL]})


def _of_scenario(method: str, **function: Any) -> Any:
    return _fitted(method, log_of_scenario(), iterations=2, function={"most_rank": 20, "kernels": [KERNEL]} | function)


def _in_dozens(policy: Any) -> Any:
    """A policy for a shop that writes single pieces of what is sold by the dozen, and of tea by two dozens."""
    if not isinstance(policy, InShopUnits):
        products = ProductTable.of(log().decisions("fit")).without_scale()
        policy = InShopUnits(policy, policy.problem, products, policy.usual_demand)
    products = policy.products.times(12.0, np.where(policy.products.names == "tea", 24.0, 12.0))
    grid = None if policy.grid is None else policy.grid.in_units(1 / 12)
    usual = 12 * policy.usual_demand
    return replace(
        policy, problem=problem_in_units(policy.problem, 1 / 12), products=products, grid=grid, usual_demand=usual
    )


@cache
def made(name: str) -> Any:
    """The policy of a name."""
    return MAKERS[name]()


MAKERS: dict[str, Callable[[], Any]] = {
    **{name: partial(_of_log, name) for name in ("base-stock", "newsvendor", "behaviour")},
    "lookahead": lambda: _fitted("lookahead", log(), paths=20),
    "c-fqi": lambda: _fitted_quickly("c-fqi", log()),
    "pc-fqi": lambda: _fitted_quickly("pc-fqi", log()),
    "planner": lambda: _fitted("planner", log(), paths=20),
    "replay-fqi": lambda: _fitted("replay-fqi", log()),
    "planner with weekdays": lambda: _fitted("planner", log_with_weekdays(), paths=20),
    "lookahead with weekdays": lambda: _fitted("lookahead", log_with_weekdays(), paths=20),
    **{
        f"{name} with lead times": partial(_with_lead_times, name)
        for name in ("base-stock", "behaviour", "capped-base-stock", "constant-order", "projected-level")
    },
    "lookahead with lead times": lambda: _fitted("lookahead", log_with_lead_times(), paths=20),
    "c-fqi with lead times": lambda: _fitted_quickly("c-fqi", log_with_lead_times()),
    "fqi-observed with lead times": lambda: _fitted_quickly("fqi-observed", log_with_lead_times()),
    "planner with lead times": lambda: _fitted("planner", log_with_lead_times(), draws=1),
    "planner with lead times and order days": lambda: _fitted("planner", log_with_lead_times(True), draws=1),
    "base-stock in dozens": lambda: _in_dozens(made("base-stock")),
    "lookahead in dozens": lambda: _in_dozens(made("lookahead")),
    "planner in dozens": lambda: _in_dozens(made("planner")),
    "planner for some": lambda: ChosenProducts(made("planner"), np.array(["tea", "cake"], dtype=object)),
    "base-stock in dozens for some": lambda: ChosenProducts(
        made("base-stock in dozens"), np.array(["tea"], dtype=object)
    ),
    "s-S-p released": lambda: _fitted("s-S-p", log_of_scenario()),
    "behaviour released": lambda: _fitted("behaviour", log_of_scenario()),
    "fqi-plugin released": lambda: _of_scenario("fqi-plugin"),
    "pc-fqi released": lambda: _of_scenario("pc-fqi"),
    "pc-fqi linear released": lambda: _of_scenario("pc-fqi", kind="linear"),
    "c-fqi polynomial released": lambda: _of_scenario("c-fqi", kernels=[{"kind": "polynomial", "coefficient": 0.1}]),
    "planner released": lambda: _fitted("planner", log_of_scenario(), draws=1),
    "replay-fqi released": lambda: _fitted("replay-fqi", log_of_scenario()),
    f"{SOLVED} oracle": lambda: _solved("oracle", ""),
    f"{SOLVED} pi-star on beliefs": lambda: _solved("pi-star", "", "beliefs"),
    f"{SOLVED} pi-star on histories": lambda: _solved("pi-star", "", "histories"),
    f"{SOLVED} by a network": _network,
    f"{SOLVED} oracle with lead times": lambda: _solved("oracle", "with lead times"),
    f"{SOLVED} pi-star with lead times": lambda: _solved("pi-star", "with lead times"),
}


@cache
def made_file(name: str) -> Path:
    """The file of it, beside what it is asked."""
    path = new_folder() / f"{name}.policy"
    made(name).save(path)
    if name.startswith(SOLVED):
        path.with_name("scenario.toml").write_text(scenario_of(name))
        return path
    for each, asked in zip(("recent.csv", "today.csv"), question(name), strict=True):
        asked.to_csv(path.with_name(each), index=False)
    return path
