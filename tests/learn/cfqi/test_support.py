"""Support: what the log never tried is no candidate, and everything of a uniform log is one."""

import warnings
from dataclasses import dataclass

import numpy as np
import pytest

import lostsales
from lostsales.data.log import SalesLog
from lostsales.data.problem import Problem
from lostsales.learn.cfqi.policy import QPolicy
from lostsales.learn.cfqi.settings import CFQI, PCFQI
from lostsales.learn.cfqi.support import Spread, Support
from lostsales.learn.function.kernels import Kernel
from lostsales.learn.function.q_function import FunctionClass
from lostsales.policy.base import PolicyBase
from lostsales.policy.policy import Observes
from lostsales.policy.recommendation import UNTRIED
from lostsales.policy.view import Action, View
from lostsales.types import Floats
from tests.learn.small import frame_of, open_rows

FEW = FunctionClass(kernels=(Kernel(kind="rbf", coefficient=0.03),), ridges=(0.1, 10.0))
RUNGS = np.arange(16.0)


def folds(rows: int) -> list[tuple[np.ndarray, np.ndarray]]:
    fold = np.arange(rows) % 5
    return [(fold == each, fold != each) for each in range(5)]


def histories(rows: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).uniform(0, 20, (rows, 2))


@pytest.mark.parametrize("rows", [30, 60, 400])
def test_all_of_a_uniform_log_is_supported(rows: int) -> None:
    block, rng = histories(rows), np.random.default_rng(rows)
    spread = Spread.of(block, rng.choice(RUNGS, rows), folds(rows), seed=0)
    supported = spread.supports(histories(200, 1), RUNGS)
    assert supported.mean() > 0.9  # of 30 draws the largest may be missing


def test_of_a_manager_who_strays_now_and_then_what_is_near_the_rule_is_supported() -> None:
    """Orders up to 15 with one in seven drawn anywhere: the rule is found, and stray orders are no support."""
    block, rng = histories(600), np.random.default_rng(1)
    rule = np.clip(np.rint(15 - block[:, 1]), 0, 15)
    order = np.where(rng.random(600) < 0.15, rng.choice(RUNGS, 600), rule)
    asked = np.column_stack([np.full(13, 10.0), np.arange(1.0, 14.0)])
    supported = Spread.of(block, order, folds(600), seed=0).supports(asked, RUNGS)
    usual = np.rint(15 - asked[:, 1]).astype(int)
    assert supported[np.arange(13), usual].all()
    far = np.abs(RUNGS - usual[:, None]) > 5
    assert not supported[far].any()


def test_where_one_value_ruled_no_other_is_supported_and_the_nearest_stands_in() -> None:
    block = histories(100)
    spread = Spread.of(block, np.full(100, 4.5), folds(100), seed=0)
    assert spread.supports(block, np.array([4.0, 4.25, 4.5])).all(axis=0).tolist() == [False, False, True]
    assert spread.supports(block, np.array([3.0, 4.0, 7.0])).any(axis=0).tolist() == [False, True, False]
    assert spread.supports(block, np.array([9.0])).all()


def test_with_more_stock_than_ever_seen_smaller_orders_are_candidates() -> None:
    block = histories(200)
    support = Support.of(block, np.column_stack([np.ones(200), np.full(200, 9.0)]), folds(200), stock_at=1, seed=0)
    actions = np.column_stack([np.ones(3), [0.0, 9.0, 12.0]])
    asked = np.array([[10.0, 10.0], [10.0, 50.0]])
    mask, one_only = support.mask(asked, np.ones((2, 3), dtype=bool), actions, n_orders=3)
    assert mask.tolist() == [[False, True, False], [True, True, False]]
    assert one_only.tolist() == [True, False]


@dataclass(frozen=True)
class OnePrice(PolicyBase):
    """Always the highest price; any order, but after a stock-out the most."""

    problem: Problem
    observes: Observes = "sales"

    def decide(self, view: View, rng: np.random.Generator) -> Action:
        """Price and order of every series."""
        assert self.problem.prices is not None
        assert self.problem.orders is not None
        drawn = rng.choice(self.problem.orders, len(view.stock))
        order = np.where(view.last_stockout, self.problem.orders[-1], drawn)
        return Action(np.full(len(order), self.problem.prices[-1]), order)


@pytest.fixture(scope="module")
def one_price() -> SalesLog:
    steady = lostsales.Scenario.load("steady")
    scenario = steady.model_copy(update={"horizon": 40})
    grid = {"prices": steady.prices, "orders": steady.orders}
    problem = steady.problem.model_copy(update=grid)
    return lostsales.simulate(scenario, OnePrice(problem), episodes=10, seed=2)[0]


@pytest.mark.parametrize("learner", [CFQI, PCFQI])
def test_a_log_of_one_price_recommends_that_price_flags_it_and_says_so(
    one_price: SalesLog, learner: type[CFQI]
) -> None:
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        policy = lostsales.fit(one_price, learner(iterations=3, function=FEW))
    said = [str(each.message) for each in warned]
    assert any("price never varied: nothing could be learned" in each for each in said)
    assert any("order never varied at depth" in each for each in said)
    frame = frame_of(one_price)
    day = int(frame.loc[frame["stockout"] & (frame["period"] > 20) & (frame["period"] < 39), "period"].iloc[0]) + 1
    answer = policy.recommend(frame[frame["period"] < day], open_rows(frame, one_price, day))
    assert (answer["price"] == 4.5).all()
    assert answer["flag"].str.contains(UNTRIED).all()
    after_stockout = answer["depth"] > 0
    assert after_stockout.any()
    assert (answer["order"][after_stockout] == 15).all()


@pytest.mark.filterwarnings("ignore:the price never varied", "ignore:the order never varied")
def test_without_the_rule_the_penalty_still_sees_prices_that_were_never_tried(one_price: SalesLog) -> None:
    policy = lostsales.fit(one_price, PCFQI(iterations=2, function=FEW, support="all"))
    assert isinstance(policy, QPolicy)
    assert policy.supports is None
    block = np.tile(policy.ranges[0].mean(axis=0), (1, 1))
    penalty = policy.q[0].penalty(block, np.array([[4.0, 5.0], [4.25, 5.0], [4.5, 5.0]]), policy.beta)[0]
    assert penalty[0] == penalty[1] > penalty[2] + 1
    assert policy.explain(_view(block)).price.tolist() == [4.5]


def _view(block: Floats) -> View:
    none = np.zeros(len(block), dtype=np.int64)
    return View(0, tuple(block[:, 1:3].T), block[:, 3], block[:, 0], none > 0, none, None)
