"""Support: what the log never tried is no candidate, and everything of a uniform log is one."""

import warnings
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest

import lostsales
from lostsales.data.log import SalesLog
from lostsales.data.problem import Problem
from lostsales.learn.cfqi.learn import CFQI, PCFQI
from lostsales.learn.cfqi.policy import QPolicy
from lostsales.learn.cfqi.support import ActionSpread, HistoryRegression, Support
from lostsales.learn.function.kernels import Kernel
from lostsales.learn.function.q_function import FunctionClass
from lostsales.policy.base import PolicyBase
from lostsales.policy.policy import Observes
from lostsales.policy.recommendation import UNTRIED
from lostsales.policy.view import Action, View
from lostsales.simulation.manager_policy import ManagerPolicy
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import simulate
from lostsales.types import Floats
from tests.learn.small import frame_of, open_rows

FEW = FunctionClass(kernels=(Kernel(kind="rbf", coefficient=0.03),), ridges=(0.1, 10.0))


def folds(rows: int) -> list[tuple[np.ndarray, np.ndarray]]:
    fold = np.arange(rows) % 5
    return [(fold == each, fold != each) for each in range(5)]


def histories(rows: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).uniform(0, 20, (rows, 2))


def test_with_more_stock_than_ever_seen_smaller_orders_are_candidates() -> None:
    block = histories(200)
    support = Support.of(block, np.column_stack([np.ones(200), np.full(200, 9.0)]), folds(200), stock_at=1, seed=0)
    actions = np.column_stack([np.ones(3), [0.0, 9.0, 12.0]])
    asked = np.array([[10.0, 10.0], [10.0, 50.0]])
    mask, one_only = support.mask(asked, np.ones((2, 3), dtype=bool), actions, n_orders=3)
    assert mask.tolist() == [[False, True, False], [True, False, False]]
    assert one_only.tolist() == [True, False]


def test_no_order_fills_up_beyond_what_the_log_had_and_the_smallest_stands_in() -> None:
    """Stock and order of the log reach 20 together, with 5 more on the way 25."""
    block = np.column_stack([np.zeros(100), np.arange(100.0) % 11, np.full(100, 5.0)])
    action = np.column_stack([np.ones(100), np.full(100, 10.0)])
    support = replace(Support.of(block, action, folds(100), 1, 0, on_order=1), order=everything(15.0))
    assert support.most == 25
    actions = np.column_stack([np.ones(4), [2.0, 6.0, 10.0, 14.0]])
    asked = np.array([[0.0, 6.0, 4.0], [0.0, 10.0, 5.0], [0.0, 40.0, 5.0]])
    mask, _ = support.mask(asked, np.ones((3, 4), dtype=bool), actions, n_orders=4)
    assert mask.tolist() == [[True, True, True, True], [True, True, True, False], [True, False, False, False]]


def test_the_usual_action_is_the_nearest_that_may_be_taken() -> None:
    block = histories(300)
    action = np.column_stack([np.full(300, 5.0), np.maximum(15 - np.rint(block[:, 1]), 0)])
    support = Support.of(block, action, folds(300), stock_at=1, seed=0)
    actions = np.array([[price, order] for price in (4.0, 5.0, 6.0) for order in (0.0, 5.0, 10.0, 15.0)])
    asked = np.array([[10.0, 5.5], [10.0, 60.0]])
    assert actions[support.usual_action(asked, None, actions)].tolist() == [[5, 10], [5, 0]]
    without = np.tile(actions[:, 1] != 10, (2, 1))
    assert actions[support.usual_action(asked, without, actions)].tolist() == [[5, 5], [5, 0]]


def everything(most: float) -> ActionSpread:
    block = histories(400)
    return ActionSpread.of(HistoryRegression.of(block, folds(400), 0), np.random.default_rng(0).uniform(0, most, 400))


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


def up_to_30(stocked_out: dict[int, float], price_by_day: bool = False) -> SalesLog:
    """Eight series that fill up to 30 or order anything; series `n` sells out in period 29 and then orders so much.

    With an order of NaN the series ends a period after it sold out.
    """
    rng, rows = np.random.default_rng(4), []
    for series in range(8):
        stock = 30.0
        for period in range(40):
            price = 4.0 + 0.5 * (period % 4) if price_by_day else float(rng.choice([4.0, 4.5, 5.0, 5.5]))
            order = max(30.0 - stock, 0.0) if rng.random() > 0.15 else float(rng.integers(0, 13))
            sells_out, after = (series in stocked_out and period == at for at in (29, 30))
            order = 0.0 if sells_out else 0.0 if after and np.isnan(stocked_out[series]) else order
            order = stocked_out[series] if after and not np.isnan(stocked_out[series]) else order
            demand = 99.0 if sells_out else float(rng.poisson(6)) if not after else 0.0
            sales = min(stock + order, demand)
            rows.append((f"s{series}", period, stock, price, order, sales, demand > stock + order))
            stock += order - sales
            if after and np.isnan(stocked_out[series]):
                break
    frame = pd.DataFrame(rows, columns=["series", "period", "stock", "price", "order", "sales", "stockout"])
    costs = {"lost": 1.0, "order": 2.0, "holding": 0.3}
    grid = {"prices": [4.0, 4.5, 5.0, 5.5], "orders": list(range(31))}
    weekday = {"name": "weekday", "kind": "categorical", "levels": [0, 1, 2, 3]}
    known = {"arrival": "before", "costs": costs, "features": [weekday] if price_by_day else []} | grid
    return lostsales.read_log(frame.assign(weekday=frame["period"] % 4), problem=Problem.model_validate(known))


@pytest.mark.filterwarnings("ignore:after most histories the log supports one order alone")
@pytest.mark.parametrize("learner", [CFQI, PCFQI])
@pytest.mark.parametrize("stocked_out", [{}, {0: np.nan}, {0: 0.0}, {0: 0.0, 1: 3.0}])
def test_a_few_rows_after_stock_outs_are_no_support_of_their_own(
    learner: type[CFQI], stocked_out: dict[int, float]
) -> None:
    """None, one in the last row, and one or two that ordered next to nothing: as after any other period."""
    policy = lostsales.fit(up_to_30(stocked_out), learner(iterations=3, function=FEW, pricing="free"))
    assert isinstance(policy, QPolicy)
    assert policy.supports is not None
    first, after_stockout = policy.supports
    assert np.array_equal(first.order.residuals, after_stockout.order.residuals)
    recent = pd.DataFrame(
        {"series": "a", "period": [0, 1], "stock": [12.0, 4.0], "price": 5.0, "order": 0.0, "sales": [8.0, 4.0]}
    ).assign(stockout=[False, True])
    answer = policy.recommend(recent, pd.DataFrame({"series": ["a"], "period": [2], "stock": [0.0]}))
    assert answer["order"].iloc[0] >= 4


@pytest.mark.filterwarnings("ignore:after most histories the log supports one order alone")
def test_fit_says_that_one_price_alone_has_support_given_the_history() -> None:
    expected = "after most histories the log supports one price alone: nothing could be learned"
    with pytest.warns(UserWarning, match=expected):
        lostsales.fit(up_to_30({}, price_by_day=True), CFQI(iterations=2, pricing="free"))


def test_fit_says_what_never_varied_though_everything_is_a_candidate(one_price: SalesLog) -> None:
    with pytest.warns(UserWarning, match="the price never varied: .* is arbitrary"):
        lostsales.fit(one_price, CFQI(iterations=2, function=FEW, support="all"))


@pytest.mark.filterwarnings("ignore:the price never varied", "ignore:the order never varied")
def test_without_the_rule_the_penalty_still_sees_prices_that_were_never_tried(one_price: SalesLog) -> None:
    policy = lostsales.fit(one_price, PCFQI(iterations=2, function=FEW, support="all", penalty="support"))
    assert isinstance(policy, QPolicy)
    assert policy.supports is None
    block = np.tile(policy.ranges[0].mean(axis=0), (1, 1))
    penalty = policy.q[0].penalty(block, np.array([[4.0, 5.0], [4.25, 5.0], [4.5, 5.0]]), policy.beta)[0]
    assert penalty[0] == penalty[1] > penalty[2] + 1
    assert policy.explain(_view(block)).price.tolist() == [4.5]


def test_with_a_penalty_without_end_the_usual_action_is_taken_and_carries_none(one_order_up_to: SalesLog) -> None:
    """Orders up to 12, every sixth drawn anywhere, at any of three prices."""
    policy = lostsales.fit(one_order_up_to, PCFQI(iterations=2, function=FEW, beta=1e9, support="all"))
    assert isinstance(policy, QPolicy)
    assert policy.on_gains
    stock = np.arange(0.0, 12.0, 2.0)
    block = np.column_stack([np.tile(policy.ranges[0].mean(axis=0)[:3], (6, 1)), stock])
    decision = policy.explain(_view(block))
    np.testing.assert_allclose(decision.order, 12 - stock, atol=1)
    assert (decision.price == 4.25).all()
    assert decision.penalty.tolist() == [0] * 6


@pytest.fixture(scope="module")
def one_order_up_to() -> SalesLog:
    shop = Scenario.load("steady", ("manager={price={base=4.25,noise=0.3},level={base=12},stray=0.15}",))
    return simulate(shop, ManagerPolicy.of(shop), 12, seed=2)[0]


@pytest.mark.filterwarnings("ignore:after most histories the log supports one order alone")
def test_a_stray_or_two_after_few_stock_outs_is_no_support() -> None:
    """Of 25 rows after a stock-out the manager fills up to 3 in all but a few."""
    shop = Scenario.load("manager-slow")
    log, _ = simulate(shop, ManagerPolicy.of(shop), 8, seed=6)
    policy = lostsales.fit(log, CFQI(iterations=2, function=FEW))
    assert isinstance(policy, QPolicy)
    assert policy.supports is not None
    assert len(policy.q) == 1
    pairs = policy.grid.pairs
    block = policy.ranges[0].mean(axis=0)[None].copy()
    block[:, [policy.supports[1].stock_at, -1]] = 0.0, 1.0  # nothing in stock, after one stock-out
    may, _ = policy.supports[1].mask(block, np.ones((1, len(pairs)), dtype=bool), pairs, len(policy.grid.orders))
    assert sorted(set(pairs[may[0], 1])) == [3.0]


def _view(block: Floats) -> View:
    none = np.zeros(len(block), dtype=np.int64)
    return View(0, tuple(block[:, 1:3].T), block[:, 3], block[:, 0], none > 0, none, None)
