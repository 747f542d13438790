"""The compiled sweep of the planner against the same sums written out, one demand at a time."""

from itertools import product

import numpy as np
import pytest

from lostsales.learn.planner import bellman_loops as bellman
from lostsales.learn.planner.physics import Physics
from lostsales.types import Floats

PRICES, ORDERS = np.array([2.0, 3.5]), np.array([0.0, 1.0, 2.5, 6.0])
STEPS, LAYERS, LAGS, STOCKS, CELLS, NODES = np.array([1.0, 1.5]), 2, 5, 7, 3, 2
DISCOUNT = 0.9
WORLDS = [
    Physics(after, netted, strict, truncates, forbids, room, 2.0, 1.0, 0.3, 0.7, LAYERS)
    for after, netted, strict, truncates, (forbids, room) in product(
        (False, True), (False, True), (False, True), (False, True), ((False, np.inf), (False, 5.5), (True, 5.5))
    )
    if after or not netted
]


def grid_value(values: Floats, row: float, place: float) -> float:
    """Linear in each coordinate, constant beyond the ends."""
    at_row = [float(np.interp(place, np.arange(values.shape[1]), each)) for each in values]
    return float(np.interp(row, np.arange(len(values)), at_row))


def worth(ahead: Floats, layer: int, stock: float, demand: Floats, price: float, order: float, world: Physics) -> float:
    """Expected profit and what follows; demand above what is there is known by its mean only."""
    available = stock if world.after else min(stock + order, world.room)
    total, hidden = -world.order_cost * order - world.fixed_order_cost * (order > 0), []
    ends = world.truncates and layer == LAYERS
    for each in demand:
        chance = 1 / len(demand)
        if each < available or (world.strict and each == available):
            left = available - each
            then = min(left + order, world.room) if world.after else left
            profit = price * each - world.holding_cost * left
            total += chance * (profit + DISCOUNT * grid_value(ahead[0], each / STEPS[1], then / STEPS[0]))
            continue
        total += chance * (price * available - (0 if ends else world.lost_cost * (each - available)))
        arrives = min(order, world.room) if world.after else 0.0
        if ends:
            total += chance * DISCOUNT * grid_value(ahead[0], available / STEPS[1], arrives / STEPS[0])
        elif world.netted and available + order > each:
            then = min(available + order - each, world.room)
            total += chance * DISCOUNT * grid_value(ahead[0], each / STEPS[1], then / STEPS[0])
        else:
            hidden.append((each, 0.0 if world.netted else arrives))
    if hidden:
        mean = float(np.mean([each for each, _ in hidden]))
        follows = grid_value(ahead[min(layer + 1, LAYERS)], mean / STEPS[1], hidden[0][1] / STEPS[0])
        total += len(hidden) / len(demand) * DISCOUNT * follows
    return total


def at_sum(
    ahead: Floats, layer: int, stock: float, demand: Floats, price: float, order: float, world: Physics
) -> float:
    """Where stock and order count by their sum, the worth of the sum lies between those of the grid's stocks."""
    if world.after:
        return worth(ahead, layer, stock, demand, price, order, world)
    free = world._replace(room=np.inf)
    sums = np.arange(STOCKS) * STEPS[0]
    by_sum = [worth(ahead, layer, each, demand, price, 0.0, free) for each in sums]
    cost = world.order_cost * order + world.fixed_order_cost * (order > 0)
    return float(np.interp(min(stock + order, world.room), sums, by_sum)) - cost


@pytest.mark.parametrize("world", WORLDS, ids=str)
def test_a_sweep_is_the_sum_over_demands(world: Physics) -> None:
    rng = np.random.default_rng(5)
    values = rng.normal(size=(CELLS, LAYERS + 1, LAGS, STOCKS))
    following = rng.normal(size=(NODES, LAYERS + 1, LAGS, STOCKS)) * 3
    atoms = np.sort(rng.integers(0, 7, size=(3, 2, len(PRICES), LAGS, 8)) * rng.choice([1.0, 0.75]), axis=-1)
    cell_index, node = np.array([0, 1, 1]), np.zeros((CELLS, len(PRICES)), dtype=np.int64)
    part = rng.random((CELLS, len(PRICES)))
    may = np.ones(len(PRICES) * len(ORDERS), dtype=bool)
    may[3] = False
    best = np.zeros(values.shape, dtype=np.int64)
    stocks = STEPS[0] * np.arange(STOCKS)

    def sweep(greedy: bool) -> None:
        bellman.sweep(
            values, following, best, greedy, atoms, cell_index, node, part, PRICES, ORDERS, may, stocks, world,
            DISCOUNT, STEPS,
        )  # fmt: skip

    sweep(greedy=True)
    for cell, layer, lag, y in [(0, 0, 0, 0), (1, 1, 2, 3), (2, 2, 4, 6), (0, 2, 1, 5), (2, 0, 3, 2), (1, 2, 0, 4)]:
        found = []
        for p, o in product(range(len(PRICES)), range(len(ORDERS))):
            ahead = following[0] * (1 - part[cell, p]) + following[1] * part[cell, p]
            demand = atoms[layer, cell_index[cell], p, lag]
            barred = not may[p * len(ORDERS) + o] or (world.forbids and o > 0 and stocks[y] + ORDERS[o] > world.room)
            value = at_sum(ahead, layer, stocks[y], demand, PRICES[p], ORDERS[o], world)
            found.append(-np.inf if barred else value)
        assert values[cell, layer, lag, y] == pytest.approx(max(found), abs=1e-9)
        assert best[cell, layer, lag, y] == int(np.argmax(found))
    before = values.copy()
    sweep(greedy=False)  # the same following, the same actions
    np.testing.assert_allclose(values, before, atol=1e-9)
