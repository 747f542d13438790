"""The terms of the log alone, against enumeration."""

from dataclasses import replace
from itertools import combinations
from math import ceil, comb, log, sqrt

import numpy as np
import pandas as pd
import pytest

from lostsales.data.problem import Problem
from lostsales.data.reading.gate import read_log
from lostsales.demand.censoring.runs import DepthRule, find_runs
from lostsales.evaluation.diagnostics.log_terms import (
    DIVISIONS,
    depth_instability,
    imputation_error,
    iterations,
    partition_shares,
    unidentifiable_regret,
)
from lostsales.evaluation.prepared_log import PreparedLog
from tests.evaluation.diagnostics.tiny_world import DISCOUNT, PATHS, PERIODS, depth, log_of_all_paths
from tests.evaluation.prepared_logs import without_model


def log_with(has_runs: list[bool]) -> PreparedLog:
    """Series with stock-outs in every second period, enough to learn depth 1 from one of them, or with none."""
    rows = []
    for number, own in enumerate(has_runs):
        for period in range(60):
            hidden = own and period % 2 == 0
            sales = 5.0 if hidden else 2.0
            rows.append((f"s{number:02}", period, 1.0, 4.0, 4.0, sales, hidden))
    frame = pd.DataFrame(rows, columns=["series", "period", "stock", "price", "order", "sales", "stockout"])
    costs = {"lost": 2, "order": 3, "holding": 1}
    return without_model(read_log(frame, problem=Problem(arrival="before", costs=costs, discount=0.9)))


def disagreements(has_runs: list[bool]) -> float:
    """The share of all divisions into halves of which only one has runs."""
    every, half = set(range(len(has_runs))), len(has_runs) // 2
    divisions = [(set(first), every - set(first)) for first in combinations(every, half)]
    differ = [any(has_runs[i] for i in first) != any(has_runs[i] for i in second) for first, second in divisions]
    return sum(differ) / len(divisions)


@pytest.mark.parametrize(("deep", "exact"), [(0, 0.0), (1, 1.0), (12, 0.0)])
def test_omega_of_one_series_with_runs_or_all_or_none(deep: int, exact: float) -> None:
    """One series of twelve decides alone: a bootstrap with replacement would say 1 - (1 - 1 / 12)^12 = 65 % alike."""
    has_runs = [number < deep for number in range(12)]
    prepared = log_with(has_runs)
    assert prepared.runs.max_depth == min(deep, 1)
    assert disagreements(has_runs) == exact
    assert depth_instability(prepared, seed=0).value == exact


def test_omega_is_the_share_of_divisions_that_disagree() -> None:
    has_runs = [number < 2 for number in range(12)]
    expected = disagreements(has_runs)
    assert expected == pytest.approx(2 * comb(10, 4) / comb(12, 6))
    found = [depth_instability(log_with(has_runs), seed).value or 0.0 for seed in range(4)]
    assert np.mean(found) == pytest.approx(expected, abs=3 * sqrt(expected * (1 - expected) / (4 * DIVISIONS)))


def test_omega_is_unbiased_for_two_logs_of_half_the_size() -> None:
    """Each of ten series has runs with a chance of 0.2: the mean over all logs is P(a log of five differs from one)."""
    chance = 0.2
    shallow = (1 - chance) ** 5
    expected = 2 * shallow * (1 - shallow)
    law = [comb(10, deep) * chance**deep * (1 - chance) ** (10 - deep) for deep in range(11)]
    exact = [disagreements([number < deep for number in range(10)]) for deep in range(11)]
    assert sum(p * omega for p, omega in zip(law, exact, strict=True)) == pytest.approx(expected)
    found = [depth_instability(log_with([number < deep for number in range(10)]), 1).value or 0.0 for deep in range(11)]
    assert sum(p * omega for p, omega in zip(law, found, strict=True)) == pytest.approx(expected, abs=0.08)


def test_omega_asks_for_as_many_rows_as_the_rule_of_the_policy() -> None:
    """16 rows for each of 5 coordinates: 80 in the log, which three series have, and 40 in a half, which two have."""
    prepared, rule = log_with([number < 3 for number in range(12)]), DepthRule(a_coordinate=16)
    assert find_runs(prepared.log, a_coordinate=rule.a_coordinate).max_depth == 1
    assert depth_instability(prepared, 0, rule).value == 1.0  # of two halves one always has two such series
    assert depth_instability(prepared, 0).value != 1.0
    assert depth_instability(prepared, 0, replace(rule, cap=0)).value == 0.0


def test_a_series_that_cannot_be_divided_has_no_omega() -> None:
    prepared = log_with([True])
    one = replace(prepared, units=replace(prepared.units, of_row=np.zeros(60, dtype=np.int64)))
    assert depth_instability(one, 0).value is None


def test_shares_of_the_depths_are_counted() -> None:
    prepared = without_model(log_of_all_paths())
    deepest = prepared.runs.max_depth
    counts = [0] * (deepest + 1)
    for path in PATHS:
        for period in range(PERIODS - 1):  # the last has no successor
            counts[min(depth(path, period), deepest)] += 1  # deeper rows are pooled
    found = partition_shares(prepared)
    assert found.by_depth == pytest.approx(np.array(counts) / sum(counts))
    assert found.value == pytest.approx(min(counts) / sum(counts))


def test_unidentifiable_regret_and_iterations_are_those_of_the_paper() -> None:
    prepared = without_model(log_of_all_paths())
    deepest, rows = prepared.runs.max_depth, sum(prepared.runs.usable.tolist())
    goes_on = [path[period] for path in PATHS for period in range(PERIODS) if depth(path, period) >= 1]
    alpha = 1 - sum(goes_on) / len(goes_on)
    assert alpha == 0.5  # by the law of the world
    rounds = ceil(log(rows) / (2 * (1 - DISCOUNT)))
    greatest = max(abs(profit) for profit in prepared.profit.tolist())
    expected = (rounds - deepest + 1) * (1 - alpha) ** deepest * 2 * greatest / (1 - DISCOUNT)
    assert unidentifiable_regret(prepared).value == pytest.approx(expected)
    assert iterations(prepared).value == rounds


def test_the_imputation_error_is_the_jackknife_of_the_mean() -> None:
    prepared = without_model(log_of_all_paths())
    rng = np.random.default_rng(3)
    without = prepared.profit + rng.normal(size=(len(prepared.units), 1))
    means = [sum(row) / len(row) for row in without.tolist()]
    centre = sum(means) / len(means)
    expected = sqrt((len(means) - 1) / len(means) * sum((mean - centre) ** 2 for mean in means))
    assert imputation_error(replace(prepared, profit_without=without)).value == pytest.approx(expected)
