"""Allocation of shared resources: against all choices, and the prices of the resources."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from lostsales.policy.allocation import Allocation, Resource, allocate
from lostsales.types import Floats


def shop(products: int, candidates: int, seed: int) -> tuple[Floats, Floats, Floats]:
    """Values with diminishing returns, costs and volumes of candidate orders."""
    rng = np.random.default_rng(seed)
    mean, cost = rng.lognormal(2.0, 1.0, products), rng.lognormal(1.0, 0.6, products)
    orders = np.rint(np.linspace(0, 1, candidates) * np.ceil(3 * mean)[:, None])
    worth = (cost * rng.uniform(1.4, 2.2, products) * mean * 3)[:, None]
    value = worth * (1 - np.exp(-orders / (1.2 * mean[:, None]))) - cost[:, None] * orders
    return value, cost[:, None] * orders, rng.uniform(0.5, 2.0, products)[:, None] * orders


def of_all_choices(value: Floats, resources: list[Resource]) -> float:
    """The best value by trying every choice."""
    best, gain = -np.inf, value - value[:, :1]
    for chosen in product(range(value.shape[1]), repeat=len(value)):
        at = np.array(chosen)
        used = [float(each.use[np.arange(len(each.rows)), at[each.rows]].sum()) for each in resources]
        if all(each.is_met(total) for each, total in zip(resources, used, strict=True)):
            paid = sum(each.fixed_cost for each, total in zip(resources, used, strict=True) if total > 0)
            best = max(best, float(gain[np.arange(len(value)), at].sum()) - paid)
    return best


ROWS = np.arange(6)
TERMS: list[dict[str, Any]] = [
    {"most": 40.0},
    {"least": 60.0},
    {"multiple": 25.0, "filled": 0.9},
    {"fixed_cost": 12.0, "most": 50.0},
    {"least": 30.0, "most": 45.0, "fixed_cost": 5.0},
]


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("terms", TERMS)
def test_six_products_have_the_best_of_all_choices(terms: dict[str, Any], seed: int) -> None:
    value, money, volume = shop(6, 5, seed)
    resources = [Resource("money", ROWS, money, **terms), Resource("volume", ROWS[:4], volume[:4], most=20.0)]
    found = allocate(value, resources)
    assert found.value == pytest.approx(of_all_choices(value, resources), abs=1e-6)
    assert all(each.is_met(used) for each, used in zip(resources, found.used, strict=True))
    assert found.gap < 1e-6


def test_a_budget_that_does_not_bind_changes_nothing() -> None:
    value, money, _ = shop(50, 9, 4)
    free = value.argmax(axis=1)
    need = float(money[np.arange(50), free].sum())
    found = allocate(value, [Resource("money", np.arange(50), money, most=need)])
    assert (found.chosen == free).all()
    assert found.price.tolist() == [0.0]
    assert found.gap == 0


def half_budget(products: int, candidates: int, seed: int) -> tuple[Allocation, Floats, float]:
    value, money, volume = shop(products, candidates, seed)
    free = value.argmax(axis=1)
    rows = np.arange(products)
    limits = [
        Resource("money", rows, money, most=0.5 * float(money[rows, free].sum())),
        Resource("volume", rows[::2], volume[::2], most=0.4 * float(volume[rows[::2], free[::2]].sum())),
    ]
    return allocate(value, limits), value, limits[0].most


def test_the_gap_of_five_hundred_products_is_below_one_per_cent() -> None:
    found, _, most = half_budget(500, 25, seed=5)
    assert found.gap < 0.01
    assert found.used[0] <= most * (1 + 1e-6)


def test_the_price_of_money_is_what_more_of_it_brings() -> None:
    value, money, _ = shop(200, 25, 6)
    rows = np.arange(200)
    most = 0.5 * float(money[rows, value.argmax(axis=1)].sum())
    less, more = (allocate(value, [Resource("money", rows, money, most=most + step)]) for step in (0.0, 20.0))
    assert (more.bound - less.bound) / 20 == pytest.approx(less.price[0], rel=0.1)


def test_products_that_a_supplier_does_not_deliver_are_left_alone() -> None:
    value, money, _ = shop(6, 5, 7)
    found = allocate(value, [Resource("money", np.array([1, 4]), money[[1, 4]], most=0.0)])
    assert found.chosen[[1, 4]].tolist() == [0, 0]
    assert (found.chosen[[0, 2, 3, 5]] == value.argmax(axis=1)[[0, 2, 3, 5]]).all()
