"""Compiled sweeps of dynamic programming over stock and pipeline."""

from typing import NamedTuple

import numpy as np

from lostsales._jit import compiled
from lostsales.data.economics import StockFlow, carried, stocked, units_available, whole_delivery
from lostsales.types import Array, Floats, Ints


class Tables(NamedTuple):
    """Arrays of a `PipelineModel` as the sweeps read them.

    Axes: f feature state, p price, d last demand or belief about it, D demand, a available, y stock, s pipeline,
    o order, m pattern of arrivals, k beliefs between which one is interpolated.
    """

    pmf: Floats  # (f, p, d, D)
    expected_profit: Floats  # (f, p, d, a) of a period, without the cost of the order
    above: Floats  # (f, p, d, a) chance of a demand of at least what is available
    order: Ints  # (o,) units
    order_cost: Floats  # (o,)
    most_order: Ints  # (f, y, s) how many of the orders, from the smallest, are allowed
    chance: Floats  # (m,) of each pattern of arrivals
    arriving: Ints  # (m, s, o) units that arrive
    later: Ints  # (m, s, o) the pipeline that follows
    share: float  # of what arrives that comes, rounded at random
    flow: StockFlow  # whose capacity is the largest stock of the model
    point: Ints  # (D,) the d of a demand that was observed
    hidden_at: Ints  # (f, p, d, a, k) the beliefs after a stock-out, empty where demand is always seen
    hidden_weight: Floats  # (f, p, d, a, k) their weights, times the chance of the stock-out
    truncates: bool  # demand is cut to what is available
    collapses: bool  # all demands that leave nothing are alike: there is no memory, and no depth


@compiled
def expected_later(
    tables: Tables, f: int, p: int, d: int, y: int, s: int, o: int, shallow: Floats, deeper: Floats
) -> float:
    """E[V(S_{t+1})] of one action; V is (p, f, d, y, s) after the features moved, deeper where demand was hidden."""
    before, _, capacity, forbids, most_on_way, longest_run = tables.flow
    flow = StockFlow(
        before, False, capacity, forbids, most_on_way, longest_run
    )  # netted was refused; a constant is quicker
    total, believes = 0.0, tables.hidden_at.shape[-1] > 0 and not tables.truncates
    for m in range(len(tables.chance)):
        units, part = whole_delivery(tables.arriving[m, s, o], tables.share)
        low, later = int(units), tables.later[m, s, o]
        for more in range(2):
            weight = tables.chance[m] * (part if more else 1.0 - part)
            if weight < 1e-12:
                continue
            arrived = low + more
            available = units_available(y, arrived, flow)
            inner, last = 0.0, tables.pmf.shape[3]
            after = 0 if flow.before else arrived
            stock = stocked(0, after, flow)
            if tables.collapses:
                last = min(last, available)
                inner = tables.above[f, p, d, available] * shallow[p, f, 0, stock, later]
            elif believes:
                last = min(last, available + 1)
                for k in range(tables.hidden_at.shape[-1]):
                    belief = tables.hidden_at[f, p, d, available, k]
                    inner += tables.hidden_weight[f, p, d, available, k] * deeper[p, f, belief, stock, later]
            for demand in range(last):
                chance = tables.pmf[f, p, d, demand]
                if chance == 0.0:
                    continue
                hidden = demand > available
                seen = available if hidden and tables.truncates else demand
                stock = stocked(carried(available, demand, flow), after, flow)
                at = tables.point[seen]
                if hidden and not tables.truncates:
                    inner += chance * deeper[p, f, at, stock, later]
                else:
                    inner += chance * shallow[p, f, at, stock, later]
            total += weight * inner
    return total


@compiled
def profit_now(tables: Tables, f: int, p: int, d: int, y: int, s: int, o: int) -> float:
    """E[R_t] of one action, its order cost included."""
    if not tables.flow.before:
        now: float = tables.expected_profit[f, p, d, y] - tables.order_cost[o]
        return now
    total = 0.0
    for m in range(len(tables.chance)):
        low, part = whole_delivery(tables.arriving[m, s, o], tables.share)
        now = tables.expected_profit[f, p, d, units_available(y, int(low), tables.flow)]
        if part > 1e-12:
            now += part * (tables.expected_profit[f, p, d, units_available(y, int(low) + 1, tables.flow)] - now)
        total += tables.chance[m] * now
    cost: float = tables.order_cost[o]
    return total - cost


@compiled
def improve(tables: Tables, shallow: Floats, deeper: Floats, discount: float, value: Floats, action: Array) -> None:
    """The best action p * orders + o of every state (f, d, y, s) and its value, into the last two arrays."""
    features, demands, stocks, pipelines = value.shape
    prices, orders = tables.pmf.shape[1], len(tables.order)
    for f in range(features):
        for d in range(demands):
            for y in range(stocks):
                for s in range(pipelines):
                    best, taken = -np.inf, 0
                    for p in range(prices):
                        for o in range(tables.most_order[f, y, s]):
                            now = profit_now(tables, f, p, d, y, s, o)
                            now += discount * expected_later(tables, f, p, d, y, s, o, shallow, deeper)
                            if now > best + 1e-12:
                                best, taken = now, p * orders + o
                    value[f, d, y, s] = best
                    action[f, d, y, s] = taken


@compiled
def evaluate(tables: Tables, shallow: Floats, deeper: Floats, discount: float, action: Array, value: Floats) -> None:
    """The value of given actions, one sweep, into the last array."""
    features, demands, stocks, pipelines = value.shape
    orders = len(tables.order)
    for f in range(features):
        for d in range(demands):
            for y in range(stocks):
                for s in range(pipelines):
                    p, o = action[f, d, y, s] // orders, action[f, d, y, s] % orders
                    now = profit_now(tables, f, p, d, y, s, o)
                    value[f, d, y, s] = now + discount * expected_later(tables, f, p, d, y, s, o, shallow, deeper)
