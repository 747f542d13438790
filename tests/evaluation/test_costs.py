"""Estimates of the time of an evaluation."""

from lostsales.evaluation.costs import evaluate_cost, first_series
from tests.learn.small import small_log


def test_one_long_series_costs_about_as_much_as_many_short_ones() -> None:
    long, short = small_log("steady", 1, horizon=2_000), small_log("steady", 40)
    assert len(first_series(long, 1_000)) == 1_000
    for rows in (1_000, 2_000):
        assert 0.5 < evaluate_cost(long, rows).seconds / evaluate_cost(short, rows).seconds < 2


def test_only_the_estimators_that_are_asked_for_cost_time() -> None:
    asked = ("model",), ("fqe",), ("fqe", "dr")
    model, fqe, both = (evaluate_cost(small_log("steady", 12), 1_000, estimators=each).seconds for each in asked)
    assert 0 < model < fqe < both
