"""Prices of the search on sample paths: closed forms, identities and units."""

from typing import Any

import numpy as np
import pytest

from lostsales.data.economics import UnitCosts
from lostsales.data.shop import Shop
from lostsales.demand.model.moving_levels import MovingLevels
from lostsales.learn.planner.paths.search import Search, find_actions, terms_of
from lostsales.learn.planner.paths.search_loops import Found, Situation
from lostsales.types import Floats
from tests.learn.planner.paths.test_orders import situation

ELASTICITIES = np.array([-1.5, -2.0, -3.0, -6.0])
GRID = np.linspace(1.1, 4.0, 30)


def shown_levels(counted: bool = True) -> MovingLevels:
    demand = np.random.default_rng(1).poisson(20.0, (len(ELASTICITIES), 60)).astype(np.float64)
    return MovingLevels.start(len(ELASTICITIES), counted).after(demand)


def priced(at: Situation, grid: Floats = GRID, planned: float = 2.0) -> Situation:
    """The situation with constant elasticities and a grid of prices."""
    n = len(ELASTICITIES)
    return at._replace(
        price=np.full(at.exposure.shape, planned),
        choices=np.tile(grid, (n, 1)),
        effect=(grid / planned) ** ELASTICITIES[:, None],
        penalty=np.zeros((n, len(grid))),
    )


def decided(shop: Shop, hold: int = 1, lead: int = 0, **changed: Any) -> Found:
    search, n = Search(paths=64), len(ELASTICITIES)
    periods = search.periods(lead)
    at = situation(shop, np.full(n, 40.0), np.full((n, max(lead - 1, 0)), 20.0), periods)
    return find_actions(shown_levels(), priced(at)._replace(**changed), terms_of(shop, hold=hold), search)


@pytest.mark.parametrize("hold", [1, 4])
def test_with_free_supply_prices_are_those_of_constant_elasticity(hold: int) -> None:
    """Stock costs nothing but its purchase, and comes at once: the price is cost times e / (1 + e)."""
    n = len(ELASTICITIES)
    shop = Shop(supply={"lead_time": 0}, discount=0.9999)
    costs = UnitCosts(lost=np.zeros(n), order=np.ones(n), holding=np.zeros(n))
    found = decided(shop, hold, costs=costs)
    best = ELASTICITIES / (1 + ELASTICITIES)

    def profit(price: Floats) -> Floats:
        return np.asarray((price - 1.0) * price**ELASTICITIES)

    assert (profit(found.price) > 0.995 * profit(best)).all()  # around its top, profit is flat in the price
    assert (np.abs(found.price - best) < 0.25).all()


def test_one_price_is_ordering_alone() -> None:
    shop = Shop(supply={"lead_time": 3}, discount=0.99)
    none = np.empty((len(ELASTICITIES), 0))
    alone = decided(shop, lead=3, choices=none, effect=none, penalty=none)
    same = np.full((len(ELASTICITIES), 1), 2.0)
    one = decided(shop, lead=3, choices=same, effect=same / 2.0, penalty=0 * same)
    for left, right in zip(alone, one, strict=True):
        np.testing.assert_array_equal(left, right)


def test_decisions_do_not_depend_on_the_currency() -> None:
    shop = Shop(supply={"lead_time": 2}, discount=0.99)
    n = len(ELASTICITIES)
    costs = UnitCosts(lost=np.full(n, 0.3), order=np.ones(n), holding=np.full(n, 0.02))
    euros = decided(shop, lead=2, costs=costs)
    search = Search(paths=64)
    at = situation(shop, np.full(n, 40.0), np.full((n, 1), 20.0), search.periods(2), costs=costs)
    at = priced(at)
    cents = at._replace(
        price=128 * at.price,  # a power of two, so that no rounding comes in
        choices=128 * at.choices,
        costs=UnitCosts(*(128 * each for each in costs[:3])),
    )
    found = find_actions(shown_levels(), cents, terms_of(shop), search)
    np.testing.assert_array_equal(found.price, 128 * euros.price)
    np.testing.assert_array_equal(found.order, euros.order)
    np.testing.assert_allclose(found.value, 128 * euros.value)


def test_scarce_stock_is_sold_dearer_and_excess_cheaper() -> None:
    shop = Shop(supply={"lead_time": 5}, discount=0.9999)
    n = len(ELASTICITIES)
    costs = UnitCosts(lost=np.zeros(n), order=np.ones(n), holding=np.full(n, 0.05))
    nothing = np.zeros((n, 4))
    scarce = decided(shop, 3, 5, stock=np.full(n, 10.0), pipeline=nothing, costs=costs)
    excess = decided(shop, 3, 5, stock=np.full(n, 1_000.0), pipeline=nothing, costs=costs)
    assert (scarce.price > excess.price).all()


def test_a_penalty_keeps_the_planned_price() -> None:
    shop = Shop(supply={"lead_time": 1}, discount=0.99)
    free = decided(shop, lead=1)
    careful = decided(shop, lead=1, penalty=np.full((len(ELASTICITIES), len(GRID)), 1e6))
    assert (free.price != 2.0).any()
    np.testing.assert_array_equal(careful.price, 2.0)
    assert (careful.next_value < careful.value).all()
