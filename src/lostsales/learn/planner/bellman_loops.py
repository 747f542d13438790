"""Compiled sweep of the dynamic program over all states: greedy, or evaluation of the last greedy actions."""

from typing import NamedTuple

import numpy as np

from lostsales._jit import compiled
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
    order_cost,
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
        """Those of some cells."""
        return Transitions(self.demand, self.z_node[cells], self.w_node[cells], self.w_weight[cells])


@compiled
def _values_by_available(q: Floats, today: Today, dynamics: Dynamics) -> None:
    """`expected_values` where all orders have arrived, for every stock at once: a demand shifts all of them alike."""
    demand, probability, next_values, by_demand, price, depth, stays = today
    physics, discount, step, lag_step, memory = dynamics
    n_stocks = len(q)
    q[:] = 0.0
    p_censored, excess = np.zeros(n_stocks), np.zeros(n_stocks)
    for k in range(len(demand)):
        whole = int(np.ceil(demand[k] / step))
        weight = whole - demand[k] / step  # of a step by which the least sufficient stock exceeds the demand
        sufficient = min(whole + 1 if weight == 0 and not physics.strict else whole, n_stocks)
        to_next = 1 if weight > 0 else 0
        for y in range(sufficient):
            p_censored[y] += probability[k]
            excess[y] += probability[k] * (demand[k] - y * step)
        for y in range(sufficient, n_stocks):
            left = y - whole
            value = by_demand[k, left] * (1 - weight) + by_demand[k, left + to_next] * weight
            profit = price * demand[k] - physics.holding_cost * (y * step - demand[k])
            q[y] += probability[k] * (profit + discount * value)
    truncated, next_depth = after_stock_out(depth, physics)
    for y in range(n_stocks):
        if p_censored[y] > 0:
            available = y * step
            mean = available if truncated else available + excess[y] / p_censored[y]
            lost = 0.0 if truncated else physics.lost_cost * excess[y]
            value = interpolate_2d(next_values[next_depth], (memory.weight * mean + stays) / lag_step, 0.0)
            q[y] += p_censored[y] * (price * available + discount * value) - lost


@compiled
def _values_of_orders(q: Floats, by_available: Floats, today: Today, grid: StateGrid, dynamics: Dynamics) -> None:
    """`expected_values` of every order and stock, (orders, stocks); from `by_available` where orders have arrived."""
    stocks, orders = grid.stocks, grid.orders
    physics, n_stocks, step = dynamics.physics, len(stocks), dynamics.stock_step
    if physics.after and physics.netted:
        for y in range(n_stocks):
            expected_values(q[:, y], today, stocks[y], orders, dynamics)
        return
    if physics.after:
        _values_of_later_orders(q, today, orders, grid.parts, dynamics)
        return
    top = min(physics.capacity / step, n_stocks - 1)
    at_top = interpolate(by_available, top)
    for o in range(len(orders)):
        whole = int(orders[o] / step)
        weight = orders[o] / step - whole
        below = min(max(int(np.ceil(top)) - whole - (1 if weight > 0 else 0), 0), n_stocks)
        for y in range(below):
            q[o, y] = by_available[y + whole] * (1 - weight) + by_available[y + whole + 1] * weight
        for y in range(below, n_stocks):
            position = y + orders[o] / step
            q[o, y] = at_top if position >= top else interpolate(by_available, position)


@compiled
def _values_of_later_orders(q: Floats, today: Today, orders: Floats, parts: int, dynamics: Dynamics) -> None:
    """`expected_values` of every order and stock, (orders, stocks), where orders arrive after sales.

    What follows an observed demand depends on stock + order alone, so that sums over demands are shared: as the stock
    rises, further demands become observed and are added. Stock + order is counted in parts of a step of the stock.
    """
    demand, probability, next_values, by_demand, price, depth, stays = today
    physics, discount, step, lag_step, memory = dynamics
    n_orders, n_stocks = q.shape
    top, part = n_stocks - 1, step / parts
    reach = n_stocks * parts + int(np.ceil(orders[n_orders - 1] / part)) + 1
    ahead = np.zeros(reach)  # by stock + order: expected value after the demands that are observed
    most = physics.capacity / step
    mean_demand = 0.0
    for k in range(len(demand)):
        mean_demand += probability[k] * demand[k]
    truncated, next_depth = after_stock_out(depth, physics)
    hidden = next_values[next_depth]
    last_lag = len(hidden) - 1
    n_observed, p_observed, demand_observed = 0, 0.0, 0.0
    for y in range(n_stocks):
        available = y * step
        while n_observed < len(demand):
            if not is_observed(available - demand[n_observed], physics):
                break
            k, position = n_observed, demand[n_observed] / step
            for x in range(y * parts, reach):
                at = min(min(x / parts - position, most), top)
                low = min(int(at), top - 1)
                weight = at - low
                ahead[x] += probability[k] * (by_demand[k, low] * (1 - weight) + by_demand[k, low + 1] * weight)
            p_observed += probability[k]
            demand_observed += probability[k] * demand[k]
            n_observed += 1
        p_hidden = 0.0 if n_observed == len(demand) else 1.0 - p_observed
        profit, mean = period_outcome(
            p_hidden, p_observed, demand_observed, mean_demand, price, available, truncated, physics
        )
        row, lag_weight = 0, 0.0
        if p_hidden > NEGLIGIBLE:
            row, lag_weight = nodes_around((memory.weight * mean + stays) / lag_step, last_lag)
        for o in range(n_orders):
            whole = int(np.rint(orders[o] / part))
            if abs(orders[o] - whole * part) > 1e-9 * step:
                expected_values(q[o : o + 1, y], today, available, orders[o : o + 1], dynamics)
                continue
            value = ahead[y * parts + whole]
            if p_hidden > NEGLIGIBLE:
                at = min(min(whole / parts, most), top)
                low = min(int(at), top - 1)
                weight = at - low
                below = hidden[row, low] * (1 - weight) + hidden[row, low + 1] * weight
                above = hidden[row + 1, low] * (1 - weight) + hidden[row + 1, low + 1] * weight
                value += p_hidden * (below * (1 - lag_weight) + above * lag_weight)
            q[o, y] = profit + discount * value


@compiled
def contains(best: Ints, first: int, count: int) -> bool:
    """Whether any of the best actions is one of `count` from `first` on."""
    for action in best:  # noqa: SIM110, compiled code has no generators
        if first <= action < first + count:
            return True
    return False


@compiled
def _improve(value: Floats, best: Ints, q: Floats, action: int, most: float, stocks: Floats) -> None:
    """Take an action where its value is above the best so far, at stocks up to `most`."""
    for y in range(len(value)):
        if q[y] > value[y] and stocks[y] <= most + 1e-9:
            value[y] = q[y]
            best[y] = action


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
    stocks, prices, orders, physics = grid.stocks, grid.prices, grid.orders, dynamics.physics
    atoms, z_node, w_node, w_weight = transitions
    n_atoms, n_orders = atoms.shape[4], len(orders)
    next_values, by_demand = np.empty((n_depths, n_lags, n_stocks)), np.empty((n_atoms, n_stocks))
    demands, probabilities = np.empty(n_atoms), np.empty(n_atoms)
    q, by_available, one = np.empty((n_orders, n_stocks)), np.empty(n_stocks), np.empty(1)
    for cell in range(n_cells):
        if greedy:
            values[cell] = -np.inf
        for p in range(len(prices)):
            first, node, weight = p * n_orders, w_node[cell, p], w_weight[cell, p]
            if p == 0 or node != w_node[cell, p - 1] or weight != w_weight[cell, p - 1]:
                for depth in range(n_depths):
                    interpolate_next_values(by_node, node, weight, depth, (0, n_lags - 1), n_stocks, next_values)
            for depth in range(n_depths):
                for lag in range(n_lags):
                    value, own_best = values[cell, depth, lag], best[cell, depth, lag]
                    if not greedy and not contains(own_best, first, n_orders):
                        continue
                    own_atoms = atoms[min(depth, len(atoms) - 1), z_node[cell], p, lag]
                    count = distinct_demands(own_atoms, demands, probabilities)
                    demand, probability = demands[:count], probabilities[:count]
                    stays = dynamics.memory.carry * grid.lags[lag] + dynamics.memory.offset
                    interpolate_demands(demand, stays, next_values[0], dynamics, n_stocks, by_demand)
                    today = Today(demand, probability, next_values, by_demand, prices[p], depth, stays)
                    if not physics.after:
                        _values_by_available(by_available, today, dynamics)
                    if greedy:
                        _values_of_orders(q, by_available, today, grid, dynamics)
                        for o in range(n_orders):
                            if allowed[first + o]:
                                most = physics.capacity - orders[o] if physics.forbids and o > 0 else np.inf
                                q_order = q[o] - order_cost(orders[o], physics)
                                _improve(value, own_best, q_order, first + o, most, stocks)
                        continue
                    for y in range(n_stocks):
                        o = own_best[y] - first
                        if 0 <= o < n_orders:
                            if physics.after:
                                expected_values(one, today, stocks[y], orders[o : o + 1], dynamics)
                            else:
                                available = min(stocks[y] + orders[o], physics.capacity)
                                one[0] = interpolate(by_available, available / dynamics.stock_step)
                            value[y] = one[0] - order_cost(orders[o], physics)
