"""Compiled sweeps of dynamic programming over stock by age and orders on the way."""

from typing import NamedTuple

import numpy as np

from lostsales._jit import compiled
from lostsales.data.economics import UnitCosts, expire, issue, sales_profit, waste_loss, whole_delivery
from lostsales.types import Array, Floats, Ints


class AgedTables(NamedTuple):
    """Arrays of a `PerishableModel` as the sweeps read them.

    A state is a number whose digits are units: those in the last period of their life first, then ever fresher ones,
    then the orders on the way, the next to arrive first. Today's order is one digit more; the first `life` can be sold.
    """

    pmf: Floats  # (p, D)
    above: Floats  # (p, a) chance of a demand of at least what is available
    excess: Floats  # (p, a) expected demand beyond it
    price: Floats  # (p,)
    order: Ints  # (o,) units
    order_cost: Floats  # (o,)
    costs: UnitCosts
    waste_cost: float
    from_oldest: float  # share of the units sold
    reach: int  # demand beyond has a negligible chance
    life: int
    digits: int  # of a state
    radix: int  # largest digit + 1


@compiled
def aged_values(tables: AgedTables, state: int, after: Floats, discount: float, units: Floats, q: Floats) -> None:
    """Fill `q` (prices, orders) with the value of every action; `units` has room for digits and life."""
    life, digits, radix = tables.life, tables.digits, tables.radix
    orders, shelf = len(tables.order), units[digits + 1 :]
    sells_today = life > digits  # an order that arrives before the doors open
    for o in range(orders):
        q[:, o] = -tables.order_cost[o]
    for first in range(orders if sells_today else 1):
        last = first + 1 if sells_today else orders
        rest, available = state, 0
        units[digits] = tables.order[first] if sells_today else 0
        for k in range(digits - 1, -1, -1):
            units[k] = rest % radix
            rest //= radix
        for k in range(life):
            available += int(units[k])
        for p in range(len(tables.price)):
            short = sales_profit(tables.price[p], 0.0, tables.excess[p, available], 0.0, tables.costs)
            q[p, first:last] += short
        for sold in range(min(available, tables.reach) + 1):
            oldest, part = whole_delivery(sold, tables.from_oldest)
            for more in range(2):
                weight = part if more else 1.0 - part
                if weight < 1e-12:
                    continue
                shelf[:] = units[:life]
                issue(shelf, float(sold), oldest + more)
                wasted = expire(shelf)
                later = 0
                for k in range(life - 1):
                    later = later * radix + int(shelf[k])
                for k in range(life, digits + 1):
                    later = later * radix + int(units[k])
                left = float(available - sold)
                for p in range(len(tables.price)):
                    chance = weight * (tables.above[p, available] if sold == available else tables.pmf[p, sold])
                    now = sales_profit(tables.price[p], float(sold), 0.0, left, tables.costs)
                    now -= waste_loss(wasted, tables.waste_cost, tables.costs)
                    for o in range(first, last):
                        follows = later if sells_today else later + tables.order[o]
                        q[p, o] += chance * (now + discount * after[follows])


@compiled
def improve_aged(tables: AgedTables, after: Floats, discount: float, value: Floats, action: Array) -> None:
    """The best action p * orders + o of every state and its value, into the last two arrays."""
    units, orders = np.empty(tables.digits + 1 + tables.life), len(tables.order)
    q = np.empty((len(tables.price), orders))
    for state in range(len(value)):
        aged_values(tables, state, after, discount, units, q)
        value[state] = -np.inf
        for p in range(len(tables.price)):
            for o in range(orders):
                if q[p, o] > value[state] + 1e-12:
                    value[state], action[state] = q[p, o], p * orders + o
