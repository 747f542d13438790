"""Action changes against hand counts."""

from dataclasses import replace

import numpy as np
import pytest

from lostsales.evaluation.prepared_log import PreparedLog
from lostsales.evaluation.report.action_changes import action_changes
from lostsales.evaluation.task import EvaluationTask
from lostsales.policy.simple import BaseStockRule
from tests.learn.small import scenario, small_log


@pytest.fixture(scope="module")
def task() -> EvaluationTask:
    log = small_log("released")
    policy = BaseStockRule(scenario("released").problem, level=15, price=4.0)
    return EvaluationTask.of(policy, PreparedLog.of(log), None, 0)


def test_changes_are_shares_of_the_rows(task: EvaluationTask) -> None:
    log = task.prepared.log
    found = action_changes(task)
    assert found.rows == len(log)
    assert found.price.labels == ("2", "4", "6")
    np.testing.assert_array_equal(found.price.then, [0, 1, 0])
    np.testing.assert_allclose(found.price.now, [np.mean(log.price == each) for each in (2, 4, 6)])
    assert (found.price.higher, found.price.lower) == (np.mean(log.price == 2), np.mean(log.price == 6))
    assert found.order.mean_then == pytest.approx(np.clip(15 - log.stock, 0, 15).mean())
    for part in (found.price, found.order):
        assert part.now.sum() == pytest.approx(1)
        assert part.then.sum() == pytest.approx(1)


def test_the_logged_actions_change_nothing(task: EvaluationTask) -> None:
    log = task.prepared.log
    logged = np.column_stack([log.price, log.order])[task.rows]
    found = action_changes(replace(task, actions=logged[None]))
    assert found.same == 1
    assert found.order.higher == found.order.lower == 0
    np.testing.assert_array_equal(found.order.now, found.order.then)


def test_many_prices_are_counted_in_bins(task: EvaluationTask) -> None:
    drawn = np.random.default_rng(0).random((1, len(task.rows), 2))
    found = action_changes(replace(task, actions=drawn))
    assert len(found.price.labels) == 10
    assert found.price.then.sum() == pytest.approx(1)
