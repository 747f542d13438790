"""The compiled sweep against expected values written out, one demand at a time."""

from itertools import product

import numpy as np
import pytest

from lostsales.data.economics import UNBOUNDED, StockFlow, UnitCosts
from lostsales.learn.planner.bellman_loops import Transitions, sweep
from lostsales.learn.planner.physics import Physics
from lostsales.learn.planner.state_grid import Dynamics, StateGrid
from lostsales.types import Floats

PRICES, ORDERS = np.array([2.0, 3.5]), np.array([0.0, 1.0, 2.5, 6.0])
STEPS, DEPTH_CAP, LAGS, STOCKS, CELLS, NODES = (1.0, 1.5), 2, 5, 7, 3, 2
DISCOUNT, MOST_ON_THE_WAY = 0.9, 7.0
WORLDS = [
    Physics(
        StockFlow(before, netted, capacity, forbids, MOST_ON_THE_WAY, longest_run),
        UnitCosts(lost=2.0, order=1.0, holding=0.3, fixed_order=0.7),
        strict,
        DEPTH_CAP,
    )
    for before, netted, strict, longest_run, (forbids, capacity) in product(
        (True, False),
        (False, True),
        (False, True),
        (UNBOUNDED, DEPTH_CAP),
        ((False, np.inf), (False, 5.5), (True, 5.5)),
    )
    if not (before and netted)
]


def grid_value(values: Floats, row: float, position: float) -> float:
    """Linear in each coordinate, constant beyond the ends."""
    at_row = [float(np.interp(position, np.arange(values.shape[1]), each)) for each in values]
    return float(np.interp(row, np.arange(len(values)), at_row))


def action_value(
    next_values: Floats,
    depth: int,
    stock: float,
    demand: Floats,
    price: float,
    order: float,
    world: Physics,
    remembered: tuple[float, float] = (1.0, 0.0),
) -> float:
    """Expected profit and discounted next value; a hidden demand enters by its mean.

    The next lag is the demand times the first number that is `remembered`, and the second.
    """

    def lag_position(units: float) -> float:
        return (remembered[0] * units + remembered[1]) / STEPS[1]

    flow, costs = world.flow, world.costs
    available = min(stock + order, flow.capacity) if flow.before else stock
    total, hidden = -costs.order * order - costs.fixed_order * (order > 0), []
    truncated = depth == flow.longest_run
    for each in demand:
        probability = 1 / len(demand)
        if each < available or (world.strict and each == available):
            left = available - each
            stock_tp1 = left if flow.before else min(left + order, flow.capacity)
            profit = price * each - costs.holding * left
            value = grid_value(next_values[0], lag_position(each), stock_tp1 / STEPS[0])
            total += probability * (profit + DISCOUNT * value)
            continue
        total += probability * (price * available - (0 if truncated else costs.lost * (each - available)))
        arrives = 0.0 if flow.before else min(order, flow.capacity)
        if truncated:
            total += probability * DISCOUNT * grid_value(next_values[0], lag_position(available), arrives / STEPS[0])
        elif flow.netted and available + order > each:
            stock_tp1 = min(available + order - each, flow.capacity)
            total += probability * DISCOUNT * grid_value(next_values[0], lag_position(each), stock_tp1 / STEPS[0])
        else:
            hidden.append((each, 0.0 if flow.netted else arrives))
    if hidden:
        mean = float(np.mean([each for each, _ in hidden]))
        value = grid_value(next_values[min(depth + 1, DEPTH_CAP)], lag_position(mean), hidden[0][1] / STEPS[0])
        total += len(hidden) / len(demand) * DISCOUNT * value
    return float(total)


def action_value_on_grid(
    next_values: Floats,
    depth: int,
    stock: float,
    demand: Floats,
    price: float,
    order: float,
    world: Physics,
    remembered: tuple[float, float] = (1.0, 0.0),
) -> float:
    """Where orders arrive before the sales, the value of stock + order is interpolated between the grid's stocks."""
    if not world.flow.before:
        return action_value(next_values, depth, stock, demand, price, order, world, remembered)
    unlimited = world._replace(flow=world.flow._replace(capacity=np.inf))
    sums = np.arange(STOCKS) * STEPS[0]
    by_sum = [action_value(next_values, depth, each, demand, price, 0.0, unlimited, remembered) for each in sums]
    cost = world.costs.order * order + world.costs.fixed_order * (order > 0)
    return float(np.interp(min(stock + order, world.flow.capacity), sums, by_sum) - cost)


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("world", WORLDS, ids=str)
def test_a_sweep_is_the_maximum_of_expected_values_over_actions(world: Physics, parts: int) -> None:
    rng = np.random.default_rng(5)
    values = rng.normal(size=(CELLS, DEPTH_CAP + 1, LAGS, STOCKS))
    by_node = rng.normal(size=(NODES, DEPTH_CAP + 1, LAGS, STOCKS)) * 3
    atoms = np.sort(rng.integers(0, 7, size=(3, 2, len(PRICES), LAGS, 8)) * rng.choice([1.0, 0.75]), axis=-1)
    z_node, w_node = np.array([0, 1, 1]), np.zeros((CELLS, len(PRICES)), dtype=np.int64)
    weight = rng.random((CELLS, len(PRICES)))
    allowed = np.ones(len(PRICES) * len(ORDERS), dtype=bool)
    allowed[3] = False
    best = np.zeros(values.shape, dtype=np.int64)
    stocks, lags = STEPS[0] * np.arange(float(STOCKS)), STEPS[1] * np.arange(float(LAGS))
    grid = StateGrid(stocks, lags, PRICES, ORDERS, parts)  # with two parts all orders are whole, with one not
    transitions, dynamics = Transitions(atoms, z_node, w_node, weight), Dynamics(world, DISCOUNT, *STEPS)

    sweep(values, best, True, by_node, transitions, allowed, grid, dynamics)
    for cell, depth, lag, y in [(0, 0, 0, 0), (1, 1, 2, 3), (2, 2, 4, 6), (0, 2, 1, 5), (2, 0, 3, 2), (1, 2, 0, 4)]:
        found = []
        stock = grid.stocks[y]
        for p, o in product(range(len(PRICES)), range(len(ORDERS))):
            next_values = by_node[0] * (1 - weight[cell, p]) + by_node[1] * weight[cell, p]
            demand = atoms[depth, z_node[cell], p, lag]
            beyond_capacity = world.flow.forbids and o > 0 and stock + ORDERS[o] > world.flow.capacity
            value = action_value_on_grid(next_values, depth, stock, demand, PRICES[p], ORDERS[o], world)
            found.append(value if allowed[p * len(ORDERS) + o] and not beyond_capacity else -np.inf)
        assert values[cell, depth, lag, y] == pytest.approx(max(found), abs=1e-9)
        assert best[cell, depth, lag, y] == int(np.argmax(found))
    before = values.copy()
    sweep(values, best, False, by_node, transitions, allowed, grid, dynamics)  # the same next values and actions
    np.testing.assert_allclose(values, before, atol=1e-9)
