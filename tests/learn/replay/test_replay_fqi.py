"""Replay-FQI against enumeration of small shops, and in shops whose demand has no law of the planner's families."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import lostsales
from lostsales.data.log import SalesLog
from lostsales.data.problem import Costs, Problem
from lostsales.learn.replay.replay_fqi import ReplayFQI, ReplayPolicy
from lostsales.policy.view import Features
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import evaluate_policy, simulate
from lostsales.types import Floats, Ints
from tests.demand.logs import log_of_draws

DISCOUNT = 0.9
ORDERS = tuple(np.arange(0.0, 27.0))
PRICE, ORDER_COST, HOLDING = 5.0, 3.0, 1.0


def shop_log(demand: Floats, lost: float) -> SalesLog:
    """Demands of which none is hidden, at one price; orders arrive before sales."""
    problem = Problem(
        arrival="before", prices=(PRICE,), orders=ORDERS, costs=Costs(lost=lost, order=ORDER_COST, holding=HOLDING)
    )
    price = np.full(demand.shape, PRICE)
    return log_of_draws(demand, np.full(demand.shape, 40.0), problem, price=price)


def orders_of(policy: ReplayPolicy, last: Floats, stock: Floats) -> Floats:
    """Orders of series, given their last demand and stock."""
    names, ones = np.arange(len(last)), np.ones(len(last))
    frame = {"series": names, "period": 0, "stock": 40.0, "price": PRICE, "order": 0.0, "sales": last}
    recent = pd.DataFrame(frame | {"stockout": ones < 0})
    answer = policy.recommend(recent, pd.DataFrame({"series": names, "period": 1, "stock": stock}))
    return np.asarray(answer.set_index("series")["order"].loc[names], dtype=np.float64)


def earned(available: Floats, demand: float, lost: float) -> Floats:
    """Profit of a period without the cost of the order."""
    sales = np.minimum(available, demand)
    return np.asarray(PRICE * sales - lost * (demand - sales) - HOLDING * (available - sales))


@pytest.mark.parametrize(("lost", "serves_crowds"), [(2.0, True), (0.0, False)])
def test_without_memory_it_orders_up_to_the_critical_fractile_of_the_empirical_distribution(
    lost: float, serves_crowds: bool
) -> None:
    """A critical fractile on either side of the share of quiet days: 20 or 5, and nothing in between."""
    rng = np.random.default_rng(5)
    demand = np.where(rng.random((30, 20)) < 0.35, 20.0, 5.0) + rng.integers(-1, 2, (30, 20)).astype(np.float64)
    log = shop_log(demand, lost)
    levels = np.array(ORDERS)
    # What is left saves the cost of an order in the next period.
    worth = [
        earned(levels, each, lost) + DISCOUNT * ORDER_COST * np.maximum(levels - each, 0) for each in demand.ravel()
    ]
    best = levels[(np.mean(worth, axis=0) - ORDER_COST * levels).argmax()]
    assert (best > 15) == serves_crowds
    policy = ReplayFQI(discount=DISCOUNT, bandwidths=()).fit(log.decisions("fit"))
    found = orders_of(policy, np.array([5.0, 20.0, 5.0]), np.array([0.0, 0.0, 3.0]))
    assert np.abs(found - [best, best, best - 3]).max() <= 1


def enumerated_orders(next_is_high: Floats, low: float, high: float, lost: float) -> Ints:
    """The optimal order after each of two demands and at each stock, (2, stocks), by value iteration on every state."""
    stocks, orders = np.arange(60), np.array(ORDERS, dtype=np.int64)
    values = np.zeros((2, len(stocks)))
    available = np.minimum(stocks[:, None] + orders, len(stocks) - 1)
    for _ in range(300):
        q = np.empty((2, *available.shape))
        for last in range(2):
            chances = 1 - next_is_high[last], next_is_high[last]
            q[last] = -ORDER_COST * orders
            for state, (chance, demand) in enumerate(zip(chances, (low, high), strict=True)):
                left = np.maximum(available - int(demand), 0)
                q[last] += chance * (earned(available, demand, lost) + DISCOUNT * values[state, left])
        values = q.max(axis=2)
    return np.asarray(orders[q.argmax(axis=2)])


def test_with_memory_it_decides_as_an_enumeration_of_the_empirical_transitions() -> None:
    """Demand is 2 or 8; a stock-out below 8 tells that it was 8, so that every state is known."""
    rng = np.random.default_rng(6)
    low, high, lost = 2.0, 8.0, 2.0
    is_high = np.zeros((40, 40), dtype=bool)
    for period in range(1, 40):
        is_high[:, period] = rng.random(40) < np.where(is_high[:, period - 1], 0.7, 0.12)
    before, after = is_high[:, :-1], is_high[:, 1:]
    frequency = np.array([after[~before].mean(), after[before].mean()])
    expected = enumerated_orders(frequency, low, high, lost)
    assert expected[:, 0].tolist() == [low, high]
    policy = ReplayFQI(discount=DISCOUNT).fit(shop_log(np.where(is_high, high, low), lost).decisions("fit"))
    last, stock = (each.ravel() for each in np.meshgrid([low, high], np.arange(10.0), indexing="ij"))
    assert orders_of(policy, last, stock).reshape(2, 10).tolist() == expected[:, :10].tolist()


class Crowds(Scenario):
    """Spread and skew of demand depend on price and last demand."""

    def demand(
        self,
        period: int,  # noqa: ARG002, the protocol passes it
        features: Features,
        price: Floats,
        last_demand: Floats,
        rng: np.random.Generator,
        before_last: Floats | None = None,  # noqa: ARG002
    ) -> Floats:
        """Skewed upwards at high prices, with a spread that grows with the last demand; downwards at the lowest."""
        noise = rng.standard_exponential(len(price)) - 1
        spread = np.where(price > 6.5, 0.8, np.where(price > 5, 3.0, 5.0)) * (0.5 + last_demand / 20)
        mean = 14 + 0.3 * last_demand - price + 2 * features[0]
        return np.clip(np.rint(mean + np.where(price > 5, 1, -1) * spread * noise), 0, 40)


def crowds() -> Scenario:
    """Orders arrive after sales, and half of the uniform rows are stock-outs."""
    like: dict[str, Any] = Scenario.load("nonlinear").model_dump(by_alias=True)
    economy = like["features"]["economy"]
    like |= {"name": "crowds", "arrival": "after", "capacity": 30.0, "prices": (4.0, 5.5, 7.0)}
    like |= {"orders": tuple(np.arange(0.0, 21.0, 2.0)), "features": {"economy": economy}}
    like["demand"]["features"] = {"economy": 0.35}
    return Crowds(**like)


def test_it_nears_the_optimum_where_spread_and_skew_depend_on_price_and_last_demand() -> None:
    """The oracle, by value iteration on the true distribution, earns 42.6; the planner 38.8 from such logs."""
    log, _ = simulate(crowds(), episodes=10, seed=1000)
    policy = lostsales.fit(log, "replay-fqi")
    assert evaluate_policy(crowds(), policy, episodes=200, seed=77).mean_profit > 41.3
    assert "price" in str(policy.summary()["replayed"])


@pytest.mark.slow
def test_it_beats_the_planner_there() -> None:
    gains = []
    for seed in range(4):
        log, _ = simulate(crowds(), episodes=10, seed=seed)
        ours, plan = (
            evaluate_policy(crowds(), lostsales.fit(log, method), episodes=300, seed=78).mean_profit
            for method in ("replay-fqi", "planner")
        )
        gains.append(ours - plan)
    assert min(gains) > 0
    assert np.mean(gains) > 2


def test_it_earns_32_from_500_rows_of_released() -> None:
    scenario = Scenario.load("released")
    log, _ = simulate(scenario, episodes=10, seed=31)
    assert evaluate_policy(scenario, ReplayFQI().fit(log), episodes=200, seed=5).mean_profit > 32
