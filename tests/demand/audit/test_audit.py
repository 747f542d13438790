"""The audit of logs of every kind."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from lostsales.data.balance import off_balance
from lostsales.data.economics import Balance
from lostsales.data.feature import Feature
from lostsales.data.log import LogNotes, SalesLog
from lostsales.data.problem import Columns, Costs, Problem
from lostsales.data.reading.gate import read_log
from lostsales.demand.audit import audit as module
from lostsales.demand.audit.audit import audit
from lostsales.demand.audit.identifiability import find_verdicts
from lostsales.demand.censoring.runs import find_runs
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import simulate
from tests.apps.shop_tables import shop
from tests.demand.logs import COSTS, late_orders, log_of_draws, log_of_flags

KEYS = {
    "periods", "series", "censored_share", "run_lengths", "rows_at_depth", "longest_run", "max_depth", "cap",
    "paper_max_depth", "left_out", "usable_rows", "notes", "balance", "follows", "price_ranges", "verdicts", "run_ends",
    "run_ends_fall_at", "stock_test", "imputation", "collect_next", "conclusion", "memory", "row_kinds",
    "behaviour", "critical_quantiles", "residual_tests", "stockout_loss", "verdict", "doubtful_features",
}  # fmt: skip


def simulated(scenario: str, *settings: str, seed: int = 1) -> SalesLog:
    return simulate(Scenario.load(scenario, settings), episodes=20, seed=seed)[0]


def test_the_facts_of_a_log() -> None:
    log = simulated("paper")
    found, runs = audit(log), find_runs(log)
    assert set(found.as_json()) == KEYS
    assert (found.periods, found.series) == (1000, 20)
    assert found.censored_share == log.censored.mean()
    assert sum(length * count for length, count in found.run_lengths.items()) == log.censored.sum()
    assert found.rows_at_depth == dict(enumerate(runs.rows_at_depth))
    assert (found.longest_run, found.max_depth) == (3, runs.max_depth)
    assert found.usable_rows + sum(found.left_out.values()) == 1000
    assert found.left_out["last row of its series"] == 20
    assert set(found.paper_max_depth) == {"Section 3.4", "Definition 8"}
    assert [each.j for each in found.run_ends] == [1, 2, 3]
    assert found.run_ends[0].chance == pytest.approx((~log.censored)[runs.depth >= 1].mean())
    assert found.run_ends_fall_at == ()
    assert found.stock_test.p_value > 0.01
    assert found.conclusion == f"Fit for C-FQI to depth {found.max_depth}."


def test_the_range_of_demand_at_each_price() -> None:
    found = audit(simulated("released"))
    log = simulated("released")
    assert [each.what for each in found.price_ranges] == ["price 2", "price 4", "price 6"]
    for price, each in zip((2, 4, 6), found.price_ranges, strict=True):
        rows = log.price == price
        assert each.never_seen_above == log.available[rows].max()
        assert each.largest_known == log.sales[rows & ~log.censored].max()


def test_verdicts_by_depth_price_and_feature() -> None:
    log = simulated("steady")
    found = audit(log)
    verdicts = {each.what: each for each in found.verdicts}
    assert verdicts["after a known demand"].verdict == "identified"
    assert verdicts["price 4.25"].rows == np.count_nonzero(log.price == 4.25)
    assert verdicts["economy 1"].stockouts == np.count_nonzero(log.censored & (log.features[:, 0] == 1))
    assert sum(name.startswith("interest") for name in verdicts) == 3
    assert sum(each.rows for what, each in verdicts.items() if what.startswith("interest")) == len(log)
    for each in found.verdicts:
        share = each.identified_share
        assert share is not None
        wanted = "identified" if share >= 0.9 else "only partly" if share > 0.1 else "not"
        assert each.verdict == wanted
    assert any(what.startswith("after more than") for what in verdicts)


def test_of_many_levels_the_commonest_are_shown() -> None:
    level = np.repeat(np.arange(12), np.arange(1, 13))
    problem = Problem(features=(Feature(name="shop", kind="categorical", levels=tuple("abcdefghijkl")),))
    frame = {"series": "a", "period": np.arange(78), "price": 1.0, "sales": 1.0, "stockout": False}
    log = read_log(pd.DataFrame(frame | {"shop": np.array(list("abcdefghijkl"))[level]}), problem)
    shown = {each.what: each.rows for each in find_verdicts(log, find_runs(log), None) if "shop" in each.what}
    assert shown == {f"shop {name}": 6 + index for index, name in enumerate("fghijkl")} | {"shop: 5 others": 15}


def test_what_to_collect_next() -> None:
    steady = audit(simulated("steady"))
    assert any("now and then, after" in each and "is identified" in each for each in steady.collect_next)
    assert any(
        each.startswith(f"demand after {steady.max_depth + 1} stock-outs in a row") for each in steady.collect_next
    )
    assert "too few rows show the demand after more than" in steady.conclusion
    blind = replace(simulated("paper"), stockout=None, last_sales=np.full(20, np.nan))
    advice = audit(blind).collect_next
    assert any(each.startswith("a stock-out flag") for each in advice)
    assert any(each.startswith("the sales before the first period") for each in advice)
    one_price = audit(log_of_flags(*["5566"] * 12, last_sales=[5.0, np.nan, np.nan, np.nan] * 12)).collect_next
    assert one_price[0] == "periods at another price: it never varied, so its effect cannot be learned"


def test_a_log_that_lacks_nothing_gets_no_advice() -> None:
    log = simulated("newsvendor", "orders=[30, 40]")
    found = audit(log)
    assert found.censored_share == 0
    assert found.imputation == "not needed: no demand is hidden"
    assert found.verdicts[0].verdict == "nothing hidden"
    assert found.conclusion == "Fit for C-FQI to depth 0."
    assert found.run_lengths == {}
    assert found.collect_next == ("more of the same: nothing is missing, and more rows narrow the errors",)


def test_imputation_is_skipped_where_a_lost_sale_costs_nothing() -> None:
    found = audit(simulated("paper", "costs.lost=0"))
    assert found.imputation.startswith("skipped: a lost sale costs nothing")
    assert {each.verdict for each in found.verdicts} <= {"skipped", "nothing hidden"}
    assert all(each.identified_share is None for each in found.verdicts)


def test_nothing_but_stock_outs() -> None:
    found = audit(log_of_flags("xxx", "xx"))
    assert found.censored_share == 1
    assert found.imputation.startswith("skipped: every row is a stock-out")
    assert {each.verdict for each in found.verdicts} == {"not"}
    assert found.price_ranges[0].largest_known is None
    assert found.collect_next[0] == "periods with ample stock: so far every one was a stock-out"
    assert found.conclusion == "Not fit for C-FQI: every row is a stock-out, so no demand is known."


def test_every_stock_out_deeper_than_the_cap() -> None:
    log = log_of_flags(*["5xxxxxx"] * 9, last_sales=[5.0, *[np.nan] * 6] * 9)
    found = audit(log, cap=1)
    assert found.max_depth == 0
    assert found.left_out == {"last row of its series": 9}
    assert found.usable_rows == 54  # deeper rows are pooled
    assert found.conclusion == "Not fit for C-FQI: 18 usable rows follow a known demand, and 20 are needed."


def test_the_cap_is_named_where_it_decides() -> None:
    log = simulated("steady")
    longest = find_runs(log).longest
    wanted = f"Fit for C-FQI to depth 1 (the longest run of stock-outs is {longest}, but the cap K is 1)."
    assert audit(log, cap=1).conclusion == wanted


def test_a_log_without_costs_and_one_without_stock_are_not_fit() -> None:
    no_costs = log_of_flags(*["5665"] * 12, problem=Problem(costs=Costs()))
    assert "the unit costs are unknown" in audit(no_costs).conclusion
    frame = {"series": np.repeat(range(12), 20), "period": np.tile(range(20), 12), "price": 1.0}
    sales, out = np.tile([0.5, 1.0, 1.5, 1.2], 60), np.tile([False, True, False, False], 60)
    demand_only = audit(read_log(pd.DataFrame(frame | {"sales": sales, "stockout": out})))
    assert "has no stock and no orders" in demand_only.conclusion
    assert demand_only.stock_test.why_not == "the log has no stock"
    assert demand_only.follows.startswith("unknown")
    assert demand_only.price_ranges[0].never_seen_above is None


@pytest.mark.parametrize(
    ("lives_by", "declares", "follows"),
    [
        ("lost-sales", "lost-sales", "lost-sales"),
        ("netted", "netted", "netted"),
        ("netted", "lost-sales", "netted, but the problem declares lost-sales"),
        ("lost-sales", "netted", "lost-sales, but the problem declares netted"),
    ],
)
def test_the_balance_of_a_log_is_recognised(lives_by: Balance, declares: Balance, follows: str) -> None:
    log = _declared(simulated("steady", f'balance="{lives_by}"'), declares)
    found = audit(log)
    assert found.follows == follows
    assert found.balance is not None
    assert found.balance[lives_by] == 1
    assert (found.balance["lost-sales"] < 1) == (lives_by == "netted")


def test_a_balance_that_only_seldom_shows_is_recognised() -> None:
    """Ample orders: one row in twenty is a stock-out, and these alone tell the balances apart."""
    log = _declared(simulated("steady", 'balance="netted"', "orders=[8, 10, 12, 15]", "capacity=60"), "lost-sales")
    assert 0 < log.censored.mean() < 0.2
    assert audit(log).follows.startswith("netted, but")


def _declared(log: SalesLog, balance: Balance) -> SalesLog:
    log = replace(log, problem=log.problem.model_copy(update={"balance": balance}))
    return replace(log, notes=LogNotes(0, 0, *off_balance(log)))


def test_a_stock_that_follows_no_balance_is_reported() -> None:
    rng = np.random.default_rng(0)
    demand, available = rng.poisson(6, (12, 20)).astype(float), rng.integers(2, 14, (12, 20)).astype(float)
    found = audit(log_of_draws(demand, available))
    assert found.follows.startswith("neither")
    assert any(each.startswith("receipts and stock corrections") for each in found.collect_next)
    assert found.conclusion.startswith("Not fit for C-FQI: the stock of the log does not follow its balance in 9")


def test_orders_that_take_two_weeks_are_recognised_and_not_called_fit() -> None:
    log = read_log(late_orders(14), Problem(costs=COSTS))
    found = audit(log)
    assert found.follows.startswith("neither: it follows in 100% of rows if orders arrive 14 periods later")
    assert found.conclusion.startswith("Not fit for C-FQI: the stock of the log does not follow its balance in")
    assert "orders arrive 14 periods later" in found.conclusion


def test_stock_outs_for_part_of_a_period_are_counted_and_lead_to_advice() -> None:
    found = audit(log_of_flags(*["4x735x2x46"] * 12, stock=[10.0, 8.0, *[10.0] * 4, 10.0, 3.0, 10.0, 10.0] * 12))
    assert found.row_kinds["part_of_period"] == 24
    assert found.row_kinds["flagged"] == 12
    (advice,) = [each for each in found.collect_next if "out_of_stock_pace" in each]
    assert "24 rows were out for part of the period" in advice


def test_arrival_before_has_one_balance() -> None:
    assert audit(simulated("released")).follows.startswith("lost-sales (with arrival 'before'")


def test_a_long_log_is_examined_by_a_sample_of_its_stock_outs(monkeypatch: pytest.MonkeyPatch) -> None:
    log = simulated("paper")
    whole = audit(log)
    monkeypatch.setattr(module, "MOST_FILLED", 150)
    part = audit(log)
    assert log.censored.sum() > 200
    for left, right in zip(whole.verdicts[:1], part.verdicts[:1], strict=True):
        assert left.identified_share is not None
        assert right.identified_share == pytest.approx(left.identified_share, abs=0.15)


def test_ties_everywhere_and_one_row() -> None:
    problem = Problem(costs=COSTS)
    assert audit(log_of_flags("5", problem=problem)).conclusion.startswith("Not fit for C-FQI: 0 usable rows")
    found = audit(log_of_draws(np.full((12, 20), 6.0), np.tile([6.0, 6.0, 3.0, 6.0], (12, 5)), flag=True))
    assert found.longest_run == 1


def test_features_that_copy_the_price_or_hold_todays_sales_are_named() -> None:
    table = shop(120).drop(columns=["Store", "Left", "Unit cost"])
    table["base"] = 0.7 * table["Price"]
    table["mean"] = table.groupby("Product")["Sales"].transform(lambda each: each.rolling(7, min_periods=1).mean())
    names = Columns(series="Product", period="Date", stock="Stock", price="Price", order="Order", sales="Sales")
    asked = Problem(
        columns=names,
        features=(Feature(name="Promotion"), Feature(name="base")),
        costs=Costs(lost=0, order=1, holding=0.01),
    )
    found = audit(read_log(table, asked))
    assert found.doubtful_features == {"base": "follows from the price (100 % of its moves)"}
    assert found.verdict.level == "good"
    leaking = audit(read_log(table, asked.model_copy(update={"features": (*asked.features, Feature(name="mean"))})))
    assert leaking.verdict.sentence.startswith(
        "Take 'mean' out of the features first: it contains the sales of its own"
    )
