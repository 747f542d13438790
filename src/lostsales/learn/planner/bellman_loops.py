"""Compiled sweep of the dynamic program over all states: greedy, or evaluation of the last greedy actions."""

from typing import NamedTuple

import numpy as np

from lostsales._jit import compiled
from lostsales.data.economics import order_cost, stocked
from lostsales.learn.planner.lookahead_loops import (
    NEGLIGIBLE,
    Today,
    after_stock_out,
    distinct_demands,
    expected_values,
    interpolate,
    interpolate_2d,
    interpolate_demands,
    interpolate_next_values,
    is_observed,
    nodes_around,
    period_outcome,
)
from lostsales.learn.planner.state_grid import Dynamics, StateGrid
from lostsales.types import Bools, Floats, Ints


class Transitions(NamedTuple):
    """The law of demand, and how the market state moves among its cells."""

    demand: Floats  # (belief shapes, z nodes, prices, lags, atoms) equally likely, rising
    z_node: Ints  # (cells,)
    w_node: Ints  # (cells, prices) node at or below w
    w_weight: Floats  # (cells, prices) of the node above

    def of_cells(self, cells: slice) -> "Transitions":
        """Some of the cells."""
        return Transitions(self.demand, self.z_node[cells], self.w_node[cells], self.w_weight[cells])


class Orders(NamedTuple):
    """Orders in units of a grid of stocks, every array (orders,)."""

    cost: Floats
    most: Floats  # the largest stock at which an order is allowed
    parts: Ints  # of a step of the stock; -1 where that is no whole number, or a netted stock reveals demands
    node: Ints  # at or below a stock of the order alone, within the capacity ...
    weight: Floats  # ... and the weight of the node above


@compiled
def _orders_of(orders: Floats, grid: StateGrid, dynamics: Dynamics) -> Orders:
    physics, step = dynamics.physics, dynamics.stock_step
    count, part = len(orders), step / grid.parts
    cost, most, weight = np.empty(count), np.full(count, np.inf), np.empty(count)
    parts, node = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    for o in range(count):
        cost[o] = order_cost(orders[o], physics.costs)
        if physics.flow.forbids and o > 0:
            most[o] = physics.flow.capacity - orders[o] + 1e-9
        parts[o] = int(np.rint(orders[o] / part))
        node[o], weight[o] = nodes_around(stocked(0.0, parts[o] * part, physics.flow) / step, len(grid.stocks) - 1)
        if abs(orders[o] - parts[o] * part) > 1e-9 * step or physics.flow.netted:
            parts[o] = -1
    return Orders(cost, most, parts, node, weight)


@compiled
def _add_observed(
    ahead: Floats, first: int, parts: int, probability: float, values: Floats, lag: float, at: float, most: float
) -> None:
    """Add a probability times values (lags, stocks) at the stocks `at`, `at` + 1, ..., which are at most `most`.

    They are added to the places of `ahead` from the first on that are `parts` apart; the lag is a position, too.
    """
    row, across = nodes_around(lag, len(values) - 1)
    first, low = max(first, 0), max(int(at), 0)
    up = at - low
    a, b = probability * (1 - across) * (1 - up), probability * across * (1 - up)
    c, d = probability * (1 - across) * up, probability * across * up
    between = max(min(int(np.ceil(most - at)), values.shape[1] - 1 - low), 0)
    if parts == 1 and up == 0:  # the usual case
        for j in range(max(min(between, len(ahead) - first), 0)):
            ahead[first + j] += a * values[row, low + j] + b * values[row + 1, low + j]
    else:
        for j in range(min(between, len(range(first, len(ahead), parts)))):
            below = a * values[row, low + j] + b * values[row + 1, low + j]
            ahead[first + j * parts] += below + c * values[row, low + j + 1] + d * values[row + 1, low + j + 1]
    if first + between * parts < len(ahead):
        beyond = probability * interpolate_2d(values, lag, most)
        for x in range(first + between * parts, len(ahead), parts):
            ahead[x] += beyond


@compiled
def _values_of_orders(
    q: Floats, own: Ints, today: Today, by_order: Floats, orders: Ints, parts: int, most: float, dynamics: Dynamics
) -> None:
    """`expected_values` of every order and stock, (orders, stocks); of one order for each stock where `own` says which.

    What follows an observed demand depends on stock + order alone, so that sums over demands are shared: as the stock
    rises, further demands become observed and are added. Stock + order is counted in parts of a step of the stock, as
    `orders` are, and is at most `most` steps. `by_order` is (depths, lags, orders): what follows a hidden demand.
    """
    demand, probability, next_values, _, price, depth, stays = today
    physics, discount, step, lag_step, memory = dynamics
    n_orders, n_stocks = q.shape
    ahead = np.zeros(n_stocks * parts + max(orders.max(), 0) + 1)  # by stock + order, after observed demands
    mean_demand = 0.0
    for k in range(len(demand)):
        mean_demand += probability[k] * demand[k]
    truncated, next_depth = after_stock_out(depth, physics)
    hidden = by_order[next_depth]
    n_observed, p_observed, demand_observed = 0, 0.0, 0.0
    for y in range(n_stocks):
        available = y * step
        while n_observed < len(demand):
            if not is_observed(available - demand[n_observed], physics):
                break
            k = n_observed
            next_lag = (memory.weight * demand[k] + stays) / lag_step
            for part in range(parts):
                at = y + part / parts - demand[k] / step
                _add_observed(ahead, y * parts + part, parts, probability[k], next_values[0], next_lag, at, most)
            p_observed += probability[k]
            demand_observed += probability[k] * demand[k]
            n_observed += 1
        if len(own) and own[y] < 0:
            continue
        p_hidden = 0.0 if n_observed == len(demand) else 1.0 - p_observed
        profit, mean = period_outcome(
            p_hidden, p_observed, demand_observed, mean_demand, price, available, truncated, physics
        )
        first, stop = (own[y], own[y] + 1) if len(own) else (0, n_orders)
        for o in range(first, stop):
            q[o, y] = profit + discount * ahead[y * parts + max(orders[o], 0)]
        if p_hidden > NEGLIGIBLE:
            row, weight = nodes_around((memory.weight * mean + stays) / lag_step, len(hidden) - 1)
            below, above = discount * p_hidden * (1 - weight), discount * p_hidden * weight
            for o in range(first, stop):
                q[o, y] += hidden[row, o] * below + hidden[row + 1, o] * above


@compiled
def _values_one_by_one(q: Floats, own: Ints, today: Today, orders: Orders, grid: StateGrid, dynamics: Dynamics) -> None:
    """`expected_values` of the orders that are no whole number of parts, in their places of (orders, stocks)."""
    for o in range(len(q)):
        for y in range(q.shape[1] if orders.parts[o] < 0 else 0):
            if len(own) == 0 or own[y] == o:
                expected_values(q[o, y : y + 1], today, grid.stocks[y], grid.orders[o : o + 1], dynamics)


@compiled
def _values_of_sums(q: Floats, own: Ints, by_sum: Floats, orders: Floats, dynamics: Dynamics) -> None:
    """Values of stock + order, (sums,) on the grid of stocks, as those of every order and stock, (orders, stocks)."""
    n_orders, n_stocks = q.shape
    step = dynamics.stock_step
    most = min(dynamics.physics.flow.capacity / step, n_stocks - 1)
    at_most = interpolate(by_sum, most)
    for y in range(len(own)):
        position = y + orders[max(own[y], 0)] / step
        q[max(own[y], 0), y] = at_most if position >= most else interpolate(by_sum, position)
    for o in range(n_orders if len(own) == 0 else 0):
        whole = max(int(orders[o] / step), 0)
        weight = orders[o] / step - whole
        below = min(max(int(np.ceil(most - orders[o] / step)), 0), n_stocks)
        for y in range(below):
            q[o, y] = by_sum[y + whole] * (1 - weight) + by_sum[y + whole + 1] * weight
        for y in range(below, n_stocks):
            q[o, y] = at_most


@compiled
def _by_order(next_values: Floats, orders: Orders, by_order: Floats) -> None:
    """Next values (depths, lags, stocks) at a stock of each order alone, (depths, lags, orders)."""
    n_depths, n_lags, n_orders = by_order.shape
    for depth in range(n_depths):
        for lag in range(n_lags):
            values = next_values[depth, lag]
            for o in range(n_orders):
                node, weight = orders.node[o], orders.weight[o]
                by_order[depth, lag, o] = values[node] * (1 - weight) + values[node + 1] * weight


@compiled
def contains(best: Ints, first: int, count: int) -> bool:
    """True where any of the best actions is one of `count` from `first` on."""
    for action in best:  # noqa: SIM110, compiled code has no generators
        if first <= action < first + count:
            return True
    return False


@compiled
def _improve(value: Floats, best: Ints, q: Floats, first: int, allowed: Bools, orders: Orders, stocks: Floats) -> None:
    """Take an order where its value, (orders, stocks), less its cost is above the best so far."""
    for o in range(len(q)):
        if allowed[first + o]:
            cost, most, action = orders.cost[o], orders.most[o], first + o
            for y in range(len(value)):
                is_better = q[o, y] - cost > value[y] and stocks[y] <= most
                value[y] = q[o, y] - cost if is_better else value[y]
                best[y] = action if is_better else best[y]


@compiled
def sweep(
    values: Floats,
    best: Ints,
    greedy: bool,
    by_node: Floats,
    transitions: Transitions,
    allowed: Bools,
    grid: StateGrid,
    dynamics: Dynamics,
) -> None:
    """One sweep over all states: the best of all actions if `greedy`, else the value of the action in `best`.

    `values` and `best` (index of the action), both (cells, depths, lags, stocks), are overwritten; `by_node` is
    E[V(next state) | w], (w nodes, depths, lags, stocks); `allowed` is (actions,).
    """
    n_cells, n_depths, n_lags, n_stocks = values.shape
    stocks, prices, physics = grid.stocks, grid.prices, dynamics.physics
    after = not physics.flow.before
    atoms, z_node, w_node, w_weight = transitions
    n_atoms, n_orders = atoms.shape[4], len(grid.orders)
    next_values, by_demand = np.empty((n_depths, n_lags, n_stocks)), np.empty((n_atoms, n_stocks))
    demands, probabilities = np.empty(n_atoms), np.empty(n_atoms)
    orders = _orders_of(grid.orders, grid, dynamics)
    # Orders that arrive before the sales are part of the stock, and none is on its way.
    later, parts = (orders, grid.parts) if after else (_orders_of(np.zeros(1), grid, dynamics), 1)
    most = min(physics.flow.capacity / dynamics.stock_step, n_stocks - 1) if after else float(n_stocks - 1)
    by_order, q = np.empty((n_depths, n_lags, len(later.cost))), np.empty((n_orders, n_stocks))
    by_sum, own, every = np.empty((1, n_stocks)), np.empty(n_stocks, dtype=np.int64), np.empty(0, dtype=np.int64)
    needs_each = after and orders.parts.min() < 0  # orders are not whole, or reveal demands
    for cell in range(n_cells):
        if greedy:
            values[cell] = -np.inf
        for p in range(len(prices)):
            first, node, weight = p * n_orders, w_node[cell, p], w_weight[cell, p]
            if p == 0 or node != w_node[cell, p - 1] or weight != w_weight[cell, p - 1]:
                for depth in range(n_depths):
                    interpolate_next_values(by_node, node, weight, depth, (0, n_lags - 1), n_stocks, next_values)
                _by_order(next_values, later, by_order)
            for depth in range(n_depths):
                for lag in range(n_lags):
                    value, own_best = values[cell, depth, lag], best[cell, depth, lag]
                    wanted = every
                    if not greedy:
                        if not contains(own_best, first, n_orders):
                            continue
                        wanted = own
                        for y in range(n_stocks):
                            o = own_best[y] - first
                            own[y] = o if 0 <= o < n_orders else -1
                    own_atoms = atoms[min(depth, len(atoms) - 1), z_node[cell], p, lag]
                    count = distinct_demands(own_atoms, demands, probabilities)
                    demand, probability = demands[:count], probabilities[:count]
                    stays = dynamics.memory.carry * grid.lags[lag] + dynamics.memory.offset
                    if needs_each:
                        interpolate_demands(demand, stays, next_values[0], dynamics, n_stocks, by_demand)
                    today = Today(demand, probability, next_values, by_demand, prices[p], depth, stays)
                    if after:
                        _values_of_orders(q, wanted, today, by_order, orders.parts, parts, most, dynamics)
                        if needs_each:
                            _values_one_by_one(q, wanted, today, orders, grid, dynamics)
                    else:
                        _values_of_orders(by_sum, every, today, by_order, later.parts, parts, most, dynamics)
                        _values_of_sums(q, wanted, by_sum[0], grid.orders, dynamics)
                    if greedy:
                        _improve(value, own_best, q, first, allowed, orders, stocks)
                        continue
                    for y in range(n_stocks):
                        if own[y] >= 0:
                            value[y] = q[own[y], y] - orders.cost[own[y]]
