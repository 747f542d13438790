"""What is usual after a history, and what the log supports around it."""

import numpy as np
import pytest

from lostsales.learn.cfqi.support import ActionSpread, HistoryRegression
from lostsales.types import Floats

RUNGS = np.arange(16.0)


def folds(rows: int) -> list[tuple[np.ndarray, np.ndarray]]:
    fold = np.arange(rows) % 5
    return [(fold == each, fold != each) for each in range(5)]


def histories(rows: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).uniform(0, 20, (rows, 2))


def managed(rows: int, level: float, stray: float) -> tuple[Floats, Floats]:
    """Histories whose second coordinate is the stock, and orders up to a level, some of them drawn anywhere."""
    block, rng = histories(rows), np.random.default_rng(1)
    rule = np.clip(np.rint(level - block[:, 1]), 0, 15)
    return block, np.where(rng.random(rows) < stray, rng.choice(RUNGS, rows), rule)


@pytest.mark.parametrize("rows", [30, 60, 400])
def test_all_of_a_uniform_log_is_supported_and_nothing_is_usual(rows: int) -> None:
    block, rng = histories(rows), np.random.default_rng(rows)
    spread = ActionSpread.of(HistoryRegression.of(block, folds(rows), 0), rng.choice(RUNGS, rows))
    asked = histories(200, 1)
    supported = spread.supports(spread.usual(asked), RUNGS)
    assert supported.mean() > 0.9  # of 30 draws the largest may be missing
    assert spread.concentration == 0


def test_of_a_manager_who_strays_now_and_then_what_is_near_the_rule_is_supported() -> None:
    """Orders up to 15 with one in seven drawn anywhere: the rule is found, and stray orders are no support."""
    block, order = managed(600, level=15, stray=0.15)
    spread = ActionSpread.of(HistoryRegression.of(block, folds(600), 0), order)
    assert spread.concentration > 0.8
    asked = np.column_stack([np.full(13, 10.0), np.arange(1.0, 14.0)])
    usual = spread.usual(asked)
    np.testing.assert_allclose(usual, 15 - asked[:, 1], atol=0.5)
    supported = spread.supports(usual, RUNGS)
    rule = np.rint(15 - asked[:, 1]).astype(int)
    assert supported[np.arange(13), rule].all()
    assert not supported[np.abs(RUNGS - rule[:, None]) > 2].any()


def test_where_one_value_ruled_no_other_is_supported_and_the_nearest_stands_in() -> None:
    block = histories(100)
    spread = ActionSpread.of(HistoryRegression.of(block, folds(100), 0), np.full(100, 4.5))
    usual = spread.usual(block)
    assert usual.tolist() == [4.5] * 100
    assert spread.supports(usual, np.array([4.0, 4.25, 4.5])).all(axis=0).tolist() == [False, False, True]
    assert spread.supports(usual, np.array([3.0, 4.0, 7.0])).any(axis=0).tolist() == [False, True, False]
    assert spread.supports(usual, np.array([9.0])).all()
    assert spread.concentration == 1


def test_where_most_rows_agree_exactly_those_that_the_regression_misses_are_no_strays() -> None:
    """Orders up to 3, and a stock that is rarely below: the median residual is next to nothing."""
    rows, rng = 640, np.random.default_rng(6)
    stock = rng.choice(10, rows, p=[0.04, 0.09, 0.19, 0.32, 0.09, 0.07, 0.06, 0.06, 0.05, 0.03])
    block = np.column_stack([rng.poisson(1.0, rows), stock, np.eye(7)[np.arange(rows) % 7]])
    order = np.where(rng.random(rows) < 0.15, rng.integers(0, 7, rows), np.maximum(3 - stock, 0))
    spread = ActionSpread.of(HistoryRegression.of(block, folds(rows), 0), order)
    assert spread.usual(block[stock == 0]).mean() == pytest.approx(3, abs=0.3)  # 1.9 if they were left aside
    assert spread.usual(block[stock == 3]).mean() == pytest.approx(0, abs=0.1)
