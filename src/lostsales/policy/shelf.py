"""Ages of stock: units by the periods of life that they have left."""

from dataclasses import dataclass, replace

import numpy as np

from lostsales.data.economics import expire, issue, whole_delivery
from lostsales.data.shop import Shop
from lostsales.types import Floats, Ints


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
        series = len(stock)
        units = np.zeros((life, series))
        units[max(life - 1 - (shop.arrival == "before"), 0)] = stock
        return cls(units, np.full(series, life), np.full(series, share))

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

    @property
    def is_mixed(self) -> bool:
        """True where some units are taken from the oldest and some from the freshest."""
        return bool(((self.from_oldest > 0) & (self.from_oldest < 1)).any())
