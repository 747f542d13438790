"""Orders that a shop places at closing time and writes on that day's row."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from lostsales.data.describe import describe
from lostsales.data.log import SalesLog
from lostsales.data.problem import Problem
from lostsales.data.proposal.propose import propose
from lostsales.data.reading.evening_orders import order_moment
from lostsales.data.reading.gate import read_log
from lostsales.data.writing import write_log
from lostsales.demand.audit.audit import audit
from lostsales.errors import LogError, SettingError
from lostsales.learn.baselines.threshold_tuning import BaseStock
from lostsales.learn.fit import fit
from lostsales.policy.recommendation import recommend
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import simulate

COSTS: Any = {"lost": 1, "order": 2, "holding": 0.05}
LAYOUTS = [("before", True), ("before", False), ("after", False)]  # arrival, and whether the stock holds the delivery


def morning(arrival: str, days: int = 120, products: int = 6, level: int = 30) -> pd.DataFrame:
    """A shop that fills up to a level every morning, before it knows the day's sales."""
    rng = np.random.default_rng(5)
    rows = []
    for product in range(products):
        stock, last = level, 12.0
        for day in range(days):
            price = float(rng.choice([4.0, 5.0, 6.0]))
            order = max(level + 6 * (day % 7 == 4) - stock, 0)
            demand = rng.poisson(0.6 * np.exp(3.4 - 0.2 * price) + 0.4 * last)
            available = stock + order if arrival == "before" else stock
            sales = last = min(available, demand)
            date = pd.Timestamp("2025-01-06") + pd.Timedelta(days=day)
            rows.append((f"p{product}", date, stock, price, order, sales))
            stock = stock + order - sales
    return pd.DataFrame(rows, columns=["series", "period", "stock", "price", "order", "sales"])


def evening(table: pd.DataFrame, holds: bool) -> pd.DataFrame:
    """The same facts as written the evening before; the stock is counted after the morning's delivery, or before it."""
    stock = table["stock"] + table["order"] * holds
    return table.assign(stock=stock, order=table.groupby("series")["order"].shift(-1))


def close(arrival: str, **keys: Any) -> Problem:
    return Problem(**{"arrival": arrival, "order_placed": "close", "costs": COSTS} | keys)


def decided(log: SalesLog) -> Any:
    """Stock and order of every row, (rows, 2)."""
    assert log.stock is not None
    assert log.order is not None
    return np.column_stack([log.stock, log.order])


def read_as_morning(table: pd.DataFrame, arrival: Any) -> SalesLog:
    return read_log(table, Problem(arrival=arrival, costs=COSTS))


@pytest.mark.parametrize(("arrival", "holds"), LAYOUTS)
def test_an_evening_order_is_the_order_of_the_next_morning(arrival: str, holds: bool) -> None:
    table = morning(arrival)
    expected = read_as_morning(table, arrival)
    newest_first = evening(table, holds).sort_values(["series", "period"], ascending=[True, False])
    log = read_log(newest_first, close(arrival))
    later = np.ones(len(log), dtype=bool)
    later[log.starts] = False
    assert np.array_equal(log.available, expected.available)
    assert np.array_equal(log.censored, expected.censored)
    assert np.array_equal(decided(log)[later], decided(expected)[later])
    assert log.notes.off_balance_rows == 0


@pytest.mark.parametrize(("arrival", "holds"), LAYOUTS)
def test_the_audit_and_the_decisions_are_those_of_the_morning(arrival: str, holds: bool) -> None:
    table = morning(arrival)
    expected, log = read_as_morning(table, arrival), read_log(evening(table, holds), close(arrival))
    found, wanted = audit(log), audit(expected)
    assert found.conclusion == wanted.conclusion
    assert abs(found.behaviour.tests[0].t - wanted.behaviour.tests[0].t) < 0.5
    assert not found.behaviour.is_hidden
    today = pd.DataFrame({"series": ["p0", "p1"], "period": pd.Timestamp("2025-05-06"), "stock": [3, 12]})
    decisions = [
        recommend(fit(each, BaseStock()), recent, today)[["price", "order"]].to_numpy()
        for each, recent in ((expected, table), (log, evening(table, holds)))
    ]
    assert np.array_equal(*decisions)


def test_read_as_morning_orders_they_raise_an_alarm_that_names_the_cause_first() -> None:
    log = read_log(evening(morning("before"), True).fillna({"order": 0}), Problem(arrival="after", costs=COSTS))
    found = audit(log)
    assert found.behaviour.tests[0].t > 10
    assert found.behaviour.sentence.startswith("orders seem to be placed at closing time")
    assert 'order_placed = "close"' in found.collect_next[0]
    assert any('order_placed = "close"' in text for name, text in describe(log).as_lines() if name == "WARNING")


@pytest.mark.parametrize(("arrival", "holds"), LAYOUTS)
def test_init_writes_the_keys_that_read_it(arrival: str, holds: bool) -> None:
    found = propose(evening(morning(arrival), holds).fillna({"order": 0}))
    assert (found.problem.order_placed, found.problem.arrival) == ("close", arrival)
    assert found.problem.calendar == ("weekday",)
    log = read_log(evening(morning(arrival), holds), found.problem)
    assert log.notes.off_balance_rows == 0


@pytest.mark.parametrize("arrival", ["before", "after"])
def test_morning_orders_are_left_as_they_are(arrival: str) -> None:
    assert propose(morning(arrival)).problem.order_placed == "open"


@pytest.mark.parametrize(
    ("scenario", "policy"),
    [(name, policy) for name in ("steady", "confounded", "weekday-counts") for policy in ("uniform", "base-stock")]
    + [(name, "manager") for name in ("confounded", "cost-shocks", "regime", "manager-before", "manager-slow")],
)
@pytest.mark.parametrize("arrival", ["before", "after"])
def test_no_simulated_morning_order_passes_for_one_of_the_evening(scenario: str, policy: str, arrival: str) -> None:
    log, _ = simulate(Scenario.load(scenario).model_copy(update={"arrival": arrival}), policy, episodes=15, seed=3)
    found = order_moment(log)
    assert found is None or not found.is_close


def test_this_evenings_order_may_be_open_and_no_other() -> None:
    table = evening(morning("before"), True)
    assert np.isfinite(decided(read_log(table, close("before")))).all()
    table.loc[3, "order"] = np.nan
    with pytest.raises(LogError, match="order must be present"):
        read_log(table, close("before"))


def test_after_a_hole_the_order_before_it_is_not_that_of_the_next_row() -> None:
    table = evening(morning("before", days=40, products=1), True)
    log = read_log(table.drop(index=range(10, 30)), close("before"))
    start = int(log.starts[1])
    assert log.notes.holes == 1
    assert log.available[start] == table["stock"][30]
    orders = decided(log)[start:, 1]
    assert orders[0] == np.sort(orders[1:])[len(orders) // 2 - 1]


def test_orders_cost_what_the_row_says_on_which_they_were_written() -> None:
    table = evening(morning("before", days=30, products=1), True)
    table["order_cost"] = np.arange(len(table)) + 1.0
    log = read_log(table, Problem(arrival="before", order_placed="close"))
    assert log.costs is None  # lost and holding are missing
    log = read_log(table, close("before", costs={"lost": 1, "holding": 1}))
    assert log.costs is not None
    assert np.asarray(log.costs.order)[1:].tolist() == table["order_cost"][:-1].tolist()


def test_what_is_on_the_way_excludes_the_order_that_is_decided_now() -> None:
    table = pd.DataFrame(
        {"series": "a", "period": range(1, 9), "stock": 20, "price": 2.0, "order": range(1, 9), "sales": 0}
    )
    problem = close("after", supply={"lead_time": 3}).model_copy(update={"prices": (2.0,)})
    log = read_log(table, problem)
    assert log.pipeline is not None
    assert log.pipeline[5].tolist() == [3.0, 4.0]  # the orders of rows 3 and 4, decided when rows 4 and 5 opened


def test_a_log_is_written_in_the_usual_layout(tmp_path: Any) -> None:
    log = read_log(evening(morning("before"), True), close("before"))
    write_log(log, tmp_path / "log.csv")
    again = read_log(tmp_path / "log.csv")
    assert again.problem.order_placed == "open"
    assert np.array_equal(decided(again), decided(log))


def test_receipts_on_the_row_of_their_order_are_refused_with_the_cure() -> None:
    table = evening(morning("before"), True).fillna({"order": 0})
    with pytest.raises(LogError, match='received = "no received"'):
        read_log(table.assign(received=table["order"]), close("before"))


def test_what_is_on_order_at_an_unclear_moment_is_refused() -> None:
    table = evening(morning("after"), False).assign(on_order_1=0.0)
    with pytest.raises(LogError, match="on_order cannot be read"):
        read_log(table, close("after"))


def test_a_stock_that_holds_the_delivery_of_the_morning_is_read_by_its_key() -> None:
    table = morning("before")
    held = table.assign(stock=table["stock"] + table["order"])
    log = read_log(held, Problem(arrival="before", stock_includes_arrivals=True, costs=COSTS))
    assert np.array_equal(decided(log), decided(read_as_morning(table, "before")))
    with pytest.raises(SettingError, match="stock_includes_arrivals"):
        Problem(arrival="after", stock_includes_arrivals=True)
