"""Formulas of a period: profit, balance of the stock, deliveries and truncation of demand, each in this one place.

Symbols of the paper: stock Y_t, order O_t, price P_t, demand D_t, sales Z_t, profit R_t; unit costs C_1 (lost sale),
C_2 (order), C_3 (holding).

Every formula takes numbers or arrays. Simulator, baselines and evaluation call it with arrays; compiled loops call it
with numbers, and it becomes part of their machine code (`_jit.py`). Profit is linear in sold, lost and left units, so
that loops over demands add these up and take the profit of their expectations.
"""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from lostsales.types import Array, Bools, Ints, Units, larger, paid_once, smaller

Arrival = Literal["after", "before"]
Balance = Literal["lost-sales", "netted"]
CapacityRule = Literal["discard", "forbid"]

Cost = Any  # a number, or one a row
UNBOUNDED = 1 << 30  # longest run if demand is never truncated


class UnitCosts(NamedTuple):
    """Unit costs C_1 (lost sale), C_2 (order), C_3 (holding): constants or one value a row."""

    lost: Cost
    order: Cost
    holding: Cost
    fixed_order: float = 0.0  # of an order, however large

    def mean(self) -> "UnitCosts":
        """Constants: every cost averaged over rows.

        >>> UnitCosts(np.array([1.0, 2.0]), 3.0, 1.0).mean()
        UnitCosts(lost=1.5, order=3.0, holding=1.0, fixed_order=0.0)
        """
        return UnitCosts._make(float(np.mean(cost)) for cost in self)

    def per_unit(self, change: Callable[[Cost], Cost]) -> "UnitCosts":
        """The costs with that of every unit changed; the fixed cost of an order stays.

        >>> UnitCosts(1.0, 3.0, 0.5, fixed_order=9.0).per_unit(lambda cost: cost / 2)
        UnitCosts(lost=0.5, order=1.5, holding=0.25, fixed_order=9.0)
        """
        return UnitCosts._make(map(change, self))._replace(fixed_order=self.fixed_order)

    def at(self, rows: Ints) -> "UnitCosts":
        """The costs of some rows."""
        return UnitCosts._make(cost[rows] if isinstance(cost, np.ndarray) else cost for cost in self)


class StockFlow(NamedTuple):
    """Rules by which stock and demand move in a shop."""

    before: bool  # what arrives in a period can be sold in it; else in the next one
    netted: bool  # what arrives after the sales serves demand that was not served
    capacity: float  # inf where there is none
    forbids: bool  # an order must fit the capacity; else what does not fit is discarded
    most_on_way: float  # units that may be on the way, inf where the supply sets no limit
    longest_run: int  # stock-outs in a row after which demand is truncated


def sales_profit(price: Units, sold: Units, lost: Units, left: Units, costs: UnitCosts) -> Units:
    """P_t Z_t - C_1 lost - C_3 left: the profit of a period without the cost of its order."""
    profit: Units = price * sold - costs.lost * lost - costs.holding * left
    return profit


def order_cost(order: Units, costs: UnitCosts) -> Units:
    """C_2 O_t, and the fixed cost where something is ordered."""
    cost: Units = costs.order * order + paid_once(costs.fixed_order, order)
    return cost


def period_profit(price: Units, order: Units, sold: Units, lost: Units, left: Units, costs: UnitCosts) -> Units:
    """R_t = P_t Z_t - C_1 lost - C_2 O_t - C_3 left (Equation 2), less the fixed cost where an order is placed.

    >>> one = np.array([1.0])
    >>> period_profit(4 * one, 2 * one, 5 * one, 3 * one, 0 * one, UnitCosts(lost=2, order=3, holding=1))
    array([8.])
    """
    return sales_profit(price, sold, lost, left, costs) - order_cost(order, costs)


def stocked(held: Units, arrived: Units, flow: StockFlow) -> Units:
    """Stock after a delivery; what does not fit into the capacity is gone.

    Below 0, `held` is demand that a netted delivery serves first.
    """
    filled = smaller(held + arrived, flow.capacity)
    return larger(filled, 0) if flow.netted else filled


def carried(available: Units, demand: Units, flow: StockFlow) -> Units:
    """Units held when the sales of a period are over, below 0 where a netted delivery is to serve the rest."""
    return available - demand if flow.netted else larger(available - demand, 0)


def units_available(stock_t: Units, arrived_t: Units, flow: StockFlow) -> Units:
    """Units that could be sold in t: Y_t, or Y_t + O_t where the order arrives before the doors open.

    >>> from lostsales.data.shop import Shop
    >>> units_available(np.array([4.0]), np.array([3.0]), Shop(arrival="after").flow)
    array([4.])
    >>> units_available(np.array([4.0]), np.array([3.0]), Shop(arrival="before", capacity=6).flow)
    array([6.])
    """
    return stocked(stock_t, arrived_t, flow) if flow.before else stock_t


def next_stock(stock_t: Units, arrived_t: Units, demand_t: Units, flow: StockFlow) -> Units:
    """Stock when t + 1 opens.

    Lost sales: (Y_t - D_t)^+ + O_t. Netted (the paper's, Section 2.1): (Y_t + O_t - D_t)^+, in which an order serves
    demand that had already left. With arrival "before" the two are the same.

    >>> from lostsales.data.shop import Shop
    >>> stock, order, demand = np.array([4.0]), np.array([3.0]), np.array([6.0])
    >>> next_stock(stock, order, demand, Shop().flow), next_stock(stock, order, demand, Shop(balance="netted").flow)
    (array([3.]), array([1.]))
    """
    return closing_stock(units_available(stock_t, arrived_t, flow), arrived_t, demand_t, flow)


def closing_stock(available_t: Units, arrived_t: Units, demand_t: Units, flow: StockFlow) -> Units:
    """The same from what could be sold in t."""
    held = carried(available_t, demand_t, flow)
    return held if flow.before else stocked(held, arrived_t, flow)


def issue(ages: Array, sold: Units, from_oldest: Units) -> None:
    """Take `sold` units off the shelf in place: `from_oldest` from the oldest on, the rest from the freshest.

    `ages` holds units by remaining life along its first axis, those of the last day first.

    >>> shelf = np.array([2.0, 3.0, 4.0])
    >>> issue(shelf, 4.0, 3.0)
    >>> shelf
    array([0., 2., 3.])
    """
    wanted = from_oldest
    for k in range(len(ages)):
        taken = smaller(ages[k], wanted)
        ages[k] -= taken
        wanted = wanted - taken
    wanted = sold - from_oldest
    for k in range(len(ages) - 1, -1, -1):
        taken = smaller(ages[k], wanted)
        ages[k] -= taken
        wanted = wanted - taken


def expire(ages: Array) -> Any:
    """Units whose life ends with this period; in place, all others are a period older and no unit is fresh.

    >>> shelf = np.array([0.0, 2.0, 3.0])
    >>> float(expire(shelf)), shelf
    (0.0, array([2., 3., 0.]))
    """
    wasted = ages[0] + 0.0
    for k in range(len(ages) - 1):
        ages[k] = ages[k + 1]
    ages[-1] = 0.0
    return wasted


def waste_loss(wasted: Units, waste_cost: Cost, costs: UnitCosts) -> Units:
    """(C_waste - C_3) wasted, less than the profit of a period: such units are thrown away and not held.

    >>> float(waste_loss(2.0, 7.0, UnitCosts(lost=5.0, order=3.0, holding=1.0)))
    12.0
    """
    loss: Units = (waste_cost - costs.holding) * wasted
    return loss


def truncates(depth: Any, flow: StockFlow) -> Any:
    """True if demand after this many stock-outs in a row is truncated to what is available."""
    return depth >= flow.longest_run


def next_depth(depth: Any, hidden: Any) -> Any:
    """Stock-outs in a row when the next period opens, where this one did or did not hide demand."""
    return (depth + 1) * hidden


def order_room(stock: Units, on_way: Units, flow: StockFlow) -> Units:
    """The most that may be ordered on top of stock and pipeline; below 0 where these are above their limits."""
    room: Units = flow.most_on_way - on_way  # type: ignore[assignment]  # a number stays one
    return smaller(room, flow.capacity - stock - on_way) if flow.forbids else room


def advanced(outstanding: Array, arrives: Bools) -> tuple[Array, Array]:
    """Units that arrive of orders that are out, oldest first, and the pipeline that the next period opens with.

    >>> advanced(np.array([[4.0, 5.0, 6.0]]), np.array([True, False, False]))
    (array([4.]), array([[5., 6.]]))
    """
    return (outstanding * arrives).sum(axis=-1), (outstanding * ~arrives)[..., 1:]


def whole_delivery(arrived: Units, share: Any) -> tuple[Units, Units]:
    """Whole units that arrive of a partial delivery, and the probability of one more."""
    came = share * arrived
    whole = np.floor(came + 1e-9)
    return whole, came - whole


def critical_fractile(price: float, costs: UnitCosts, discount: float, lead_time: int) -> float:
    """(p + lost - c) / (p + lost + h - discount c): a unit left over costs h and saves its price c tomorrow.

    What an order earns comes as many periods later as its lead time.

    >>> round(critical_fractile(6.0, UnitCosts(lost=2, order=3, holding=1), 0.9, lead_time=0), 4)
    0.7937
    """
    ahead = discount**lead_time
    earns, keeps = ahead * (price + costs.lost), ahead * (costs.holding - discount * costs.order)
    return float(np.clip((earns - costs.order) / max(earns + keeps, 1e-12), 0.0, 1.0))
