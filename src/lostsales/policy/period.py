"""One period as a pure function: sales, censoring, profit, and the stock that follows."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lostsales.data.economics import (
    UNBOUNDED,
    StockFlow,
    UnitCosts,
    closing_stock,
    next_depth,
    period_profit,
    truncates,
    units_available,
    waste_loss,
)
from lostsales.policy.shelf import Shelf
from lostsales.policy.view import Action
from lostsales.types import Array, Bools, Floats


@dataclass(frozen=True)
class Outcome:
    """Outcome of a decision and a demand; every array has one entry a series."""

    demand: Floats  # after truncation
    sales: Floats
    lost: Floats
    leftover: Floats
    stockout: Bools
    truncated: Bools | None  # None where no rule truncates
    profit: Floats
    stock_tp1: Floats
    depth_tp1: Array
    arrived: Floats  # in this period: the order itself, or what was on the way
    wasted: Floats | None = None  # None where units keep for ever
    shelf: Shelf | None = None  # that the next period opens with


class Flow(NamedTuple):
    """Units of a period, each (rows,), or a share where outcomes are averaged over draws."""

    demand: Floats
    sales: Floats
    stockout: Floats  # 1 where demand was not met in full
    left: Floats  # when the period ends
    wasted: Floats  # thrown away then, 0 of units that keep

    @classmethod
    def of(cls, outcome: Outcome) -> "Flow":
        """Flow of a period that is closed."""
        wasted = np.zeros(len(outcome.sales)) if outcome.wasted is None else outcome.wasted
        return cls(
            outcome.demand, outcome.sales, outcome.stockout.astype(np.float64), outcome.leftover - wasted, wasted
        )


def transition(
    stock_t: Floats,
    depth_t: Array,
    action: Action,
    demand_t: Floats,
    flow: StockFlow,
    costs: UnitCosts,
    arrived_t: Floats | None = None,
    shelf_t: Shelf | None = None,
    waste_cost: Floats | float = 0.0,
    rng: np.random.Generator | None = None,
) -> Outcome:
    """Close a period: Z_t, Delta_t, R_t and Y_{t+1} (Section 2), with the truncation rule where the shop has one.

    `arrived_t` is what arrives in the period (`policy/deliveries.py`); by default the order. With a shelf, units whose
    life ends are thrown away when the period is over; `rng` draws which units are sold where customers differ.

    >>> from lostsales.data.shop import Shop
    >>> flow, costs = Shop(arrival="before", longest_run=1).flow, UnitCosts(lost=2, order=3, holding=1)
    >>> action = Action(price=np.array([4.0]), order=np.array([2.0]))
    >>> outcome = transition(np.array([3.0]), np.array([1]), action, np.array([9.0]), flow, costs)
    >>> outcome.demand, outcome.stockout, outcome.truncated
    (array([5.]), array([False]), array([ True]))
    """
    price, order = action
    arrived = order if arrived_t is None else arrived_t
    available = units_available(stock_t, arrived, flow)
    truncated = None
    if flow.longest_run < UNBOUNDED:
        truncated = truncates(depth_t, flow) & (demand_t > available)
        demand_t = np.where(truncated, available, demand_t)
    sales = np.minimum(available, demand_t)
    lost, leftover = demand_t - sales, available - sales
    stockout = lost > 0
    profit, kept = period_profit(price, order, sales, lost, leftover, costs), available
    wasted, shelf = None, None
    if shelf_t is not None:
        wasted, shelf = shelf_t.closed(available, sales, rng)
        profit, kept = profit - waste_loss(wasted, waste_cost, costs), available - wasted
    stock_tp1 = closing_stock(kept, arrived, demand_t, flow)
    return Outcome(
        demand=demand_t,
        sales=sales,
        lost=lost,
        leftover=leftover,
        stockout=stockout,
        truncated=truncated,
        profit=profit,
        stock_tp1=stock_tp1,
        depth_tp1=next_depth(depth_t, stockout),
        arrived=arrived,
        wasted=wasted,
        shelf=None if shelf is None else shelf.filled(stock_tp1),
    )
