"""Compiled one-period lookahead: the expected profit of an action plus the discounted value of the next state.

After a stock-out the next state holds the mean of the belief over the hidden demand instead of the demand.
"""

from typing import NamedTuple

from lostsales._jit import compiled
from lostsales.data.economics import carried, next_depth, sales_profit, stocked, truncates
from lostsales.learn.planner.physics import Physics
from lostsales.learn.planner.state_grid import Dynamics
from lostsales.types import Floats

NEGLIGIBLE = 1e-12  # chance of a stock-out that is not followed


class Today(NamedTuple):
    """The law of demand in a state at a price, and the values that follow."""

    demand: Floats  # (demands,) rising
    probability: Floats  # (demands,)
    next_values: Floats  # (depths, lags, stocks)
    next_values_by_demand: Floats  # (demands, stocks) where the demand is observed
    price: float
    depth: int  # at most that of the physics
    stays: float  # of the earlier demands in the next lag


@compiled
def within(position: float, last: float) -> float:
    """A position bounded to 0 and the last node before it becomes a whole number; what is no number is at 0.

    A policy file or a stock can lead to any number, and an index outside an array would read or write foreign memory.
    """
    return min(position, last) if position > 0 else 0.0


@compiled
def nodes_around(position: float, last: int) -> tuple[int, float]:
    """The node at or below a position, and the weight of the one above."""
    position = within(position, float(last))
    low = min(int(position), max(last - 1, 0))
    return low, position - low


@compiled
def interpolate(values: Floats, position: float) -> float:
    """A function on a grid of unit steps, linear in between and constant beyond its ends."""
    last = len(values) - 1
    position = within(position, last)
    low = int(position)
    weight = position - low
    value: float = values[low]
    if weight > 0:
        value = value * (1 - weight) + values[low + 1] * weight
    return value


@compiled
def interpolate_2d(values: Floats, row: float, position: float) -> float:
    """A function on a grid of two coordinates, linear in each."""
    row, position = within(row, len(values) - 1), within(position, values.shape[1] - 1)
    low, at = int(row), int(position)
    weight, across = row - low, position - at
    value: float = values[low, at]
    if across > 0:
        value = value * (1 - across) + values[low, at + 1] * across
    if weight > 0:
        above = values[low + 1, at]
        if across > 0:
            above = above * (1 - across) + values[low + 1, at + 1] * across
        value = value * (1 - weight) + above * weight
    return value


@compiled
def distinct_demands(atoms: Floats, demand: Floats, probability: Floats) -> int:
    """Equally likely atoms as distinct demands with probabilities, and their number; whole demands repeat often."""
    count = 0
    for atom in atoms:
        if count == 0 or demand[count - 1] != atom:
            demand[count], probability[count] = atom, 0.0
            count += 1
        probability[count - 1] += 1 / len(atoms)
    return count


@compiled
def is_observed(left: float, physics: Physics) -> bool:
    """True where demand is known given what is left, negative where it was above what was available."""
    return left > 0 or (left == 0 and physics.strict)


@compiled
def after_stock_out(depth: int, physics: Physics) -> tuple[bool, int]:
    """Truncation of demand in a stock-out at a depth, and the depth that follows."""
    truncated = truncates(depth, physics.flow)
    return truncated, min(next_depth(depth, not truncated), physics.depth_cap)


@compiled
def period_outcome(
    p_hidden: float,
    p_observed: float,
    demand_observed: float,
    mean_demand: float,
    price: float,
    available: float,
    truncated: bool,
    physics: Physics,
) -> tuple[float, float]:
    """Expected profit without the cost of the order, and the mean of the demand that a stock-out hides.

    From the probability of observed demands and their sum, each weighted with its probability.
    """
    excess = mean_demand - demand_observed - p_hidden * available
    sold, left = demand_observed + p_hidden * available, p_observed * available - demand_observed
    profit = sales_profit(price, sold, 0.0 if truncated else excess, left, physics.costs)
    is_hidden = p_hidden > NEGLIGIBLE and not truncated
    return profit, available + excess / p_hidden if is_hidden else available


@compiled
def interpolate_next_values(
    by_node: Floats, node: int, weight: float, depth: int, lags: tuple[int, int], n_stocks: int, next_values: Floats
) -> None:
    """E[V(next state)] between two nodes of w, for a depth and a range of lags (first, last)."""
    for lag in range(lags[0], lags[1] + 1):
        for y in range(n_stocks):
            value = by_node[node, depth, lag, y]
            next_values[depth, lag, y] = (
                value if weight == 0 else value * (1 - weight) + by_node[node + 1, depth, lag, y] * weight
            )


@compiled
def interpolate_demands(
    demand: Floats, stays: float, next_values: Floats, dynamics: Dynamics, n_stocks: int, by_demand: Floats
) -> None:
    """Next values (lags, stocks) at the lag that each observed demand leads to, (demands, stocks)."""
    last, weight_now, lag_step = len(next_values) - 1, dynamics.memory.weight, dynamics.lag_step
    for k in range(len(demand)):
        low, weight = nodes_around((weight_now * demand[k] + stays) / lag_step, last)
        for y in range(n_stocks):
            value = next_values[low, y]
            by_demand[k, y] = value if weight == 0 else value * (1 - weight) + next_values[low + 1, y] * weight


@compiled
def expected_values(q: Floats, today: Today, available: float, orders: Floats, dynamics: Dynamics) -> None:
    """E[profit + discount * V(next state)] without the cost of the order, for orders that are yet to arrive, (orders,).

    Orders that have arrived are in `available`, and then `orders` is 0.
    """
    demand, probability, next_values, by_demand, price, depth, stays = today
    physics, discount, stock_step, lag_step, memory = dynamics
    top, flow = by_demand.shape[1] - 1, physics.flow
    sold, leftover, p_censored, excess = 0.0, 0.0, 0.0, 0.0
    n_observed = 0
    q[:] = 0.0
    for k in range(len(demand)):
        left = available - demand[k]
        if is_observed(left, physics):
            n_observed += 1
            sold += probability[k] * demand[k]
            leftover += probability[k] * left
            for o in range(len(orders)):
                low, weight = nodes_around(stocked(left, orders[o], flow) / stock_step, top)
                value = by_demand[k, low] * (1 - weight) + by_demand[k, low + 1] * weight
                q[o] += discount * probability[k] * value
        else:
            sold += probability[k] * available
            p_censored += probability[k]
            excess -= probability[k] * left
    truncated, next_depth = after_stock_out(depth, physics)
    q += sales_profit(price, sold, 0.0 if truncated else excess, leftover, physics.costs)
    if p_censored == 0:
        return
    for o in range(len(orders)):
        p_hidden, excess_hidden = p_censored, excess
        stock_tp1 = stocked(0.0, orders[o], flow)
        if flow.netted and not truncated:
            stock_tp1 = 0.0
            for k in range(n_observed, len(demand)):
                stock = stocked(carried(available, demand[k], flow), orders[o], flow)
                if stock > 0:  # a positive netted stock reveals the demand
                    q[o] += discount * probability[k] * interpolate(by_demand[k], stock / stock_step)
                    p_hidden -= probability[k]
                    excess_hidden -= probability[k] * (demand[k] - available)
        if p_hidden > NEGLIGIBLE:
            mean = available if truncated else available + excess_hidden / p_hidden
            lag = (memory.weight * mean + stays) / lag_step
            value = interpolate_2d(next_values[next_depth], lag, stock_tp1 / stock_step)
            q[o] += p_hidden * discount * value
