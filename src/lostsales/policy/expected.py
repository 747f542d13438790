"""Expectations of an action, for policies that have a demand model.

The profit of a decision is that of the periods until the next order would arrive, with stock and orders on their way
valued at what they cost: units earn their margin when they are sold. What an order costs today is no loss.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from lostsales.data.economics import UnitCosts, sales_profit, units_available
from lostsales.data.pipelines import expected_arrivals
from lostsales.data.shop import Shop
from lostsales.policy.view import Action, View
from lostsales.types import Bools, Floats, Ints

# Mean demand, chance of a stock-out and mean unserved demand of today, each (rows,), given the available units (rows,).
DemandOutlook = Callable[[Floats], tuple[Floats, Floats, Floats]]


@dataclass(frozen=True, eq=False)
class Expected:
    """Expectations of the period that opens, and the value of what follows; every array is (rows,)."""

    demand: Floats
    sales: Floats
    lost: Floats  # demand that is not served
    leftover: Floats
    stockout_chance: Floats
    profit: Floats  # of the periods covered, with stock and orders on their way valued at cost
    value: Floats  # of this period and what follows, as the policy judges its own decisions
    unit_cost: Floats  # of an order
    unseen: Bools  # nothing is known of demand at this price, or the series never had such an action
    periods: Ints  # covered: until the next order would arrive, today's among them
    cover_demand: Floats  # of the periods covered, as what follows
    cover_sales: Floats
    cover_lost: Floats
    cover_leftover: Floats  # at the end of the last one
    cover_stockout_chance: Floats  # in any of them

    @classmethod
    def of(
        cls,
        view: View,
        action: Action,
        outlook: DemandOutlook,
        shop: Shop,
        costs: UnitCosts,
        value: Floats,
        unseen: Bools,
    ) -> "Expected":
        """Expectations by the outlook of demand; demand of the later periods covered is taken to be like today's.

        >>> two = np.array([2.0])
        >>> found = Expected.of(
        ...     View(0, (), 3 * two, two, two < 0, two, None),
        ...     Action(price=4 * two, order=two),
        ...     outlook=lambda available: (5 * two, two / 4, np.maximum(5 * two - available, 0.0)),
        ...     shop=Shop(arrival="after"),
        ...     costs=UnitCosts(lost=1.0, order=3.0, holding=0.5),
        ...     value=two,
        ...     unseen=np.array([False]),
        ... )
        >>> found.sales, found.lost, found.periods, found.profit  # 6 and 2 units are sold at a margin of 5
        (array([6.]), array([4.]), array([2]), array([28.]))
        >>> found.cover_demand, found.cover_sales, found.cover_lost, found.cover_leftover
        (array([20.]), array([8.]), array([12.]), array([0.]))
        """
        price, order = action
        periods = np.broadcast_to(shop.periods_covered(view.order_phase), order.shape)
        arrivals = arrivals_of(view, order, shop, int(periods.max(initial=1)))
        available = units_available(view.stock, order, shop.flow)
        demand, chance, lost = outlook(available)
        sales = np.clip(demand - lost, 0.0, available)
        lost, leftover = demand - sales, available - sales  # so that what is demanded and available adds up
        # A unit that arrives bears the cost of those that were paid for and never came.
        margin = price - costs.order / (shop.supply.share * (1 - shop.lead_times.lost))
        sold, unserved, kept = sales.copy(), lost.copy(), leftover.copy()
        later, final, risk, supplied = leftover, leftover.copy(), chance.copy(), available.copy()
        for period in range(1, arrivals.shape[1]):
            covers, supplied = period < periods, supplied + arrivals[:, period]
            risk = np.where(covers, np.maximum(risk, outlook(_like_one(supplied, demand, period + 1))[1]), risk)
            available = later + arrivals[:, period]
            available = available if shop.capacity is None else np.minimum(available, shop.capacity)
            served = np.clip(demand - outlook(available)[2], 0.0, available)
            later = available - served
            final = np.where(covers, later, final)
            sold += covers * served
            unserved += covers * (demand - served)
            kept += covers * later
        profit = sales_profit(margin, sold, unserved, kept, costs)
        # The units of an order share its fixed cost, and bear it when they are sold.
        profit -= costs.fixed_order * np.minimum(sold / np.where(order > 0, order, 1.0), 1.0) * (order > 0)
        unit_cost = np.broadcast_to(np.asarray(costs.order, dtype=np.float64), sales.shape)
        cover = periods * demand, sold, unserved, final, risk
        return cls(demand, sales, lost, leftover, chance, profit, value, unit_cost, unseen, periods, *cover)

    def at_cost(self, order: Floats, unit_cost: Floats | None) -> "Expected":
        """Expectations where the units of today's order (rows,) cost otherwise; what follows is unchanged."""
        if unit_cost is None:
            return self
        saved = (self.unit_cost - unit_cost) * order
        return replace(self, profit=self.profit + saved, value=self.value + saved, unit_cost=unit_cost)


def _like_one(supplied: Floats, demand: Floats, periods: int) -> Floats:
    """Units that one period sells out as likely as several do the units supplied, (rows,).

    The sum of independent demands is as far from its mean, in standard deviations, as the demand of one period.
    """
    return np.asarray(np.maximum(demand + (supplied - periods * demand) / np.sqrt(periods), 0.0))


def arrivals_of(view: View, order: Floats, shop: Shop, periods: int) -> Floats:
    """Units expected to be added to the stock before the sales of each period, (rows, periods); none to today's."""
    found = np.zeros((len(order), periods))
    if view.pipeline is not None:
        on_way = expected_arrivals(shop, view.pipeline)[:, : periods - 1]
        found[:, 1 : 1 + on_way.shape[1]] += on_way
    for wait, chance in enumerate(shop.lead_times.chances[:periods]):
        if wait:
            found[:, wait] += shop.supply.share * chance * order
    return found


def periods_of_cover(quantity: Floats, demand: Floats) -> Floats:
    """Periods of expected demand that a quantity lasts, infinity where none is expected."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(demand > 0, quantity / demand, np.inf)
