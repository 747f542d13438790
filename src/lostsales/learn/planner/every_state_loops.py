"""Compiled sweeps and decisions of a plan on every state of stock and orders on the way.

What is left of today's stock and the order that arrives next add up to the stock of the next period; the order of today
joins the end of the pipeline. So what follows an observed demand depends on the sum of stock and arriving order, and
sums over demands are shared by all stocks: as the stock rises, further demands become observed and are added.
"""

from typing import NamedTuple

import numpy as np

from lostsales._jit import compiled
from lostsales.data.economics import order_cost, sales_profit, stocked
from lostsales.learn.planner.bellman_loops import Transitions, contains
from lostsales.learn.planner.decision_loops import Rows, demand_atoms
from lostsales.learn.planner.latent_table import LatentTable
from lostsales.learn.planner.lookahead_loops import (
    NEGLIGIBLE,
    after_stock_out,
    distinct_demands,
    interpolate,
    is_observed,
    nodes_around,
    period_outcome,
)
from lostsales.learn.planner.pipeline_grid import PipelineGrid
from lostsales.learn.planner.state_grid import Dynamics
from lostsales.types import Bools, Floats, Ints


class Choices(NamedTuple):
    """Actions of a plan; an action is price * orders + order."""

    prices: Floats  # (prices,)
    orders: Floats  # (orders,) rising
    allowed: Bools  # (actions,)
    n_allowed: Ints  # (stocks, pipelines) how many of the orders, from the smallest


class _OpenPeriod(NamedTuple):
    """The law of demand in a state at a price, and the values that follow."""

    demand: Floats  # (demands,) rising
    probability: Floats  # (demands,)
    next_values: Floats  # (depths, lags, stocks, pipelines)
    price: float
    depth: int
    stays: float  # of the earlier demands in the next lag


@compiled
def _between(values: Floats, lag: tuple[int, float], stock: tuple[int, float], pipeline: int) -> float:
    """A value of (lags, stocks, pipelines) between two lags and two stocks."""
    row, across = lag
    low, up = stock
    found: float = (1 - across) * values[row, low, pipeline] + across * values[row + 1, low, pipeline]
    if up > 0:
        above = (1 - across) * values[row, low + 1, pipeline] + across * values[row + 1, low + 1, pipeline]
        found += up * (above - found)
    return found


@compiled
def _add(total: Floats, weight: float, values: Floats, lag: tuple[int, float], stock: tuple[int, float]) -> None:
    """Add values (lags, stocks, pipelines) between two lags and two stocks, times a weight."""
    row, across = lag
    low, up = stock
    for i in range(2):
        of_lag = weight * (across if i else 1 - across)
        if of_lag == 0:
            continue
        for j in range(2):
            own = of_lag * (up if j else 1 - up)
            if own == 0:
                continue
            added = values[row + i, low + j]
            for s in range(len(total)):
                total[s] += own * added[s]


@compiled
def _add_observed(
    ahead: Floats, first: int, weight: float, values: Floats, lag: tuple[int, float], demand: float, most: float
) -> None:
    """Add values (lags, stocks, pipelines) after a demand to all sums of stock and arriving order from `first` on.

    Demand and the most that fits into the store are in steps of the stock. What is left lies equally far between two
    stocks for all sums, until the store is full.
    """
    row, across = lag
    whole = int(np.ceil(demand))
    above = whole - demand  # weight of the stock above the one at sum - whole
    fitting = min(int(most + demand) + 1, len(ahead))
    a, b = weight * (1 - across) * (1 - above), weight * across * (1 - above)
    c, d = weight * (1 - across) * above, weight * across * above
    for x in range(first, fitting):
        low = x - whole
        high = min(low + 1, values.shape[1] - 1)
        if above == 0:
            for s in range(ahead.shape[1]):
                ahead[x, s] += a * values[row, low, s] + b * values[row + 1, low, s]
        else:
            for s in range(ahead.shape[1]):
                ahead[x, s] += a * values[row, low, s] + b * values[row + 1, low, s]
                ahead[x, s] += c * values[row, high, s] + d * values[row + 1, high, s]
    for x in range(max(fitting, first), len(ahead)):
        _add(ahead[x], weight, values, lag, nodes_around(most, values.shape[1] - 1))


@compiled
def _sweep_stocks(
    value: Floats,
    best: Ints,
    greedy: bool,
    first: int,
    today: _OpenPeriod,
    choices: Choices,
    grid: PipelineGrid,
    dynamics: Dynamics,
    memory: tuple[Floats, Floats],
) -> None:
    """Take better actions of one price where greedy, else evaluate those taken; `value` is (stocks, pipelines).

    `memory` is for what follows observed demands by stock and arriving order together, (sums, pipelines), and for what
    follows by the order of today, (nodes,).
    """
    demand, probability, next_values, price, depth, stays = today
    physics, discount, step, lag_step, lags = dynamics
    ahead, later = memory
    n_stocks, n_pipes = value.shape
    n_nodes, n_orders = len(grid.nodes), len(choices.orders)
    rests, top, last_lag = n_pipes // n_nodes, n_stocks - 1, next_values.shape[1] - 1
    most, node_step = min(physics.flow.capacity / step, float(top)), grid.nodes[1] if n_nodes > 1 else 1.0
    truncated, next_depth = after_stock_out(depth, physics)
    hidden = next_values[next_depth]
    places, ups, costs = np.empty(n_orders, dtype=np.int64), np.empty(n_orders), np.empty(n_orders)
    for o in range(n_orders):
        places[o], ups[o] = nodes_around(choices.orders[o] / node_step, n_nodes - 1)
        costs[o] = order_cost(choices.orders[o], physics.costs)
    mean_demand = 0.0
    for k in range(len(demand)):
        mean_demand += probability[k] * demand[k]
    ahead[:] = 0.0
    n_observed, p_observed, demand_observed = 0, 0.0, 0.0
    for y in range(n_stocks):
        available = y * step
        while n_observed < len(demand):
            if not is_observed(available - demand[n_observed], physics):
                break
            lag = nodes_around((lags.weight * demand[n_observed] + stays) / lag_step, last_lag)
            _add_observed(ahead, y, probability[n_observed], next_values[0], lag, demand[n_observed] / step, most)
            p_observed += probability[n_observed]
            demand_observed += probability[n_observed] * demand[n_observed]
            n_observed += 1
        p_hidden = 0.0 if n_observed == len(demand) else 1.0 - p_observed
        profit, mean = period_outcome(
            p_hidden, p_observed, demand_observed, mean_demand, price, available, truncated, physics
        )
        lag = 0, 0.0
        if p_hidden > NEGLIGIBLE:
            lag = nodes_around((lags.weight * mean + stays) / lag_step, last_lag)
        for arriving in range(n_nodes):
            x, stock = y + arriving * grid.steps, nodes_around(min(float(arriving * grid.steps), most), top)
            for rest in range(rests):
                s, base = arriving * rests + rest, rest * n_nodes
                if greedy:
                    for j in range(n_nodes):
                        unseen = p_hidden * _between(hidden, lag, stock, base + j)
                        later[j] = profit + discount * (ahead[x, base + j] + unseen)
                elif first <= best[y, s] < first + n_orders:
                    o = best[y, s] - first
                    at = places[o]
                    for j in range(at, min(at + 2, n_nodes)):
                        unseen = p_hidden * _between(hidden, lag, stock, base + j)
                        later[j] = profit + discount * (ahead[x, base + j] + unseen)
                    value[y, s] = later[at] - costs[o]
                    if ups[o] > 0:
                        value[y, s] += ups[o] * (later[at + 1] - later[at])
                    continue
                else:
                    continue
                for o in range(choices.n_allowed[y, s]):
                    q = later[places[o]] - costs[o]
                    if ups[o] > 0:
                        q += ups[o] * (later[places[o] + 1] - later[places[o]])
                    if q > value[y, s] and choices.allowed[first + o]:
                        value[y, s], best[y, s] = q, first + o


@compiled
def sweep(
    values: Floats,
    best: Ints,
    greedy: bool,
    by_node: Floats,
    transitions: Transitions,
    choices: Choices,
    grid: PipelineGrid,
    dynamics: Dynamics,
) -> None:
    """One sweep over all states: the best of all actions if `greedy`, else the value of the action in `best`.

    `values` and `best`, both (cells, depths, lags, stocks, pipelines), are overwritten; `by_node` is
    E[V(next state) | w], (w nodes, depths, lags, stocks, pipelines).
    """
    n_cells, n_depths, n_lags, n_stocks, n_pipes = values.shape
    atoms, z_node, w_node, w_weight = transitions
    n_atoms, n_orders, n_nodes = atoms.shape[4], len(choices.orders), len(grid.nodes)
    next_values = np.empty(values.shape[1:])
    demands, probabilities = np.empty(n_atoms), np.empty(n_atoms)
    sums = n_stocks + grid.steps * (n_nodes - 1)
    memory = np.empty((sums, n_pipes)), np.empty(n_nodes)
    for cell in range(n_cells):
        if greedy:
            values[cell] = -np.inf
        for p in range(len(choices.prices)):
            first, node, weight = p * n_orders, w_node[cell, p], w_weight[cell, p]
            next_values[:] = by_node[node]
            if weight > 0:
                next_values[:] = next_values * (1 - weight) + by_node[node + 1] * weight
            for depth in range(n_depths):
                for lag in range(n_lags):
                    value, own_best = values[cell, depth, lag], best[cell, depth, lag]
                    if not greedy and not contains(own_best.ravel(), first, n_orders):
                        continue
                    own_atoms = atoms[min(depth, len(atoms) - 1), z_node[cell], p, lag]
                    count = distinct_demands(own_atoms, demands, probabilities)
                    law = demands[:count], probabilities[:count]
                    stays = dynamics.memory.carry * lag * dynamics.lag_step + dynamics.memory.offset
                    today = _OpenPeriod(*law, next_values, choices.prices[p], depth, stays)
                    _sweep_stocks(value, own_best, greedy, first, today, choices, grid, dynamics, memory)


@compiled
def _rest(corner: int, pipeline: Floats, node_step: float, n_nodes: int) -> tuple[int, float]:
    """A corner of the cell of nodes in which the orders after the first lie: its place among pipelines, its weight."""
    place, weight = 0, 1.0
    for column in range(1, len(pipeline)):
        low, up = nodes_around(pipeline[column] / node_step, n_nodes - 1)
        above = (corner >> (column - 1)) & 1
        weight *= up if above else 1 - up
        place = (place + min(low + above, n_nodes - 1)) * n_nodes
    return place, weight


@compiled
def every_state_values(
    q: Floats, rows: Rows, table: LatentTable, by_node: Floats, grid: PipelineGrid, dynamics: Dynamics
) -> None:
    """Q of every action by one-period lookahead, (rows, actions); `by_node` is E[V(next state) | w]."""
    physics, discount, step, lag_step, lags = dynamics
    n_w, n_depths, n_lags, n_stocks, _ = by_node.shape
    n_atoms, n_orders, n_nodes = table.latents.shape[4], rows.order.shape[1], len(grid.nodes)
    node_step = grid.nodes[1] if n_nodes > 1 else 1.0
    atoms, demands, probabilities = np.empty(n_atoms), np.empty(n_atoms), np.empty(n_atoms)
    later = np.empty(n_nodes)
    for row in range(len(rows.stock)):
        depth, available, arriving = min(rows.depth[row], n_depths - 1), rows.stock[row], rows.pipeline[row, 0]
        truncated, next_depth = after_stock_out(depth, physics)
        for p in range(rows.price.shape[1]):
            place = rows.z_position[row], rows.price_position[row, p]
            demand_atoms(table, depth, *place, rows.lag[row], atoms)
            count = distinct_demands(atoms, demands, probabilities)
            w = nodes_around(rows.w_position[row, p], n_w - 1)
            sold, leftover, p_hidden, excess = 0.0, 0.0, 0.0, 0.0
            later[:] = 0.0
            for k in range(count + 1):
                chance, own_depth, lag, left = p_hidden, next_depth, available, 0.0
                if k < count:
                    left = available - demands[k]
                    if not is_observed(left, physics):
                        p_hidden += probabilities[k]
                        excess -= probabilities[k] * left
                        continue
                    chance, own_depth, lag = probabilities[k], 0, demands[k]
                    sold, leftover = sold + chance * demands[k], leftover + chance * left
                elif not truncated and p_hidden > NEGLIGIBLE:
                    lag += excess / p_hidden
                if chance <= NEGLIGIBLE:
                    continue
                at = (
                    nodes_around((lags.weight * lag + rows.stays[row]) / lag_step, n_lags - 1),
                    nodes_around(stocked(left, arriving, physics.flow) / step, n_stocks - 1),
                )
                for corner in range(1 << (grid.columns - 1)):
                    base, weight = _rest(corner, rows.pipeline[row], node_step, n_nodes)
                    for i in range(2):
                        own = chance * weight * (w[1] if i else 1 - w[1])
                        if own > 0:
                            _add(later, own, by_node[w[0] + i, own_depth, :, :, base : base + n_nodes], *at)
            sold += p_hidden * available
            profit = sales_profit(rows.price[row, p], sold, 0.0 if truncated else excess, leftover, physics.costs)
            for o in range(n_orders):
                order = rows.order[row, o]
                value = profit + discount * interpolate(later, order / node_step)
                q[row, p * n_orders + o] = value - order_cost(order, physics.costs)
