"""Interval-censored evidence of a log, row by row."""

from dataclasses import replace

import numpy as np
import pytest

from lostsales.data.encoding import market_names
from lostsales.data.feature import Feature
from lostsales.data.problem import Columns, Problem
from lostsales.demand.censoring.evidence import MOST_HIDDEN, gather_evidence
from tests.demand.logs import COSTS, log_of_draws, log_of_flags
from tests.learn.small import small_log

INF = np.inf


def test_intervals_lags_and_parents() -> None:
    found = gather_evidence(log_of_flags("4x7", "50"))
    np.testing.assert_array_equal(found.rows, [1, 2, 4])  # the first row of each series has no lag
    np.testing.assert_array_equal(found.low, [3.5, 6.5, -INF])
    np.testing.assert_array_equal(found.high, [INF, 7.5, 0.5])
    np.testing.assert_array_equal(found.lag, [4, np.nan, 5])
    np.testing.assert_array_equal(found.parent, [-1, 0, -1])
    np.testing.assert_array_equal(found.depth, [0, 1, 0])
    np.testing.assert_array_equal(found.is_censored, [True, False, False])


def test_without_a_flag_a_sell_out_is_a_weak_inequality() -> None:
    demand = np.array([[4.0, 9.0, 2.0, 5.0]])
    found = gather_evidence(log_of_draws(demand, np.array([[8.0, 6.0, 8.0, 0.0]]), flag=False))
    np.testing.assert_array_equal(found.low, [5.5, 1.5, -INF])
    np.testing.assert_array_equal(found.high, [INF, 2.5, INF])
    np.testing.assert_array_equal(found.is_informative, [True, True, False])  # of an empty shop nothing is learned


def test_a_row_that_may_be_truncated_has_only_a_lower_bound() -> None:
    """It is the lag of the next row all the same, as the cut demand drives it."""
    problem = Problem(costs=COSTS, longest_run=1)
    found = gather_evidence(log_of_flags("4x37", problem=problem, stock=[10.0, 3.0, 3.0, 10.0]))
    np.testing.assert_array_equal(found.low, [3.5, 2.5, 6.5])
    np.testing.assert_array_equal(found.high, [INF, INF, 7.5])
    np.testing.assert_array_equal(found.is_censored, [True, False, False])
    np.testing.assert_array_equal(found.lag, [4, np.nan, 3])


def test_the_evidence_of_some_series_keeps_its_parents() -> None:
    log = small_log("steady")
    whole = gather_evidence(log)
    part = whole.part(np.isin(whole.series, [1, 4]))
    assert set(part.series) == {1, 4}
    hidden = part.parent >= 0
    assert hidden.any()
    np.testing.assert_array_equal(part.rows[part.parent[hidden]], part.rows[hidden] - 1)


def test_columns_of_the_market_have_names() -> None:
    problem = Problem(costs=COSTS, features=("rain", Feature(name="day", kind="categorical", levels=("Mon", "Tue"))))
    log = log_of_flags("45x7", problem=problem, rain=[0.0, 1.0, 2.0, 3.0], day=["Mon", "Tue", "Mon", "Tue"])
    log = replace(log, attributes={"place": np.array(["hill"])})
    assert market_names(log) == ("rain", "day=Mon", "day=Tue", "place=hill")
    np.testing.assert_array_equal(gather_evidence(log).market, [[1, 0, 1, 1], [2, 1, 0, 1], [3, 0, 1, 1]])


def test_a_stock_out_for_part_of_a_period_bounds_its_own_demand_and_teaches_no_law() -> None:
    """Its censoring point is the sales, which depend on demand, and it is the lag of the next row."""
    found = gather_evidence(log_of_flags("4x75", stock=[10.0, 8.0, 10.0, 10.0]))
    np.testing.assert_array_equal(found.low, [2.5, 6.5, 4.5])  # at least 3
    np.testing.assert_array_equal(found.high, [INF, 7.5, 5.5])
    np.testing.assert_array_equal(found.is_censored, [True, False, False])
    np.testing.assert_array_equal(found.is_informative, [False, False, True])
    np.testing.assert_array_equal(found.parent, [-1, 0, -1])


def test_an_interval_has_both_ends_and_teaches() -> None:
    problem = Problem(costs=COSTS, columns=Columns(out_of_stock="out"), open_time=1, out_of_stock_pace=2)
    found = gather_evidence(log_of_flags("4x7", problem=problem, stock=[10.0, 8.0, 10.0], out=[0.0, 0.5, 0.0]))
    np.testing.assert_array_equal(found.low, [2.5, 6.5])
    np.testing.assert_array_equal(found.high, [9.5, 7.5])  # 3 (1 + 2)
    np.testing.assert_array_equal(found.is_informative, [True, True])
    np.testing.assert_array_equal(found.is_censored, [True, False])


@pytest.mark.parametrize("name", ["released", "steady", "nonlinear"])
@pytest.mark.parametrize("flag", [True, False])
def test_logs_whose_stock_outs_sold_out_are_read_as_ever(name: str, flag: bool) -> None:
    """Flag: above what was available; none: at least that; and no upper end."""
    log = small_log(name)
    log = log if flag else replace(log, stockout=None)
    found = gather_evidence(log)
    available, sales = log.available[found.rows], log.sales[found.rows]
    hidden = np.asarray(log.stockout)[found.rows] if flag else sales >= available
    low = np.where(hidden, available + (0.5 if flag else -0.5), sales - 0.5)
    np.testing.assert_array_equal(found.low, np.where(low < 0, -INF, low))
    longest = log.problem.longest_run
    truncated = False if longest is None else (found.depth >= longest) & (sales >= available)
    np.testing.assert_array_equal(found.high, np.where(hidden | truncated, INF, sales + 0.5))
    np.testing.assert_array_equal(found.is_informative, np.isfinite(found.low) | np.isfinite(found.high))


def test_rows_deep_in_a_long_run_are_left_out_until_a_demand_is_known_again() -> None:
    run = MOST_HIDDEN + 50
    found = gather_evidence(log_of_flags(f"45{'x' * run}67"))
    np.testing.assert_array_equal(found.rows, [*range(1, 2 + MOST_HIDDEN + 1), run + 3])
    np.testing.assert_array_equal(found.depth, [0, *range(MOST_HIDDEN + 1), 0])
