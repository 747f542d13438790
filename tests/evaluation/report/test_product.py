"""The parts of a product's page that can be worked out by hand."""

import numpy as np

from lostsales.evaluation.report.open_period import coming_features, coming_periods, open_rows
from lostsales.evaluation.report.product import _above, product_trace
from lostsales.learn.baselines.threshold_tuning import BaseStock
from lostsales.policy.recent_rows import RecentRows
from tests.learn.small import small_log


def test_hidden_demand_is_the_part_of_the_law_above_what_was_seen() -> None:
    atoms = np.array([[1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0]])
    mean, low, high = _above(atoms, np.array([2.0, 9.0]))
    np.testing.assert_allclose(mean, [3.5, 9.0])  # where nothing is above, demand was hardly more
    np.testing.assert_allclose(low, [3.05, 9.0])
    np.testing.assert_allclose(high, [3.95, 9.0])


def test_open_rows_follow_the_balance_of_the_log() -> None:
    """In `released` orders arrive before sales: what is left is the next stock."""
    log = small_log("released", episodes=4, horizon=12)
    rows = open_rows(log)
    ends = np.r_[log.starts[1:], len(log)] - 1
    assert log.order is not None
    assert log.stock is not None
    np.testing.assert_array_equal(rows["stock"], (log.stock + log.order - log.sales)[ends])
    np.testing.assert_array_equal(rows["period"], log.period[ends] + 1)
    assert rows["series"].tolist() == ["0", "1", "2", "3"]


def test_features_that_follow_a_cycle_go_on_with_it() -> None:
    log = small_log("released", episodes=2, horizon=9)
    cyclic = log.features.copy()
    cyclic[:, 0] = np.arange(len(log)) % 9 % 3
    from dataclasses import replace

    coming, carried = coming_features(replace(log, features=cyclic), "1", (np.array([0.0]), np.array([0.5])), 4)
    assert [float(each[0][0]) for each in coming] == [1.0, 2.0, 0.0, 1.0]
    assert [float(each[1][0]) for each in coming] == [0.5] * 4
    assert carried == ("interest",)
    assert coming_periods(log, "9", 3) == ["9", "10", "11"]


def test_the_trace_of_a_product_without_a_law_is_imputed() -> None:
    log = small_log("released", episodes=4, horizon=20)
    recent = RecentRows.of(log)
    trace = product_trace(BaseStock().fit(log), recent, "2")
    assert trace is not None
    assert len(trace.sales) == 20
    assert trace.hidden.any()
    known = ~np.isnan(trace.expected)
    assert (trace.expected[known] >= trace.sales[known]).all()
    assert product_trace(BaseStock().fit(log), recent, "nobody") is None
