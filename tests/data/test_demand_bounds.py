"""Bounds on demand by kind of row, against the hidden truth, and periods that were partly out of stock."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lostsales.data.demand_bounds import OF_A_MEAN, ROW_KINDS, demand_bounds, share_demand
from lostsales.data.describe import describe
from lostsales.data.log import SalesLog
from lostsales.data.problem import Columns, Problem
from lostsales.data.reading.gate import read_log
from lostsales.data.sublogs import series_of
from lostsales.data.writing import write_log
from lostsales.demand.forecast import forecast
from lostsales.demand.law.price_response import price_response
from lostsales.demand.law.selection import fit_law
from lostsales.demand.survival.imputation import impute_by_curves
from lostsales.errors import LogError, SettingError
from lostsales.simulation.simulator import simulate
from lostsales.types import Floats
from tests.data.ledgers import LEDGER, ledger
from tests.tables import assert_equal_logs, finding, log_of

INF = np.inf
HOURS = Problem(columns=Columns(out_of_stock="hours"), open_time=10)


def kinds(log: SalesLog) -> list[str]:
    return [list(ROW_KINDS)[kind] for kind in demand_bounds(log).kind]


def test_a_flag_with_units_left_over_says_at_least_the_sales() -> None:
    log = log_of(stockout=[False, True, True, False, False])
    assert kinds(log) == ["exact", "part_of_period", "flagged", "exact", "exact"]
    assert log.censoring_level.tolist() == [5, 2, 2, 3, 4]
    assert log.available.tolist() == [5, 4, 2, 3, 4]  # physics keep the recorded stock
    assert demand_bounds(log).is_strict[1:3].tolist() == [False, True]


def test_a_sell_out_without_a_flag_says_at_least_what_was_available_and_an_empty_shop_nothing() -> None:
    log = log_of(stock=[5.0, 4.0, 2.0, 3.0, 0.0], sales=[1.0, 2.0, 2.0, 3.0, 0.0])
    assert kinds(log) == ["exact", "exact", "sold_out", "sold_out", "nothing"]
    assert not demand_bounds(log).is_strict.any()


def test_a_time_out_of_stock_is_a_stock_out_and_none_is_not_even_at_a_sell_out() -> None:
    log = log_of(HOURS, hours=[0, 3, 2, 0, 1], sales=[1, 2, 2, 3, 0])
    #               row 2 sold all and was out, row 3 sold all and was never out, row 4 sold nothing
    assert kinds(log) == ["exact", "part_of_period", "sold_out", "exact", "nothing"]
    assert np.asarray(log.out_share).tolist() == [0, 0.3, 0.2, 0, 0.1]
    assert log.censored.tolist() == [False, True, True, False, True]


def test_a_pace_gives_an_upper_end() -> None:
    problem = HOURS.model_copy(update={"out_of_stock_pace": 2.0})
    log = log_of(problem, hours=[0, 5, 2, 10, 1], stock=[5, 4, 2, 3, 40], sales=[1, 2, 2, 0, 27])
    # Half of the time: 2 (1 + 2) = 6; a fifth: 2 (1 + 2 / 4) = 3; a tenth: 27 (1 + 2 / 9) = 33.
    assert demand_bounds(log).most.tolist() == [INF, 6, 3, INF, 33]
    assert kinds(log) == ["exact", "between", "between", "nothing", "between"]


def test_an_interval_of_one_whole_number_is_exact() -> None:
    problem = HOURS.model_copy(update={"out_of_stock_pace": 1.0})
    log = log_of(problem, hours=[0, 1, 0, 0, 0])  # 2 (1 + 1 / 9) = 2.2
    bounds = demand_bounds(log)
    assert bounds.integer
    assert bounds.is_exact.all()


@pytest.mark.parametrize(
    ("columns", "changes"),
    [
        (Columns(out_of_stock="hours"), {"hours": [0, 0, 2, 3, 0]}),
        (Columns(in_stock="on_shelf"), {"on_shelf": [True, True, False, False, True]}),
        (Columns(in_stock="on_shelf"), {"on_shelf": ["yes", "yes", "no", "no", "yes"]}),
    ],
)
def test_a_demand_only_log_needs_no_flag_where_a_time_or_a_shelf_tells(
    columns: Columns, changes: dict[str, Any]
) -> None:
    log = log_of(Problem(columns=columns), stock=None, order=None, **changes)
    assert log.demand_only
    assert kinds(log) == ["exact", "exact", "part_of_period", "part_of_period", "exact"]
    assert log.available.tolist() == [INF, INF, 2, 3, INF]


def test_flag_and_time_add_up() -> None:
    log = log_of(HOURS, hours=[0, 3, 0, 0, 0], stockout=[False, False, True, False, False])
    assert log.censored.tolist() == [False, True, True, False, False]


def test_next_stocks_of_the_netted_balance_are_their_own_kind() -> None:
    log = log_of(
        Problem(balance="netted"),
        stock=[2.0, 2.0, 2.0, 1.0, 0.0],
        order=[0.0, 5.0, 0.0, 3.0, 0.0],
        sales=[0.0, 2.0, 2.0, 1.0, 0.0],
        stockout=[False, True, True, True, True],
    )
    assert kinds(log) == ["exact", "next_stock", "flagged", "flagged", "flagged"]


@pytest.mark.parametrize(
    ("problem", "changes", "expected"),
    [
        (HOURS, {}, "missing column 'hours'"),
        (HOURS, {"hours": [0, None, 0, 0, 0]}, "hours must be present, but row 1"),
        (HOURS, {"hours": [0, -1, 0, 0, 0]}, "hours must not be negative, but row 1"),
        (HOURS, {"hours": [0, 11, 0, 0, 0]}, "hours must not exceed open_time, but row 1 (series=a, period=2) has 11"),
        (
            Problem(columns=Columns(out_of_stock="hours"), open_time="open"),
            {"hours": [0] * 5, "open": [10, 0, 10, 10, 10]},
            "open must be positive, but row 1",
        ),
        (Problem(columns=Columns(in_stock="shelf")), {"shelf": [2] * 5}, "shelf must be true or false, but row 0"),
        (
            Problem(),
            {"sales": [1, 2, 3, 3, 1]},
            "sales must not exceed what was available (the stock as the period opens; where arrivals are sold in their "
            'own period, set arrival = "before"), but row 2 (series=a, period=3) has 3 of 2',
        ),
        (
            Problem(columns=Columns(order="orders")),
            {"order": None, "received": [0, 0, 1, 4, 0]},
            "missing column 'orders' (a ledger without orders: [columns] order = 'received')",
        ),
    ],
)  # fmt: skip
def test_bad_times_are_refused_by_row(problem: Problem, changes: dict[str, Any], expected: str) -> None:
    assert finding(problem, **changes).startswith(expected)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"open_time": 16}, "open_time needs the column of the time out of stock"),
        ({"out_of_stock_pace": 2, "columns": {"out_of_stock": "h"}}, "out_of_stock_pace needs open_time"),
        ({"columns": {"out_of_stock": "h", "in_stock": "i"}}, "not several"),
        ({"columns": {"out_of_stock": "sales"}}, "a column must have one role, but sales has several"),
    ],
)
def test_keys_that_do_not_go_together_are_refused(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        Problem(**keys)


@pytest.mark.parametrize(
    ("problem", "changes"),
    [
        (HOURS, {"hours": [0.0, 3.0, 2.5, 0.0, 1.0]}),
        (Problem(columns=Columns(in_stock="shelf")), {"shelf": [True, False, True, True, False]}),
        (
            Problem(columns=Columns(out_of_stock="hours"), open_time="open", out_of_stock_pace=1.5),
            {"hours": [0.0, 3.0, 2.0, 0.0, 1.0], "open": [10.0, 10.0, 8.0, 10.0, 10.0]},
        ),
    ],
)
def test_a_log_with_times_comes_back_from_its_file_and_from_its_parts(
    problem: Problem, changes: dict[str, Any], tmp_path: Any
) -> None:
    log = log_of(problem, **changes)
    write_log(log, tmp_path / "log.parquet")
    assert_equal_logs(read_log(tmp_path / "log.parquet"), log)
    part = series_of(log, np.array([1]))
    assert kinds(part) == kinds(log)[3:]
    np.testing.assert_array_equal(demand_bounds(part).most, demand_bounds(log).most[3:])


def test_inspect_lists_the_kinds() -> None:
    facts = describe(log_of(HOURS, hours=[0, 3, 2, 0, 1], sales=[1, 2, 2, 3, 0]))
    assert facts.as_json()["row_kinds"] == {
        "exact": 2, "next_stock": 0, "flagged": 0, "sold_out": 1, "part_of_period": 1, "between": 0, "nothing": 1,
        "share": 0,
    }  # fmt: skip
    lines = facts.as_lines()
    assert ("stock-outs", "60.0% of rows (by hours)") in lines
    first = lines.index(("information about demand", "2 rows (40.0%): exactly the sales: not out of stock"))
    assert [text.split(":")[1].strip() for _, text in lines[first : first + 4]] == [
        "exactly the sales",
        "at least what was available",
        "at least the sales",
        "nothing",
    ]
    assert sum(facts.row_kinds.values()) == facts.rows


def test_a_broken_balance_is_a_warning_in_inspect() -> None:
    facts = describe(log_of(stock=[5, 5, 2, 3, 4]))
    assert facts.as_json()["notes"]["balance_broken"]
    assert facts.as_json()["notes"]["balance_warning"] == dict(facts.as_lines())["WARNING"]
    assert "WARNING" not in dict(describe(log_of()).as_lines())


@pytest.mark.parametrize("pace", [None, 3.0])
def test_the_bounds_of_a_ledger_contain_the_true_demand(pace: float | None) -> None:
    table, truth = ledger(seed=3)
    log = read_log(table, LEDGER.model_copy(update={"out_of_stock_pace": pace}))
    bounds = demand_bounds(log)
    assert (bounds.demand[bounds.is_exact] == truth[bounds.is_exact]).all()
    hidden = ~bounds.is_exact
    assert hidden.sum() > 30
    assert log.is_partial.sum() > 10
    assert (log.censoring_level <= truth)[hidden].all()
    if pace is None:
        assert np.isinf(bounds.most).all()
    else:  # an assumption of the user, here on a demand that comes at an even pace but for chance
        assert (truth <= bounds.most)[hidden].mean() > 0.98


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(["released", "steady", "nonlinear"]), st.booleans())
def test_bounds_contain_the_hidden_demand_however_stock_outs_are_recorded(seed: int, name: str, flag: bool) -> None:
    """Some rows lose the demand of their empty hours, as a flag or as hours."""
    log, truth = simulate(name, episodes=4, seed=seed)
    rng = np.random.default_rng(seed)
    out = np.where(rng.random(len(log)) < 0.3, rng.random(len(log)), 0.0)
    sales = np.where(out > 0, np.minimum(np.floor(truth.demand * (1 - out)), log.sales), log.sales)
    if flag:  # somebody was turned away
        times: dict[str, Any] = {"stockout": truth.demand > sales}
    else:  # whether or not somebody was
        hours = np.where(np.asarray(log.stockout), np.maximum(out, 0.1), out)
        problem = log.problem.model_copy(update={"columns": Columns(out_of_stock="hours")})
        times = {"stockout": None, "out_of_stock": hours, "problem": problem}
    partial = replace(log, sales=sales, **times)
    bounds = demand_bounds(partial)
    np.testing.assert_array_equal(bounds.demand[bounds.is_exact], truth.demand[bounds.is_exact])
    at_least = np.where(bounds.is_strict, partial.censoring_level + 1, partial.censoring_level)
    assert (truth.demand >= at_least)[~bounds.is_exact].all()
    assert sum(bounds.counts.values()) == len(log)


SHARED = Problem(columns=Columns(in_stock_share="share"))


def shared_log(sales: Floats, share: Floats, problem: Problem = SHARED) -> SalesLog:
    """A log of series (rows) and periods (columns)."""
    n, periods = sales.shape
    return read_log(
        pd.DataFrame(
            {
                "series": np.repeat(np.arange(n), periods),
                "period": np.tile(np.arange(periods), n),
                "price": 2.0,
                "sales": sales.reshape(-1),
                "share": share.reshape(-1),
            }
        ),
        problem,
    )


def shop(seed: int, n: int = 40, periods: int = 60) -> tuple[SalesLog, Floats]:
    """Poisson demand around a rate that varies from day to day; a third of the days is cut at a share, at random."""
    rng = np.random.default_rng(seed)
    rate = rng.lognormal(1.5, 0.5, (n, 1)) * rng.gamma(5, 1 / 5, (n, periods))
    share = np.where(rng.uniform(size=rate.shape) < 1 / 3, rng.uniform(0.2, 0.9, rate.shape), 1.0)
    sales = rng.poisson(rate * share)
    demand = sales + rng.poisson(rate * (1 - share))
    return shared_log(sales.astype(float), share), demand.reshape(-1).astype(float)


def test_the_kind_of_row_and_the_reading_by_hand() -> None:
    log = shared_log(np.array([[4.0, 6.0, 2.0, 0.0]]), np.array([[1.0, 1.0, 0.5, 0.0]]))
    assert demand_bounds(log).counts["share"] == 1
    assert demand_bounds(log).counts["nothing"] == 1
    assert log.censored.tolist() == [False, False, True, True]
    # Usual demand is 5; the excess of its variance over the mean is below 0.01 of its square, so that size is 100.
    assert OF_A_MEAN == 2
    rate = (100 + 2) / (100 / 5 + 0.5)
    found = share_demand(log)
    assert found.mean[2] == pytest.approx(2 + 0.5 * rate)
    assert found.error[2] == pytest.approx(np.sqrt(0.5 * rate + 0.25 * rate / 20.5))


def test_a_whole_period_is_exact() -> None:
    log = shared_log(np.array([[4.0, 6.0]]), np.ones((1, 2)))
    np.testing.assert_array_equal(share_demand(log).mean, log.sales)
    assert not log.censored.any()


def test_demand_of_cut_days_is_recovered() -> None:
    log, demand = shop(1)
    cut = log.is_share
    filled = impute_by_curves(log, replicates=0)
    truth = demand[cut]
    assert filled.expected_demand[cut].mean() == pytest.approx(truth.mean(), rel=0.02)
    assert log.out_share is not None
    share = 1 - log.out_share[cut]
    # With the true mean of the series and the true spread of the days nobody does better.
    usual = np.random.default_rng(1).lognormal(1.5, 0.5, (40, 1)).repeat(60, axis=1).reshape(-1)[cut]
    told = log.sales[cut] + (1 - share) * (5 + log.sales[cut]) / (5 / usual + share)
    ways = filled.expected_demand[cut], told, log.sales[cut] / share
    error, least, by_scaling = (np.abs(each - truth).mean() for each in ways)
    assert error < 1.05 * least
    assert error < 0.9 * by_scaling
    within = np.abs(filled.expected_demand[cut] - truth) <= 1.96 * filled.error[cut]
    assert 0.9 <= within.mean() <= 0.99
    np.testing.assert_array_equal(filled.expected_demand[~cut], demand[~cut])
    np.testing.assert_allclose(filled.expected_lost, filled.expected_demand - log.sales)


def test_the_law_and_the_forecast_count_shares() -> None:
    log, demand = shop(2, n=12)
    response = price_response(log, fit_law(log, seed=0), draws=2)
    assert response.demand.mean() == pytest.approx(demand.mean(), rel=0.05)
    ahead = forecast(log, horizon=1)
    assert ahead.mean.mean() == pytest.approx(demand.mean(), rel=0.08)
    assert log.sales.mean() < 0.88 * demand.mean()


def test_a_share_is_written_and_read_again(tmp_path: Path) -> None:
    log, _ = shop(3, n=3, periods=8)
    write_log(log, tmp_path / "log.parquet")
    again = read_log(tmp_path / "log.parquet")
    np.testing.assert_allclose(share_demand(again).mean, share_demand(log).mean)


def test_a_share_is_understood_by_its_name(tmp_path: Path) -> None:
    log, _ = shop(4, n=3, periods=8)
    write_log(log, tmp_path / "log.csv")
    table = pd.read_csv(tmp_path / "log.csv").rename(columns={"share": "in_stock_share"})
    table.to_csv(tmp_path / "named.csv", index=False)
    for source in (table, tmp_path / "named.csv"):
        again = read_log(source)
        assert again.problem.columns.in_stock_share == "in_stock_share"
        assert "in_stock_share" not in again.notes.unused_columns
        np.testing.assert_array_equal(again.is_share, log.is_share)
        np.testing.assert_allclose(share_demand(again).mean, share_demand(log).mean)
        assert describe(again).stockouts_by == "by in_stock_share"
    stocked = table.assign(stock=50, order=0)  # what a ledger records of the shelf counts there as well
    assert demand_bounds(read_log(stocked, Problem(arrival="after", supply={"lead_time": 1}))).counts["share"] > 0


def test_a_share_by_its_name_gives_way_to_what_the_problem_names() -> None:
    table = pd.DataFrame({"series": "a", "period": [1, 2], "price": 2.0, "sales": 3.0, "in_stock_share": [0.5, 1.0]})
    flagged = read_log(table.assign(on_shelf=[False, True]), Problem(columns=Columns(in_stock="on_shelf")))
    assert flagged.problem.columns.in_stock_share is None
    assert flagged.notes.unused_columns == ("in_stock_share",)
    feature = read_log(table.assign(stockout=False), Problem(features=("in_stock_share",)))
    assert not feature.censored.any()
    np.testing.assert_array_equal(feature.features[:, 0], [0.5, 1.0])
    with pytest.raises(LogError, match="missing column 'price'"):  # which a forecasting library's table may lack
        read_log(table.drop(columns="price"))
    with pytest.raises(LogError, match=r"in_stock_share must be from 0 to 1, but row 0 .* has 50"):
        read_log(table.assign(in_stock_share=[50, 100]))


def test_what_is_no_share_is_refused() -> None:
    with pytest.raises(LogError, match=r"share must be from 0 to 1, but row 1 .* has 1\.2"):
        shared_log(np.ones((1, 2)), np.array([[1.0, 1.2]]))
    with pytest.raises(SettingError, match="give one of the columns out_of_stock, in_stock and in_stock_share"):
        Problem(columns=Columns(in_stock_share="share", in_stock="flag"))
