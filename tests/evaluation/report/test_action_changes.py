"""What a policy would change, against hand counts."""

from dataclasses import replace

import numpy as np
import pytest

from lostsales.evaluation.prepared_log import PreparedLog
from lostsales.evaluation.report.action_changes import change
from lostsales.evaluation.task import EvaluationTask
from lostsales.policy.simple import BaseStockRule
from tests.learn.small import scenario, small_log


@pytest.fixture(scope="module")
def case() -> EvaluationTask:
    log = small_log("released")
    policy = BaseStockRule(scenario("released").problem, level=15, price=4.0)
    return EvaluationTask.of(policy, PreparedLog.of(log), None, 0)


def test_what_changes_is_counted_over_the_rows(case: EvaluationTask) -> None:
    log = case.ledger.log
    found = change(case)
    assert found.rows == len(log)
    assert found.price.labels == ("2", "4", "6")
    np.testing.assert_array_equal(found.price.then, [0, 1, 0])
    np.testing.assert_allclose(found.price.now, [np.mean(log.price == each) for each in (2, 4, 6)])
    assert (found.price.higher, found.price.lower) == (np.mean(log.price == 2), np.mean(log.price == 6))
    assert found.order.mean_then == pytest.approx(np.clip(15 - np.asarray(log.stock), 0, 15).mean())
    for shift in (found.price, found.order):
        assert shift.now.sum() == pytest.approx(1)
        assert shift.then.sum() == pytest.approx(1)


def test_a_policy_that_does_what_was_done_changes_nothing(case: EvaluationTask) -> None:
    log = case.ledger.log
    done = np.column_stack([log.price, np.asarray(log.order)])[case.known]
    found = change(replace(case, decided=done[None]))
    assert found.same == 1
    assert found.order.higher == found.order.lower == 0
    np.testing.assert_array_equal(found.order.now, found.order.then)


def test_many_prices_are_counted_in_bins(case: EvaluationTask) -> None:
    drawn = np.random.default_rng(0).random((1, len(case.known), 2))
    found = change(replace(case, decided=drawn))
    assert len(found.price.labels) == 10
    assert found.price.then.sum() == pytest.approx(1)
