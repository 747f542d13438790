"""Reasons for a decision on sample paths: what demand, prices and deliveries lead to, in figures and in words.

Texts hold prices, shares and periods, which are the same in any unit of quantity.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lostsales.data.economics import units_available
from lostsales.data.shop import Shop
from lostsales.policy.expected import arrivals_of, periods_of_cover
from lostsales.policy.view import View
from lostsales.types import Array, Bools, Floats, Ints

LEAST_CHANGE = 0.005  # relative change of a price that is worth a word: 1 % when it is rounded
LEAST_DEMAND_CHANGE = 0.05  # the same of demand


class StockOutlook(NamedTuple):
    """Demand and stock from today on; every array is (rows,)."""

    demand: Floats  # expected today
    stockout_chance: Floats  # today
    lost: Floats  # expected today
    next_delivery: Ints  # periods that the stock has to last; with nothing on the way, until an order could be there
    stockout_before: Floats  # chance of a stock-out in any of them
    cover: Floats  # periods of demand that stock, orders on the way and today's order last
    later: Floats  # expected demand a period, over the periods of an order

    @classmethod
    def of(cls, shop: Shop, view: View, order: Floats, demand: Floats) -> "StockOutlook":
        """Outlook by sampled demands (rows, paths, periods)."""
        available, today, periods = units_available(view.stock, order, shop.flow), demand[:, :, 0], demand.shape[2]
        arrives = arrivals_of(view, order, shop, periods)[:, 1:] > 0
        covered = np.broadcast_to(shop.periods_covered(view.order_phase), order.shape)
        first = 1 + arrives.argmax(axis=1) if periods > 1 else np.ones(len(order), dtype=np.int64)
        wait = np.where(arrives.any(axis=1), first, np.clip(covered, 1, periods))
        until = np.take_along_axis(demand.cumsum(axis=2), (wait - 1)[:, None, None], axis=2)[:, :, 0]
        short, later = np.maximum(today - available[:, None], 0.0), demand.mean(axis=(1, 2))
        return cls(
            demand=today.mean(axis=1),
            stockout_chance=np.mean(short > 0, axis=1),
            lost=short.mean(axis=1),
            next_delivery=wait,
            stockout_before=np.mean(until > available[:, None], axis=1),
            cover=periods_of_cover(view.stock + view.on_order + order, later),
            later=later,
        )


@dataclass(frozen=True, eq=False)
class PriceOutlook:
    """Price of each row beside the usual one of its state of promotion; every array is (rows,)."""

    price: Floats
    usual: Floats
    planned: Floats  # planned for later periods: it earns most where the stock does not matter
    cost: Floats  # of a unit
    demand: Floats  # expected today
    usual_demand: Floats  # expected today at the usual price
    elasticity: Floats
    is_kept: Bools  # it has changed too short a time ago
    is_unknown: Bools  # the product is not in the log
    is_promoted: Bools
    is_only: Bools  # no other price may be charged

    @property
    def units(self) -> Floats:
        """Expected demand less that at the usual price."""
        return self.demand - self.usual_demand

    @property
    def margin(self) -> Floats:
        """Expected margin of this demand less that at the usual price."""
        return (self.price - self.cost) * self.demand - (self.usual - self.cost) * self.usual_demand

    def reasons(self, sets_prices: bool, price_every: int) -> Array:
        """Reason for each price, (rows,) text."""
        if not sets_prices:
            return np.full(len(self.price), "prices are given, only orders are decided", dtype=object)
        return np.array([self._reason(row, price_every) for row in range(len(self.price))], dtype=object)

    def _reason(self, row: int, price_every: int) -> str:
        price, usual, planned = (float(each[row]) for each in (self.price, self.usual, self.planned))
        state = "usual price of a promotion" if self.is_promoted[row] else "usual price"
        if self.is_unknown[row]:
            return "kept: the log has no price of this product"
        if self.is_kept[row]:
            return f"kept: prices may change every {price_every} periods, and this one has changed since"
        if self.is_only[row]:
            return f"the {state}: no other was charged, or may be"
        if abs(price - usual) < LEAST_CHANGE * usual:
            return f"the {state}: no other earns more beyond the uncertainty of its effect"
        told = f"{abs(price / usual - 1):.0%} {'above' if price > usual else 'below'} the {state} {money(usual)}"
        if abs(price - planned) >= LEAST_CHANGE * planned:
            told += f", for now ({money(planned)} is planned after it)"
        demand, margin = (self.demand[row], self.usual_demand[row]), float(self.margin[row])
        effect = f"demand {demand[0] / demand[1] - 1:+.0%} (elasticity {self.elasticity[row]:.1f})" if demand[1] else ""
        return f"{told}: {effect}, {'a higher' if margin > 0 else 'a lower'} margin in total"


@dataclass(frozen=True, eq=False)
class OrderOutlook:
    """Order of each row and what it is for; every array is (rows,)."""

    order: Floats
    stock: StockOutlook
    covered: Ints  # periods until an order of the next order day would arrive
    to_order_day: Ints  # periods until the next order day, 0: today
    is_limited: Bools  # as much as may be ordered
    usual_demand: Floats  # of a period

    def reasons(self) -> Array:
        """Reason for each order, (rows,) text."""
        return np.array([self._reason(row) for row in range(len(self.order))], dtype=object)

    def _reason(self, row: int) -> str:
        cover, later = float(self.stock.cover[row]), int(self.to_order_day[row])
        lasts = f"stock and orders on the way last {cover:.1f} periods"
        lasts = lasts if np.isfinite(cover) else "no demand is expected"
        if later:
            return f"no order day, the next is in {_periods(later)}: {lasts}"
        told = f"{lasts}, and the next order is there after {_periods(int(self.covered[row]))}"
        change = float(self.stock.later[row] / self.usual_demand[row] - 1) if self.usual_demand[row] > 0 else 0.0
        if abs(change) >= LEAST_DEMAND_CHANGE:
            told += f"; demand is {abs(change):.0%} {'above' if change > 0 else 'below'} the usual"
        if not self.order[row]:
            return f"none: {told}"
        return f"with it, {told}" + ("; no more may be ordered" if self.is_limited[row] else "")


def _periods(count: int) -> str:
    return f"{count} period{'s' if count != 1 else ''}"


def money(price: float) -> str:
    """A price without needless zeros.

    >>> money(4.0), money(3.490000000001), money(12345.5)
    ('4', '3.49', '12345.5')
    """
    return f"{price:.4f}".rstrip("0").rstrip(".")
