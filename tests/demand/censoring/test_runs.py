"""Depth, anchors and runs of small logs, worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest

from lostsales.data.economics import Balance
from lostsales.data.problem import Problem
from lostsales.demand.censoring.runs import (
    Runs,
    depth_of_rows,
    find_runs,
    iterations_rule,
    paper_variants,
    run_ends,
    run_lengths,
)
from lostsales.errors import SettingError
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import simulate
from tests.demand.logs import COSTS, bools, log_of_flags

NAN = np.nan


def test_depth_starts_again_with_every_series_and_every_observed_demand() -> None:
    depth = depth_of_rows(bools("0110111"), np.array([0, 5]))
    #                            series 0: 0, 1, 1, 0, 1; series 1: 1, 1
    np.testing.assert_array_equal(depth, [0, 0, 1, 2, 0, 0, 1])


def test_depth_of_no_rows() -> None:
    assert len(depth_of_rows(np.zeros(0, dtype=bool), np.zeros(0, dtype=np.int64))) == 0


def test_without_a_last_demand_rows_before_the_first_observed_demand_have_no_depth() -> None:
    runs = find_runs(log_of_flags("5xx6", "xx7x"), least_rows=1)
    np.testing.assert_array_equal(runs.depth, [-1, 0, 1, 2, -1, -1, -1, 0])
    np.testing.assert_array_equal(runs.anchor_demand, [NAN, 5, 5, 5, NAN, NAN, NAN, 7])
    assert runs.longest == 2
    np.testing.assert_array_equal(runs.rows_at_depth, [2, 1, 1])


def test_a_last_demand_anchors_the_first_rows() -> None:
    log = log_of_flags("xx6", "x7x", last_sales=[9.0, NAN, NAN, 8.0, NAN, NAN], last_stockout=[0, 0, 0, 1, 0, 0])
    runs = find_runs(log, least_rows=1)
    # The second series opens after a stock-out of 8: that is no known demand.
    np.testing.assert_array_equal(runs.depth, [0, 1, 2, -1, -1, 0])
    np.testing.assert_array_equal(runs.anchor_demand, [9, 9, 9, NAN, NAN, 7])


def test_a_hole_in_the_periods_ends_the_history() -> None:
    runs = find_runs(log_of_flags("5x67", period=[0, 1, 4, 5]))
    np.testing.assert_array_equal(runs.depth, [-1, 0, -1, 0])
    assert runs.left_out["no earlier demand is known"] == 2


def test_a_netted_balance_gives_a_hidden_demand_back_and_ends_the_run() -> None:
    balances: tuple[Balance, ...] = ("lost-sales", "netted")
    runs = {}
    for balance in balances:
        problem = Problem(balance=balance, costs=COSTS)
        log = log_of_flags("7xx1", problem=problem, stock=[10, 3, 2, 10], order=[0, 4, 0, 0], sales=[7, 3, 2, 1])
        runs[balance] = find_runs(log)
    np.testing.assert_array_equal(runs["lost-sales"].depth, [-1, 0, 1, 2])
    # 3 + 4 - 2 = 5 were wanted in the second period; no balance turns the third into a stock of 10.
    np.testing.assert_array_equal(runs["netted"].depth, [-1, 0, 0, 1])
    np.testing.assert_array_equal(runs["netted"].anchor_demand, [NAN, 7, 5, 5])


def test_rows_without_a_flag_count_a_sell_out_as_censored() -> None:
    log = replace(log_of_flags("5x6"), stockout=None)
    runs = find_runs(log)
    np.testing.assert_array_equal(runs.observed.is_observed, [True, False, True])
    np.testing.assert_array_equal(runs.depth, [-1, 0, 1])


def test_run_lengths() -> None:
    log = log_of_flags("5xx6x", "xxx7x")
    np.testing.assert_array_equal(run_lengths(log, find_runs(log)), [0, 2, 1, 1])


def test_max_depth_is_the_longest_run_but_not_above_the_cap() -> None:
    log = log_of_flags("5xxx67", "5xx67", "5x67", last_sales=_opening([6, 5, 4]))
    longer = [find_runs(log, cap=cap, least_rows=1) for cap in (0, 1, 2, 40)]
    assert [runs.longest for runs in longer] == [3, 3, 3, 3]
    assert [runs.max_depth for runs in longer] == [0, 1, 2, 3]
    assert [runs.cap for runs in longer] == [0, 1, 2, 40]


def _opening(lengths: list[int]) -> list[float]:
    return [9.0 if place == 0 else NAN for length in lengths for place in range(length)]


def test_a_depth_with_too_few_rows_lowers_max_depth_and_its_rows_are_counted() -> None:
    lengths = [6] * 5 + [4] * 20
    log = log_of_flags(*["5xxx67"] * 5 + ["5x67"] * 20, last_sales=_opening(lengths))
    # Depth 3 ends in 5 rows only, and so does no run at depth 2.
    runs, pooled = (find_runs(log, least_rows=6, pool=pool) for pool in (False, True))
    assert runs.longest == 3
    assert runs.max_depth == pooled.max_depth == 1
    assert find_runs(log, least_rows=5).max_depth == 3
    assert runs.left_out == {
        "no earlier demand is known": 0,
        "last row of its series": 25,
        "deeper than max_depth 1": 10,
        "stock-out at max_depth 1": 5,
    }
    assert runs.usable.sum() == len(log) - 40
    assert pooled.left_out == {"no earlier demand is known": 0, "last row of its series": 25}
    assert pooled.pooled == 10
    assert pooled.learned_depth.max() == 1


@pytest.mark.parametrize("scenario", ["released", "steady", "nonlinear"])
@pytest.mark.parametrize("cap", [None, 0, 2])
def test_every_row_is_used_or_left_out_for_one_reason(scenario: str, cap: int | None) -> None:
    log, _ = simulate(Scenario.load(scenario), episodes=12, seed=3)
    pooled, runs = find_runs(log, cap), find_runs(log, cap, pool=False)
    assert pooled.usable.sum() + sum(pooled.left_out.values()) == len(log)
    assert (pooled.usable == ((pooled.depth >= 0) & log.has_next)).all()
    assert runs.usable.sum() + sum(runs.left_out.values()) == len(log)
    used = runs.depth[runs.usable]
    assert used.min() == 0
    assert used.max() <= runs.max_depth
    assert runs.observed.is_observed[runs.usable & (runs.depth == runs.max_depth)].all() or runs.longest == 0
    assert runs.rows_at_depth.sum() == np.count_nonzero(runs.depth >= 0)


def test_a_negative_cap_is_refused() -> None:
    with pytest.raises(SettingError, match="must not be negative, but -1 came"):
        find_runs(log_of_flags("5x"), cap=-1)


def test_the_rule_for_the_window_is_that_of_theorem_1() -> None:
    assert iterations_rule(2500, 0.9) == 40  # ln 2500 / 0.2 = 39.1
    assert iterations_rule(1, 0.0) == 1


def test_the_papers_two_definitions_miss_late_runs_and_count_separate_periods() -> None:
    late = log_of_flags("5x567xxx")
    # K = 3: a start after t = 5 does not count, the last run starts at 5; with K = 4 it starts too late.
    assert paper_variants(late, find_runs(late), 3) == {"Section 3.4": 3, "Definition 8": 3}
    assert paper_variants(late, find_runs(late), 4) == {"Section 3.4": 1, "Definition 8": 3}
    apart = log_of_flags("x5x5x5", "xx")
    assert paper_variants(apart, find_runs(apart), 5) == {"Section 3.4": 1, "Definition 8": 3}


def _runs_of(depth: list[int], known: str, longest: int) -> Runs:
    log = log_of_flags("5" * len(depth))
    runs = find_runs(log)
    observed = replace(runs.observed, is_observed=bools(known))
    return replace(runs, observed=observed, depth=np.array(depth), longest=longest)


def test_the_chance_that_a_run_ends_next_by_hand() -> None:
    # At depth 1: 1 of 4 ends; at depth 2: 2 of 3; at depth 3: 1 of 1.
    ends = run_ends(_runs_of([0, 1, 1, 1, 1, 2, 2, 2, 3, -1], "0100011011", longest=3))
    np.testing.assert_allclose(ends.chance, [4 / 8, 3 / 4, 1.0])
    np.testing.assert_array_equal(ends.rows, [8, 4, 1])
    assert ends.falls_at == ()


def test_a_falling_chance_is_found_and_a_rising_one_is_not() -> None:
    depth = [1] * 100 + [2] * 100
    falls = "1" * 60 + "0" * 40 + "1" * 20 + "0" * 80
    rises = "1" * 20 + "0" * 80 + "1" * 60 + "0" * 40
    assert run_ends(_runs_of(depth, falls, longest=2)).falls_at == (1,)
    assert run_ends(_runs_of(depth, rises, longest=2)).falls_at == ()


def test_the_chance_of_a_log_without_runs() -> None:
    ends = run_ends(find_runs(log_of_flags("567")))
    assert len(ends.chance) == len(ends.rows) == 0
    assert ends.falls_at == ()


def test_a_depth_needs_rows_for_every_coordinate_of_its_history() -> None:
    """At depth 1 of `steady` there are 9: the anchor's demand, twice two features and stock, one price and order."""
    log, _ = simulate("steady", episodes=30, seed=1)
    runs = find_runs(log, cap=1)
    ends = int((runs.observed.is_observed & log.has_next & (runs.depth == 1)).sum())
    assert ends > 20
    assert find_runs(log, cap=1, a_coordinate=ends / 9).max_depth == 1
    assert find_runs(log, cap=1, a_coordinate=(ends + 0.5) / 9).max_depth == 0
