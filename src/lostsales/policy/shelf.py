"""Ages of stock: units by the periods of life that they have left."""

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from lostsales.data.balance import stock_after
from lostsales.data.economics import expire, issue, whole_delivery
from lostsales.data.log import SalesLog
from lostsales.data.product_keys import MOST_LIFE
from lostsales.data.shop import Shop
from lostsales.saved_fields import numbers
from lostsales.types import Floats, Ints

LOOK_BACK = 3  # shelf lives, from whose rows the ages of a stock are derived


@dataclass(frozen=True, eq=False)
class ShelfLives:
    """Life of the units of each product, means over a log; the last entry is that of an unknown product."""

    life: Annotated[Floats, numbers("series+1", least=1, most=MOST_LIFE)]  # whole periods
    waste_cost: Annotated[Floats, numbers("series+1", least=0)]
    from_oldest: Annotated[Floats, numbers("series+1", least=0, most=1)]

    @classmethod
    def of(cls, log: SalesLog) -> "ShelfLives | None":
        """Lives of the products of a log; None where units keep for ever."""
        if log.shelf_life is None or log.waste_cost is None or log.from_oldest is None:
            return None
        cost, oldest = log.products.means(log.waste_cost), log.products.means(log.from_oldest)
        life = np.rint(log.products.means(log.shelf_life))
        return cls(
            np.r_[life, np.rint(np.median(life))], np.r_[cost, np.median(cost)], np.r_[oldest, np.median(oldest)]
        )


@dataclass(frozen=True, eq=False)
class Shelf:
    """Stock of many series by remaining life, when a period opens."""

    units: Floats  # (longest shelf life, series) those in the last period of their life first
    life: Ints  # (series,) shelf life in periods
    from_oldest: Floats  # (series,) share of the units sold that are the oldest ones

    @classmethod
    def of(cls, shop: Shop, stock: Floats) -> "Shelf | None":
        """Shelves of an opening, whose stock arrived last; None where the life of a product has no end."""
        life, share = shop.product.shelf_life, shop.product.oldest_first
        if not isinstance(life, int) or isinstance(share, str):
            return None
        return cls.fresh(shop, np.full(len(stock), life), np.full(len(stock), share), stock)

    @classmethod
    def fresh(cls, shop: Shop, life: Ints, from_oldest: Floats, stock: Floats) -> "Shelf":
        """Shelves of an opening whose stock arrived last."""
        units = np.zeros((life.max(initial=1), len(stock)))
        units[np.maximum(life - 1 - (shop.arrival == "before"), 0), np.arange(len(stock))] = stock
        return cls(units, life, from_oldest)

    @property
    def seen(self) -> Floats:
        """Units by remaining life as a `View` shows them, (series, longest shelf life)."""
        return self.units.T.copy()

    def filled(self, stock: Floats) -> "Shelf":
        """The shelf with what arrived: the part of the stock that is not on it is fresh."""
        units, series = self.units.copy(), np.arange(len(stock))
        units[self.life - 1, series] += stock - units.sum(axis=0)
        return replace(self, units=units)

    def closed(self, available: Floats, sold: Floats, rng: np.random.Generator | None) -> tuple[Floats, "Shelf"]:
        """Units that are thrown away when a period ends, (series,), and the shelf that they leave.

        A part of a unit that is taken from the oldest is a whole unit at random, and without draws a part.

        >>> shelf = Shelf(np.array([[2.0], [3.0]]), np.array([2]), np.ones(1))
        >>> wasted, left = shelf.closed(np.array([6.0]), np.array([1.0]), None)
        >>> wasted, left.units.tolist()
        (array([1.]), [[4.0], [0.0]])
        """
        units, oldest = self.filled(available).units, self.from_oldest * sold
        if rng is not None and self.is_mixed:
            whole, more = whole_delivery(sold, self.from_oldest)
            oldest = whole + (rng.random(len(sold)) < more)
        issue(units, sold, oldest)
        wasted: Floats = expire(units)
        return wasted, replace(self, units=units)

    def known(self, available: Floats, sold: Floats, wasted: Floats, stock: Floats) -> "Shelf":
        """The expected shelf after a period whose waste is known, and the stock that follows it.

        Waste beyond the expected was older than believed; what was expected to be wasted and was not is a period
        fresher.

        >>> shelf = Shelf(np.array([[2.0], [3.0]]), np.array([2]), np.array([0.5]))
        >>> shelf.known(np.array([5.0]), np.array([2.0]), np.array([2.0]), np.array([1.0])).units.tolist()
        [[1.0], [0.0]]
        """
        expected, shelf = self.closed(available, sold, None)
        units = shelf.units
        units[0] += np.maximum(expected - wasted, 0.0)
        older = np.maximum(wasted - expected, 0.0)
        issue(units, older, older)
        return shelf.counted(stock)

    def counted(self, stock: Floats) -> "Shelf":
        """The shelf where so many units were counted: those missing were the oldest, those beyond are fresh."""
        units = self.units.copy()
        gone = np.maximum(units.sum(axis=0) - stock, 0.0)
        issue(units, gone, gone)
        return replace(self, units=units).filled(stock)

    @property
    def is_mixed(self) -> bool:
        """True where some units are taken from the oldest and some from the freshest."""
        return bool(((self.from_oldest > 0) & (self.from_oldest < 1)).any())


def believed_ages(log: SalesLog, series: Ints, end: Ints, stock: Floats) -> Floats | None:
    """Expected stock by remaining life behind the rows before `end`, (series, longest shelf life).

    It follows from receipts, sales and waste; `series` and `stock` are those of the period that opens then. None where
    units keep for ever.
    """
    if log.shelf_life is None or log.from_oldest is None or log.stock is None or log.ledger is None:
        return None
    first, last = log.starts[series], np.maximum(end - 1, 0)
    life = log.shelf_life[last].astype(np.int64)
    shelf = Shelf.fresh(log.problem, life, log.from_oldest[last], np.zeros(len(end)))
    after, wasted = stock_after(log), np.zeros(len(log)) if log.wasted is None else log.wasted
    back = np.minimum(end - first, LOOK_BACK * life)
    for ago in range(int(back.max(initial=0)), 0, -1):
        is_on, at = back >= ago, np.maximum(end - ago, 0)
        begins = back == ago
        opening = Shelf.fresh(log.problem, life, shelf.from_oldest, log.stock[at])
        shelf = replace(shelf, units=np.where(begins, opening.units, shelf.units))
        follows = np.where(at + 1 == end, stock, log.stock[np.minimum(at + 1, len(log) - 1)])
        # What is missing from the stock that follows was thrown away, too.
        unsold = np.maximum(log.available[at] - log.sales[at], 0.0)
        gone = wasted[at] + np.clip(after[at] - follows, 0.0, np.maximum(unsold - wasted[at], 0.0))
        closed = shelf.known(log.available[at], log.sales[at], gone, follows)
        shelf = replace(shelf, units=np.where(is_on, closed.units, shelf.units))
    missing = Shelf.fresh(log.problem, life, shelf.from_oldest, stock - shelf.units.sum(axis=0))
    return np.maximum(np.where(back > 0, shelf.units, missing.units), 0.0).T.copy()
