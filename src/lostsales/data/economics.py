"""Timing, balance and profit of a period, as pure functions on arrays.

Symbols of the paper: stock Y_t, order O_t, price P_t, demand D_t, sales Z_t, profit R_t; unit costs C_1 (lost sale),
C_2 (order), C_3 (holding).
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from lostsales.types import Floats, Ints

Arrival = Literal["after", "before"]
Balance = Literal["lost-sales", "netted"]
CapacityRule = Literal["discard", "forbid"]


@dataclass(frozen=True)
class UnitCosts:
    """Unit costs C_1 (lost sale), C_2 (order), C_3 (holding): constants or one value a row."""

    lost: Floats | float
    order: Floats | float
    holding: Floats | float
    fixed_order: float = 0.0

    def mean(self) -> "UnitCosts":
        """Constants: every cost averaged over rows.

        >>> UnitCosts(np.array([1.0, 2.0]), 3.0, 1.0).mean()
        UnitCosts(lost=1.5, order=3.0, holding=1.0, fixed_order=0.0)
        """
        lost, order, holding = (float(np.mean(cost)) for cost in (self.lost, self.order, self.holding))
        return UnitCosts(lost, order, holding, float(self.fixed_order))

    def at(self, rows: Ints) -> "UnitCosts":
        """The costs of some rows."""
        lost, order, holding = (
            cost[rows] if isinstance(cost, np.ndarray) else cost for cost in (self.lost, self.order, self.holding)
        )
        return UnitCosts(lost, order, holding, self.fixed_order)


def units_available(stock_t: Floats, arrived_t: Floats, arrival: Arrival, capacity: float | None = None) -> Floats:
    """Units that could be sold in t: Y_t, or Y_t + O_t where the order arrives before the doors open.

    >>> units_available(np.array([4.0]), np.array([3.0]), "after")
    array([4.])
    >>> units_available(np.array([4.0]), np.array([3.0]), "before", capacity=6)
    array([6.])
    """
    if arrival == "after":
        return stock_t
    filled = stock_t + arrived_t
    return filled if capacity is None else np.minimum(filled, capacity)


def next_stock(
    stock_t: Floats,
    arrived_t: Floats,
    demand_t: Floats,
    arrival: Arrival,
    balance: Balance = "lost-sales",
    capacity: float | None = None,
) -> Floats:
    """Stock when t + 1 opens; what does not fit into the capacity is gone.

    Lost sales: (Y_t - D_t)^+ + O_t. Netted (the paper's, Section 2.1): (Y_t + O_t - D_t)^+, in which an order serves
    demand that had already left. With arrival "before" the two are the same.

    >>> stock, order, demand = np.array([4.0]), np.array([3.0]), np.array([6.0])
    >>> next_stock(stock, order, demand, "after"), next_stock(stock, order, demand, "after", "netted")
    (array([3.]), array([1.]))
    """
    if arrival == "before":
        return np.maximum(units_available(stock_t, arrived_t, arrival, capacity) - demand_t, 0.0)
    if balance == "netted":
        closing = np.maximum(stock_t + arrived_t - demand_t, 0.0)
    else:
        closing = np.maximum(stock_t - demand_t, 0.0) + arrived_t
    return closing if capacity is None else np.minimum(closing, capacity)


def period_profit(
    price_t: Floats, order_t: Floats, sales_t: Floats, lost_t: Floats, leftover_t: Floats, costs: UnitCosts
) -> Floats:
    """R_t = P_t Z_t - C_1 lost - C_2 O_t - C_3 leftover (Equation 2), less the fixed cost where an order is placed.

    >>> one = np.array([1.0])
    >>> period_profit(4 * one, 2 * one, 5 * one, 3 * one, 0 * one, UnitCosts(lost=2, order=3, holding=1))
    array([8.])
    """
    profit = price_t * sales_t - costs.lost * lost_t - costs.order * order_t - costs.holding * leftover_t
    return profit - costs.fixed_order * (order_t > 0) if costs.fixed_order else profit
