"""Compiled projection of the stock until an order that is not yet placed arrives: profit on the way, and what is left.

Stock and demands are followed by their means and covariances. What is left of a stock after a demand is W^+ of their
difference W, taken to be a sum of a normal variable and of the noise of demand (`shortfall.py`); its covariance with a
later demand is P(W > 0) times that of W (exact where they are normal, Stein's lemma).
"""

from typing import Annotated, Any, NamedTuple

import numpy as np

from lostsales._jit import compiled
from lostsales.data.economics import UnitCosts, sales_profit
from lostsales.learn.planner.arrivals import Arrivals
from lostsales.learn.planner.demand_paths import LATER, DemandPaths
from lostsales.learn.planner.shortfall import POSITIONS, REACH, SHARES, STEPS_A_UNIT
from lostsales.learn.planner.state_grid import Dynamics
from lostsales.saved_fields import Number, Positive, numbers
from lostsales.types import Floats

TINY = 1e-12
GAPS = 9  # nodes of the excess of a stock over demand
FREE_TERMS = 5  # of the value of what is left, whose weights may have any sign


class Ahead(NamedTuple):
    """Moments and values of the time after today, for a plan with a pipeline."""

    paths: DemandPaths
    shortfall: Annotated[Floats, numbers(SHARES, POSITIONS, 3, least=0)]  # `shortfall_table`
    knots: Annotated[Floats, numbers("knots", rising=True)]  # of what is left less the mean demand then
    # of the terms of the value of what is left, `value_terms`
    weights: Annotated[Floats, numbers("phases", f"{FREE_TERMS + 1}+knots")]
    range: Annotated[Floats, numbers(2, 2)]  # least and most of the mean demand then and one period later, in the plan
    price: Number  # charged on the way
    # what prices that follow the stock earn in a period, by its mean excess over demand
    by_gap: Annotated[Floats, numbers(GAPS)]
    gap_step: Positive


class Outset(NamedTuple):
    """The state in which the next period begins."""

    mean: Floats  # (periods + LATER,) of demands
    covariance: Floats  # (periods, periods)
    phase: int


class Terms(NamedTuple):
    """Money earned and paid on the way, and the capacity of the store."""

    price: float
    costs: UnitCosts
    capacity: float
    discount: float
    gap_step: float


@compiled
def _earned(demand: float, gap: float, left: float, by_gap: Floats, terms: Terms) -> Any:
    """Expected profit of a period, of a stock that exceeds demand by a mean gap, and of which some is left."""
    lost = max(left - gap, 0.0)
    profit = sales_profit(terms.price, demand - lost, lost, left, terms.costs)
    at = min(max(gap / terms.gap_step + GAPS // 2, 0.0), GAPS - 1.0)
    low = min(int(at), GAPS - 2)
    return profit + by_gap[low] + (at - low) * (by_gap[low + 1] - by_gap[low])


class Scratch(NamedTuple):
    """Memory of a projection."""

    mean: Floats  # (periods + LATER,)
    covariance: Floats  # (periods, periods)
    with_demand: Floats  # (periods,) covariance of the stock with demands to come
    with_demand_of_order: Floats  # (periods,) the same after an order of today
    units: Floats  # (columns + 1,) on the way; the last is the order of today
    here: Floats  # (columns + 1,) expected to be in the stock of each
    here_of_order: Floats  # (columns + 1,)


@compiled
def _left_over(table: Floats, mean: float, spread: float, share: float) -> Any:
    """P(W > 0), E[W^+] and the variance of W^+, of a W with a mean and a spread, by interpolation in the table."""
    z = mean / spread
    if z >= REACH:
        return 1.0, mean, spread * spread
    if z <= -REACH:
        return 0.0, 0.0, 0.0
    at = (z + REACH) * STEPS_A_UNIT
    low = min(int(at), POSITIONS - 2)
    weight, row = at - low, share * (SHARES - 1)
    first = min(int(row), SHARES - 2)
    across = row - first
    a, b, c, d = (1 - weight) * (1 - across), weight * (1 - across), (1 - weight) * across, weight * across
    below, above = table[first], table[first + 1]
    chance = a * below[low, 0] + b * below[low + 1, 0] + c * above[low, 0] + d * above[low + 1, 0]
    left = a * below[low, 1] + b * below[low + 1, 1] + c * above[low, 1] + d * above[low + 1, 1]
    square = a * below[low, 2] + b * below[low + 1, 2] + c * above[low, 2] + d * above[low + 1, 2]
    return chance, spread * left, spread * spread * max(square - left * left, 0.0)


@compiled
def _within(table: Floats, mean: float, variance: float, capacity: float) -> Any:
    """Mean and variance of a stock of which nothing is above the capacity."""
    sd = np.sqrt(max(variance, 0.0))
    if mean + 3 * sd <= capacity:
        return mean, max(variance, 0.0)
    if sd < 1e-6 * (capacity + 1):
        return min(mean, capacity), 0.0
    chance, over, _ = _left_over(table, mean - capacity, sd, 0.0)
    return mean - over, variance * (1 - chance) ** 2


@compiled
def add_values(
    q: Floats, weight: float, profits: Floats, lefts: Floats, start: Outset, horizon: int, ahead: Ahead, discount: float
) -> None:
    """Add to q, (orders,), a weight times the values of a next state: profit until the horizon, and what is left then.

    The value of what is left is a concave function of it less the mean demand of the period then.
    """
    limits, phase, knots, weights = ahead.range, start.phase, ahead.knots, ahead.weights
    then = min(max(start.mean[horizon], limits[0, 0]), limits[1, 0])
    later = min(max(start.mean[horizon + 1], limits[0, 1]), limits[1, 1])
    own_weight, last = weight * discount**horizon, len(knots) // 2
    constant = weights[phase, 0] + weights[phase, 1] * then + weights[phase, 2] * then * then
    constant += weights[phase, 3] * later
    slope, fall = weights[phase, 4], own_weight * weights[phase, 5]
    for o in range(len(q)):
        beyond = lefts[o] - then
        q[o] += weight * profits[o] + own_weight * (constant + slope * beyond)
        above = max(beyond - knots[last], 0.0)
        q[o] += fall * above * above
    for i in range(len(knots)):
        knot, own = knots[i] + then, own_weight * weights[phase, FREE_TERMS + 1 + i]
        for o in range(len(q)):
            gap = max(knot - lefts[o], 0.0)
            q[o] += own * gap * gap


@compiled
def set_out(
    paths: DemandPaths, w: tuple[int, float], shape: int, lag: float, lag_step: float, periods: int, scratch: Scratch
) -> None:
    """Moments of demands between two nodes of w and of the lag, into the scratch memory."""
    node, weight = w
    means, covariances = paths
    last = means.shape[2] - 1
    position = min(max(lag / lag_step, 0.0), last)
    low = min(int(position), last - 1)
    across = position - low
    above = min(node + 1, len(means) - 1)
    for k in range(periods + LATER):
        value = means[node, shape, low, k] * (1 - across) + means[node, shape, low + 1, k] * across
        if weight > 0:
            other = means[above, shape, low, k] * (1 - across) + means[above, shape, low + 1, k] * across
            value = value * (1 - weight) + other * weight
        scratch.mean[k] = value
    near = node if weight < 0.5 else above
    for k in range(periods):
        for j in range(k, periods):
            value = covariances[near, shape, low, k, j] * (1 - across)
            scratch.covariance[k, j] = value + covariances[near, shape, low + 1, k, j] * across


@compiled
def _follow(
    periods: tuple[int, int, int],
    state: tuple[float, float, float, float],
    units: Floats,
    here: Floats,
    with_demand: Floats,
    start: tuple[Floats, Floats],
    chances: Floats,
    table: Floats,
    by_gap: Floats,
    terms: Terms,
) -> Any:
    """Mean and variance of the stock, profit so far and discount, after some periods (first, last, horizon)."""
    first, last, horizon = periods
    mean, variance, profit, weight = state
    demand, covariance = start
    noise = covariance[0, 0]
    for k in range(first, last):
        for j in range(len(units)):
            if chances[j, k] > 0:
                expected = units[j] * chances[j, k]
                mean += expected
                if chances[j, k] < 1:  # had it arrived before, it would not now: negatively related to the stock
                    variance += expected * (units[j] - expected - 2 * here[j])
                    here[j] += expected
        mean, variance = _within(table, mean, variance, terms.capacity)
        gap, spread_2 = mean - demand[k], max(variance + covariance[k, k] - 2 * with_demand[k], TINY)
        chance, left, variance = _left_over(table, gap, np.sqrt(spread_2), min(noise / spread_2, 1.0))
        profit += weight * _earned(demand[k], gap, left, by_gap, terms)
        for j in range(k + 1, horizon):
            with_demand[j] = chance * (with_demand[j] - covariance[k, j])
        for j in range(len(here)):
            here[j] *= chance
        mean = left
        weight *= terms.discount
    return mean, variance, profit, weight


@compiled
def _sell_last(
    profits: Floats,
    lefts: Floats,
    orders: Floats,
    state: tuple[float, float, float, float],
    demand: float,
    ratio: float,
    share: float,
    table: Floats,
    by_gap: Floats,
    terms: Terms,
) -> None:
    """Profit and what is left where an order is sure to arrive for the last period, for all orders.

    The variance in `state` is that of stock less demand, `ratio` the share of it that is the noise of demand. It is the
    same for all orders, and so is the place between two shares in the table.
    """
    mean, variance, profit, weight = state
    spread = np.sqrt(variance)
    row = ratio * (SHARES - 1)
    node = min(int(row), SHARES - 2)
    across, steps = row - node, STEPS_A_UNIT / spread
    below, above = table[node], table[node + 1]
    for o in range(len(orders)):
        gap = min(mean + share * orders[o], terms.capacity) - demand
        at = gap * steps + REACH * STEPS_A_UNIT
        if at <= 0:
            left = 0.0
        elif at >= POSITIONS - 1:
            left = gap
        else:
            low = int(at)
            inner = at - low
            first = below[low, 1] * (1 - inner) + below[low + 1, 1] * inner
            second = above[low, 1] * (1 - inner) + above[low + 1, 1] * inner
            left = spread * (first * (1 - across) + second * across)
        profits[o], lefts[o] = profit + weight * _earned(demand, gap, left, by_gap, terms), left


@compiled
def project_orders(
    profits: Floats,
    lefts: Floats,
    stock: float,
    orders: Floats,
    start: Outset,
    arrivals: Arrivals,
    ahead: Ahead,
    dynamics: Dynamics,
    scratch: Scratch,
) -> None:
    """Discounted profit until the horizon and mean of what is left then, with each order of today, (orders,).

    `stock` is what is left of today's; `scratch.units` holds what is on the way.
    """
    physics, table, chances, share = dynamics.physics, ahead.shortfall, arrivals.chances, arrivals.share
    terms = Terms(ahead.price, physics.costs, physics.flow.capacity, dynamics.discount, ahead.gap_step)
    by_gap = ahead.by_gap
    units, here, own_here = scratch.units, scratch.here, scratch.here_of_order
    with_demand, own_with = scratch.with_demand, scratch.with_demand_of_order
    horizon, today = arrivals.horizons[start.phase], len(units) - 1
    first = min(arrivals.first, horizon)
    demand = start.mean, start.covariance
    for k in range(horizon):
        with_demand[k] = 0.0
    for j in range(today + 1):
        here[j] = 0.0
    units[today] = 0.0
    state = (stock, 0.0, 0.0, 1.0)
    state = _follow((0, first, horizon), state, units, here, with_demand, demand, chances, table, by_gap, terms)
    if first == horizon - 1 and chances[today, first] == 1:
        mean, variance, profit, weight = state
        for j in range(today):
            mean += units[j] * chances[j, first]
        variance = max(variance + start.covariance[first, first] - 2 * with_demand[first], TINY)
        ratio = min(start.covariance[0, 0] / variance, 1.0)
        state = (mean, variance, profit, weight)
        _sell_last(profits, lefts, orders, state, start.mean[first], ratio, share, table, by_gap, terms)
        return
    for o in range(len(orders)):
        units[today] = share * orders[o]
        for k in range(first, horizon):
            own_with[k] = with_demand[k]
        for j in range(today + 1):
            own_here[j] = here[j]
        own = _follow(
            (first, horizon, horizon), state, units, own_here, own_with, demand, chances, table, by_gap, terms
        )
        profits[o], lefts[o] = own[2], own[0]
        for j in range(today + 1):
            for k in range(horizon, chances.shape[1]):
                lefts[o] += units[j] * chances[j, k]
