"""Every learner on products of different pasts: prices stay within those seen, and all that sell may be ordered."""

from functools import cache

import numpy as np
import pandas as pd
import pytest

import lostsales
from lostsales.data.problem import Problem
from lostsales.demand.law.demand_law import Family
from lostsales.learn.baselines.behaviour import Behaviour
from lostsales.learn.baselines.threshold_tuning import SSP, BaseStock, Newsvendor
from lostsales.learn.cfqi.learn import CFQI
from lostsales.learn.learner import Learner
from lostsales.learn.planner.lookahead import Lookahead
from lostsales.learn.planner.planner import Planner
from lostsales.policy.recommendation import NEVER_ORDERED
from lostsales.policy.rules import Rules

PLANNER = Planner(draws=1, families=(Family("linear", False, link="log"),), pricing="free", price_caution=0.0)
CFQI_ALL = CFQI(iterations=5, pricing="free", support="all")
# Prices relative to the usual one of each product; demand hardly answers, so that dearer is better.
STEPS = {
    "wide": (0.5, 0.8, 1.0, 1.3, 2.0),
    "narrow": (0.95, 1.0, 1.05),
    "dear": (0.9, 1.0, 1.1),
    "cheap": (0.8, 1.0, 1.0),
}
USUAL = {"wide": 10.0, "narrow": 4.94, "dear": 31.0, "cheap": 2.49}
PROBLEM = Problem.model_validate(
    {"arrival": "before", "costs": {"lost": 0.0, "order": "unit_cost", "holding": "holding_cost"}}
)


@cache
def table(never_ordered: str = "", periods: int = 90) -> pd.DataFrame:
    """Ninety days of each product; one of them may have been filled up without a logged order."""
    rng, parts = np.random.default_rng(3), []
    for at, (name, steps) in enumerate(STEPS.items()):
        relative = rng.choice(steps, periods)
        demand = rng.poisson(12.0 * (1 + at % 2) * relative**-0.2).astype(np.float64)
        stock, order = np.zeros(periods), np.zeros(periods)
        for day in range(periods):
            order[day] = rng.integers(8, 40)
            if day + 1 < periods:
                stock[day + 1] = max(stock[day] + order[day] - demand[day], 0.0)
        if name == never_ordered:
            stock, order = stock + order, np.zeros(periods)
        sales = np.minimum(demand, stock + order)
        columns = {
            "series": name,
            "period": pd.date_range("2026-01-01", periods=periods),
            "stock": stock,
            "order": order,
        }
        columns |= {"price": np.round(relative * USUAL[name], 2), "sales": sales, "stockout": demand >= stock + order}
        parts.append(pd.DataFrame(columns | {"unit_cost": 0.5 * USUAL[name], "holding_cost": 0.02 * USUAL[name]}))
    return pd.concat(parts)


def decisions(learner: Learner, rows: pd.DataFrame) -> pd.DataFrame:
    """What is recommended on the day after, with little stock."""
    policy = lostsales.fit(lostsales.read_log(rows, PROBLEM), learner)
    last = rows.groupby("series").tail(1)
    today = last.assign(stock=7.0, period=last.period + pd.Timedelta(days=1))
    costs = [name for name in ("unit_cost", "holding_cost") if name in {each.name for each in policy.asks}]
    found: pd.DataFrame = policy.recommend(rows, today[["series", "period", "stock", *costs]])
    return found.set_index("series").sort_index()


@pytest.mark.parametrize(
    "learner",
    [
        PLANNER,
        CFQI_ALL,
        Lookahead(),
        BaseStock(pricing="free"),
        SSP(pricing="free"),
        Newsvendor(pricing="free"),
        Behaviour(),
    ],
    ids=lambda each: each.method,
)
def test_no_price_is_recommended_at_which_the_product_was_never_sold(learner: Learner) -> None:
    price, found = table().groupby("series").price, decisions(learner, table())
    assert (found.price >= price.min() - 1e-9).all()
    assert (found.price <= price.max() + 1e-9).all()


@pytest.mark.parametrize("learner", [PLANNER, BaseStock(pricing="free")], ids=lambda each: each.method)
def test_the_user_may_allow_prices_beyond_those_seen(learner: Learner) -> None:
    price = table().groupby("series").price
    found = decisions(learner.model_copy(update={"rules": Rules(price_beyond=0.3)}), table())
    assert (found.price > price.max()).any()
    assert (found.price <= 1.3 * price.max() + 1e-9).all()


@pytest.mark.parametrize(
    "learner", [PLANNER, Lookahead(), BaseStock(), CFQI(iterations=5)], ids=lambda each: each.method
)
def test_a_product_without_a_logged_order_is_ordered_by_its_demand_and_flagged(learner: Learner) -> None:
    found = decisions(learner, table("narrow"))
    assert found.order["narrow"] > 0
    assert NEVER_ORDERED in found.flag["narrow"]
    assert not found.flag.drop("narrow").str.contains(NEVER_ORDERED).any()


@pytest.mark.parametrize("learner", [PLANNER, Lookahead(), BaseStock()], ids=lambda each: each.method)
def test_a_shop_without_any_logged_order_is_told_to_order_what_it_sells(learner: Learner) -> None:
    one = table("wide").query("series == 'wide'")
    assert decisions(learner, one).order["wide"] > 0
