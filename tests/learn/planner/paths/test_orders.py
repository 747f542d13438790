"""Orders by sampled futures against enumeration."""

from typing import Any

import numpy as np
import pytest

from lostsales.data.economics import UnitCosts
from lostsales.data.shop import Shop
from lostsales.demand.model.moving_levels import MovingLevels, PathDraws
from lostsales.learn.planner.paths.roll_out_loops import LOST
from lostsales.learn.planner.paths.search import Search, common_draws, find_actions, terms_of
from lostsales.learn.planner.paths.search_loops import Draws, Situation, draw_lead_times, kept_prices, put_on_way
from lostsales.types import Floats


def situation(shop: Shop, stock: Floats, pipeline: Floats, periods: int, **changed: Any) -> Situation:
    n, law = len(stock), shop.lead_times
    one = np.ones(n)
    return Situation(
        stock=stock,
        pipeline=pipeline,
        chances=np.tile(np.array(law.chances), (n, 1)),
        lost=law.lost * one,
        exposure=np.ones((n, periods)),
        may_order=np.ones((n, periods), dtype=bool),
        **kept_prices(5 * one, periods),
        costs=UnitCosts(lost=one, order=0 * one, holding=one),
        multiple=one,
        minimum=0 * one,
        limit=np.inf * one,
    )._replace(**changed)


@pytest.mark.parametrize("lead_time", [0, 1, 3])
def test_a_demand_that_is_known_is_ordered_exactly(lead_time: int) -> None:
    levels = MovingLevels.start(1, counted=False, level=np.array([10.0]), spread=np.zeros(1))
    shop, search = Shop(supply={"lead_time": lead_time}, discount=0.99), Search(paths=10)
    # As much comes in every period as is needed, and nothing is on hand beyond the open period.
    stock = np.array([0.0 if lead_time == 0 else 10.0])
    pipeline = np.full((1, max(lead_time - 1, 0)), 10.0)
    found = find_actions(levels, situation(shop, stock, pipeline, search.periods(lead_time)), terms_of(shop), search)
    np.testing.assert_allclose(found.order, 10.0, atol=1.0)
    np.testing.assert_allclose(found.mean_demand, 10.0, rtol=0.02)


@pytest.mark.parametrize(("lead_time", "on_way"), [(0, ()), (2, (3.0,)), (3, (2.0, 4.0))])
def test_the_best_of_all_orders_by_enumeration(lead_time: int, on_way: tuple[float, ...]) -> None:
    """With as many periods as the lead time and one more, only today's order can be sold."""
    shop, search = Shop(supply={"lead_time": lead_time}, discount=0.9), Search(paths=60, ahead=1)
    levels = MovingLevels.start(1).after(np.random.default_rng(2).poisson(3.0, (1, 30)).astype(np.float64))
    stock, pipeline = np.array([4.0]), np.array([on_way]).reshape(1, -1)
    periods = search.periods(lead_time)
    at = situation(shop, stock, pipeline, periods)
    found = find_actions(levels, at, terms_of(shop), search)
    draws = common_draws(search.paths, periods, pipeline.shape[1], lead_time, search.seed)
    demand = levels.paths(PathDraws(draws.chances, draws.errors))[0]
    values = [_mean_profit(order, demand, [*on_way], 4.0, lead_time) for order in range(25)]
    assert found.order[0] == np.argmax(values)
    np.testing.assert_allclose(found.value[0], max(values))


def _mean_profit(order: float, demand: Floats, on_way: list[float], stock: float, lead_time: int) -> float:
    total = 0.0
    for path in demand:
        held, arrives = stock, {1 + k: units for k, units in enumerate(on_way)} | {lead_time: order}
        for t, units in enumerate(path):
            held += arrives.get(t, 0.0)
            sold = min(held, units)
            held -= sold
            total += 0.9**t * (5 * sold - (units - sold) - held)
    return total / len(demand)


def test_multiples_minimum_limit_and_order_days_are_obeyed() -> None:
    levels = MovingLevels.start(4).after(np.full((4, 10), 9.0))
    shop, search = Shop(supply={"lead_time": 1}, discount=0.99), Search(paths=50)
    periods = search.periods(1)
    may = np.ones((4, periods), dtype=bool)
    may[3, 0] = False
    at = situation(
        shop,
        np.zeros(4),
        np.zeros((4, 0)),
        periods,
        multiple=np.array([6.0, 1.0, 1.0, 1.0]),
        minimum=np.array([0.0, 40.0, 0.0, 0.0]),
        limit=np.array([np.inf, np.inf, 5.0, np.inf]),
        may_order=may,
    )
    order = find_actions(levels, at, terms_of(shop), search).order
    assert order[0] > 0
    assert order[0] % 6 == 0
    assert order[1] == 0 or order[1] >= 40
    assert order[2] == 5
    assert order[3] == 0


def test_lost_orders_are_ordered_again() -> None:
    levels = MovingLevels.start(1).after(np.full((1, 20), 30.0))
    search = Search(paths=200)
    sure = Shop(supply={"lead_time": 2}, discount=0.99)
    risky = Shop(supply={"lead_time": {"2": 0.5, "lost": 0.5}}, discount=0.99)
    orders = [
        find_actions(
            levels, situation(each, np.zeros(1), np.array([[20.0]]), search.periods(2)), terms_of(each), search
        )
        for each in (sure, risky)
    ]
    assert orders[1].order[0] > 1.3 * orders[0].order[0]


@pytest.mark.parametrize("crossing", [True, False])
def test_deliveries_have_their_law_given_what_did_not_arrive(crossing: bool) -> None:
    law = {"1": 0.2, "2": 0.3, "3": 0.3, "lost": 0.2}
    shop = Shop(supply={"lead_time": law, "crossing": crossing})
    rng = np.random.default_rng(1)
    draws = Draws(rng.random((40_000, 4)), rng.random((40_000, 4)), rng.random((40_000, 6)), rng.random((40_000, 8)))
    arrivals, lead = np.empty((8, 40_000)), np.empty((6, 40_000), dtype=np.int64)
    draw_lead_times(np.array([0.0, 0.2, 0.3, 0.3]), 0.2, 2, terms_of(shop), draws, lead)
    put_on_way(np.array([0.0, 7.0]), lead, 1.0, arrivals, on_way := np.empty(40_000))
    shares = [np.mean(lead[2:] == time) for time in (1, 2, 3, LOST)]
    np.testing.assert_allclose(shares, [0.2, 0.3, 0.3, 0.2], atol=0.01)
    # Ordered a period ago and not there today: in 1 or 2 periods, or never.
    np.testing.assert_allclose((arrivals[1:3] == 7).mean(axis=1), [0.3 / 0.8, 0.3 / 0.8], atol=0.01)
    assert (arrivals[[0, 3, 4, 5, 6, 7]] == 0).all()
    np.testing.assert_array_equal(on_way, arrivals.sum(axis=0))
