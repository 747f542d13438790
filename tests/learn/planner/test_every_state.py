"""Plans on every stock and pipeline: compiled loops against expected values written out, and the limit of states."""

from itertools import product

import numpy as np
import pytest

from lostsales.learn.planner.bellman_loops import Transitions
from lostsales.learn.planner.decision_loops import Rows
from lostsales.learn.planner.every_state_loops import Choices, every_state_values, sweep
from lostsales.learn.planner.latent_table import LatentTable
from lostsales.learn.planner.physics import Physics
from lostsales.learn.planner.pipeline_grid import PipelineGrid
from lostsales.learn.planner.state_grid import Dynamics, Memory
from lostsales.types import Floats
from tests.learn.planner.test_bellman_loops import (
    DEPTH_CAP,
    DISCOUNT,
    LAGS,
    MOST_ON_THE_WAY,
    PRICES,
    STEPS,
    STOCKS,
    WORLDS,
    action_value,
)

ORDERS = np.array([0.0, 1.0, 2.0, 3.5])  # the last one lies between nodes
GRID = PipelineGrid.of(STEPS[0], 2.0, STOCKS, 3, columns=2)
NODES, CELLS = len(GRID.nodes), 2
LATE = [world for world in WORLDS if not world.flow.before and not world.flow.netted]
MEMORY = Memory(0.6, 0.3, 0.4)


def value_of(
    next_values: Floats,
    depth: int,
    stock: float,
    pipeline: Floats,
    demand: Floats,
    price: float,
    order: float,
    world: Physics,
    remembered: tuple[float, float],
) -> float:
    """The order that arrives next is added to what is left; the others move up, and today's joins them."""
    by_pipeline = next_values.reshape(*next_values.shape[:-1], NODES, NODES)
    corners = [_corners(each) for each in (pipeline[1], order)]
    mixed = sum(a * b * by_pipeline[..., i, j] for (i, a), (j, b) in product(*corners))
    free = world._replace(costs=world.costs._replace(order=0.0, fixed_order=0.0))
    cost = world.costs.order * order + world.costs.fixed_order * (order > 0)
    found = action_value(np.asarray(mixed), depth, stock, demand, price, float(pipeline[0]), free, remembered)
    return found - float(cost)


def _corners(units: float) -> list[tuple[int, float]]:
    position = min(units / GRID.nodes[1], NODES - 1.0)
    low = int(position)
    return [(low, 1 - position + low), (min(low + 1, NODES - 1), position - low)]


@pytest.mark.parametrize("world", LATE, ids=str)
def test_a_sweep_is_the_maximum_of_expected_values_over_actions(world: Physics) -> None:
    rng = np.random.default_rng(5)
    shape = DEPTH_CAP + 1, LAGS, STOCKS, GRID.pipelines
    values, by_node = rng.normal(size=(CELLS, *shape)), rng.normal(size=(2, *shape)) * 3
    atoms = np.sort(rng.integers(0, 7, size=(3, 2, len(PRICES), LAGS, 8)) * rng.choice([1.0, 0.75]), axis=-1)
    weight = rng.random((CELLS, len(PRICES)))
    transitions = Transitions(atoms, np.arange(CELLS), np.zeros((CELLS, len(PRICES)), dtype=np.int64), weight)
    allowed = np.arange(len(PRICES) * len(ORDERS)) != 2
    choices = Choices(PRICES, ORDERS, allowed, GRID.orders_allowed(ORDERS, world.flow))
    best, dynamics = np.zeros(values.shape, dtype=np.int64), Dynamics(world, DISCOUNT, *STEPS, MEMORY)
    sweep(values, best, True, by_node, transitions, choices, GRID, dynamics)
    for _ in range(12):
        cell, depth, lag, y, s = (int(rng.integers(size)) for size in values.shape)
        stock, pipeline = GRID.stocks[y], GRID.nodes[[s // NODES, s % NODES]]
        found = []
        for p, o in product(range(len(PRICES)), range(len(ORDERS))):
            next_values = by_node[0] * (1 - weight[cell, p]) + by_node[1] * weight[cell, p]
            room = min(MOST_ON_THE_WAY, world.flow.capacity - stock if world.flow.forbids else np.inf) - pipeline.sum()
            value = value_of(
                next_values,
                depth,
                stock,
                pipeline,
                atoms[depth, cell, p, lag],
                PRICES[p],
                ORDERS[o],
                world,
                (MEMORY.weight, MEMORY.carry * lag * STEPS[1] + MEMORY.offset),
            )
            found.append(value if allowed[p * len(ORDERS) + o] and ORDERS[o] <= max(room, 0.0) else -np.inf)
        assert values[cell, depth, lag, y, s] == pytest.approx(max(found), abs=1e-9)
        assert best[cell, depth, lag, y, s] == int(np.argmax(found))
    before = values.copy()
    sweep(values, best, False, by_node, transitions, choices, GRID, dynamics)  # the same next values and actions
    np.testing.assert_allclose(values, before, atol=1e-9)


@pytest.mark.parametrize("world", LATE, ids=str)
def test_a_decision_has_the_value_written_out_wherever_stock_and_orders_lie(world: Physics) -> None:
    """Between nodes of stock, orders on the way and market, and beyond the largest of them."""
    rng = np.random.default_rng(6)
    by_node = rng.normal(size=(2, DEPTH_CAP + 1, LAGS, STOCKS, GRID.pipelines))
    latents = np.sort(rng.integers(0, 7, size=(3, 1, len(PRICES), LAGS, 8)).astype(float), axis=-1)
    table = LatentTable(latents, STEPS[1], False, True, True, 100.0)
    stock, lag = np.array([0.0, 1.3, 4.0, 9.0]), STEPS[1] * np.array([0.0, 1.0, 2.0, 3.0])
    pipeline = np.array([[0.0, 0.0], [1.5, 3.0], [4.0, 0.7], [6.0, 5.0]])
    depth, w = np.array([0, 1, 2, 2]), np.array([0.0, 0.3, 1.0, 0.5])
    rows, price, stays = len(stock), np.tile(PRICES, (4, 1)), np.array([0.0, 0.5, 1.2, 2.0])
    open_rows = Rows(
        z_position=np.zeros(rows),
        w_position=np.repeat(w[:, None], len(PRICES), axis=1),
        depth=depth,
        lag=lag,
        stays=stays,
        stock=stock,
        price=price,
        price_position=np.tile(np.arange(len(PRICES), dtype=float), (rows, 1)),
        order=np.tile(ORDERS, (rows, 1)),
        pipeline=pipeline,
        phase=np.zeros(rows, dtype=np.int64),
    )
    q = np.empty((rows, len(PRICES) * len(ORDERS)))
    every_state_values(q, open_rows, table, by_node, GRID, Dynamics(world, DISCOUNT, *STEPS, MEMORY))
    for row in range(rows):
        next_values = by_node[0] * (1 - w[row]) + by_node[1] * w[row]
        wanted = [
            value_of(
                next_values,
                depth[row],
                stock[row],
                pipeline[row],
                latents[depth[row], 0, p, row],
                PRICES[p],
                order,
                world,
                (MEMORY.weight, stays[row]),
            )
            for p, order in product(range(len(PRICES)), ORDERS)
        ]
        assert q[row] == pytest.approx(np.array(wanted), abs=1e-9)
