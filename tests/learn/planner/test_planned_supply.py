"""The planner where orders take time, as shops differ: capacities, calendars, units, nothing to order or to price."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import lostsales
from lostsales.data.log import DecisionLog, SalesLog
from lostsales.data.problem import Problem
from lostsales.learn.planner.following import ByPipeline
from lostsales.learn.planner.paths.policy import PathPolicy
from lostsales.learn.planner.planner import Planner
from lostsales.learn.planner.policy import PlanPolicy
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import simulate
from tests.learn.planner.true_law import LINEAR

PLANNER = Planner(draws=1, families=LINEAR)


def shop(*supply: str, episodes: int = 4) -> tuple[Scenario, DecisionLog]:
    scenario = Scenario.load("lost-sales", ("supply.lead_time=2", "orders={multiple = 1, most = 12}", *supply))
    return scenario, simulate(scenario, episodes=episodes, seed=1)[0]


def table_of(log: SalesLog) -> pd.DataFrame:
    return pd.DataFrame(log.table_columns)


@pytest.mark.slow
def test_of_short_deliveries_more_is_ordered() -> None:
    """Half of an order comes, in time for the sales of its period: twice the demand, 5 a period, has to be ordered."""
    scenario, log = shop("supply.lead_time=0", "supply.share=0.5", "costs.lost=9", "orders={multiple = 1, most = 30}")
    played, _ = simulate(scenario, PLANNER.plan(log), episodes=20, seed=2)
    assert 0.5 * played.order.mean() == pytest.approx(5, abs=0.5)


@pytest.mark.slow
@pytest.mark.parametrize("supply", [("supply.capacity=9",), ("capacity=14", "capacity_rule=forbid")])
def test_capacities_are_kept_and_used(supply: tuple[str, ...]) -> None:
    """A simulation refuses an order that does not fit; without the capacity more is on the way."""
    found = []
    for keys in (supply, ()):
        scenario, log = shop(*keys)
        policy = PLANNER.plan(log)
        assert isinstance(policy.following, ByPipeline)
        played, _ = simulate(scenario, policy, episodes=20, seed=2)
        assert played.pipeline is not None
        found.append(float((np.asarray(played.order) + played.pipeline.sum(axis=1)).mean()))
    assert 3 < found[0] < found[1]


@pytest.mark.slow
def test_on_a_calendar_it_orders_on_order_days_and_counts_what_is_on_the_way() -> None:
    """Dated rows: Mondays and Thursdays, as a person asks for the decisions of a Thursday and of a Friday."""
    _, log = shop('supply.order_days=["Monday", "Thursday"]', "orders={multiple = 1, most = 40}")
    table = table_of(log)
    table["period"] = pd.Timestamp("2026-01-05") + pd.to_timedelta(table["period"], unit="D")  # a Monday
    dated = lostsales.read_log(table, log.problem)
    policy = lostsales.fit(dated, PLANNER)
    assert isinstance(policy, PathPolicy)
    recent = table[table["period"] <= "2026-01-14"]  # a Wednesday
    orders = {}
    for day, more in (("2026-01-15", 0), ("2026-01-15", 12), ("2026-01-16", 0)):
        today = pd.DataFrame({"series": recent["series"].unique(), "period": pd.Timestamp(day), "stock": 3.0 + more})
        before = recent if day == "2026-01-15" else table[table["period"] <= "2026-01-15"]
        orders[day, more] = policy.recommend(before, today)["order"]
    assert (orders["2026-01-15", 0] > orders["2026-01-15", 12]).all()
    assert (orders["2026-01-16", 0] == 0).all()


@pytest.mark.slow
def test_a_shop_that_counts_in_cases_orders_the_same_cases() -> None:
    """Quantities times 6, costs by a sixth: a unit is a sixth of a case, and decisions are those of the cases."""
    _, log = shop()
    in_cases = lostsales.fit(log, PLANNER)
    times = {"stock": 6.0, "order": 6.0, "sales": 6.0, "last_sales": 6.0, "received": 6.0, "on_order_1": 6.0}
    table = table_of(log)
    units = table.assign(**{name: table[name] * by for name, by in times.items() if name in table})
    keys: dict[str, Any] = log.problem.model_dump(by_alias=True, exclude_none=True)
    keys |= {"orders": [6.0 * each for each in log.problem.orders or ()]}
    keys["costs"] = {name: each / 6 for name, each in keys["costs"].items() if isinstance(each, float | int)}
    in_units = lostsales.fit(lostsales.read_log(units, Problem.model_validate(keys)), PLANNER)
    stock, waiting = np.meshgrid(np.arange(0.0, 16, 3), np.arange(0.0, 12, 4))
    today = pd.DataFrame(
        {"series": "0", "period": 50, "stock": stock.reshape(-1), "last_sales": 5.0, "on_order_1": waiting.reshape(-1)}
    )
    today["series"] = [f"new {row}" for row in range(len(today))]
    larger = today.assign(stock=6 * today["stock"], last_sales=30.0, on_order_1=6 * today["on_order_1"])
    cases, single = (policy.recommend(None, rows)["order"] for policy, rows in ((in_cases, today), (in_units, larger)))
    assert (cases * 6 == single).all()
    assert cases.nunique() > 3


@pytest.mark.slow
def test_with_nothing_to_order_it_prices() -> None:
    """A stock that is sold off: the less is left, the dearer; what is on the way counts as stock of the next period."""
    scenario = Scenario.load("steady", ("supply.lead_time=2", "orders=[0]", "start.on_order=[4]", "horizon=6"))
    policy = lostsales.fit(simulate(scenario, episodes=60, seed=1)[0], PLANNER)
    assert isinstance(policy, PlanPolicy)
    assert isinstance(policy.following, ByPipeline)
    today = pd.DataFrame({"series": ["a", "b"], "period": 0, "stock": [1.0, 25.0], "on_order_1": 0.0})
    found = policy.recommend(None, today.assign(economy=0, interest=3.0, last_sales=4.0))
    assert (found["order"] == 0).all()
    assert found["price"].iloc[0] > found["price"].iloc[1]


def test_with_nothing_to_price_no_column_is_needed() -> None:
    _, log = shop()
    table = table_of(log).drop(columns="price")
    priced = lostsales.fit(log, PLANNER)
    unpriced = lostsales.fit(lostsales.read_log(table, log.problem), PLANNER)
    today = pd.DataFrame({"series": "a", "period": 50, "stock": [0.0], "on_order_1": [4.0], "last_sales": 5.0})
    first, second = (policy.recommend(None, today) for policy in (priced, unpriced))
    assert first["order"].tolist() == second["order"].tolist()
    assert first["order"].iloc[0] > 0
