"""What an action leads to today, in expectation, for policies that know a law of demand."""

from dataclasses import dataclass

import numpy as np

from lostsales.data.economics import UnitCosts, period_profit, units_available
from lostsales.data.shop import Shop
from lostsales.policy.view import Action
from lostsales.types import Bools, Floats


@dataclass(frozen=True, eq=False)
class Expected:
    """Expectations of the period that opens, and the value of what follows; every array is (rows,)."""

    demand: Floats
    sales: Floats
    lost: Floats  # demand that is not served
    leftover: Floats
    stockout_chance: Floats
    profit: Floats  # of this period
    value: Floats  # of this period and what follows, as the policy judges its own decisions
    unit_cost: Floats  # of an order
    unseen: Bools  # nothing is known of demand at this price, or the series never had such an action

    @classmethod
    def of(
        cls,
        action: Action,
        stock: Floats,
        outlook: tuple[Floats, Floats, Floats],
        shop: Shop,
        costs: UnitCosts,
        value: Floats,
        unseen: Bools,
    ) -> "Expected":
        """From mean demand, chance of a stock-out and mean of what is not served (the `outlook`).

        >>> two = np.array([2.0])
        >>> found = Expected.of(
        ...     Action(price=4 * two, order=two),
        ...     stock=3 * two,
        ...     outlook=(5 * two, two / 4, two),
        ...     shop=Shop(arrival="before"),
        ...     costs=UnitCosts(lost=1.0, order=3.0, holding=0.5),
        ...     value=two,
        ...     unseen=np.array([False]),
        ... )
        >>> found.sales, found.leftover, found.profit
        (array([8.]), array([0.]), array([56.]))
        """
        demand, chance, lost = outlook
        available = units_available(stock, action.order, shop.flow)
        sales = np.clip(demand - lost, 0.0, available)
        lost, leftover = demand - sales, available - sales  # so that what is demanded and available adds up
        profit = period_profit(action.price, action.order, sales, lost, leftover, costs)
        unit_cost = np.broadcast_to(np.asarray(costs.order, dtype=np.float64), sales.shape)
        return cls(demand, sales, lost, leftover, chance, profit, value, unit_cost, unseen)
