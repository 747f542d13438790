"""The grid of joint (price, order) actions."""

from dataclasses import dataclass

import numpy as np

from lostsales.data.problem import Shop
from lostsales.errors import SettingError
from lostsales.types import Bools, Floats, Ints, exceeds


@dataclass(frozen=True)
class ActionGrid:
    """Every price with every order, prices outermost."""

    prices: Floats  # (prices,) rising
    orders: Floats  # (orders,) rising
    room: float  # stock + order may not exceed this

    @classmethod
    def of(cls, shop: Shop) -> "ActionGrid":
        """The grid of a shop that declares one."""
        if shop.prices is None or shop.orders is None:
            raise SettingError("prices and orders must be declared to act on them")
        room = shop.capacity if shop.capacity_rule == "forbid" else None
        return cls(np.array(shop.prices), np.array(shop.orders), np.inf if room is None else room)

    def __len__(self) -> int:
        return len(self.prices) * len(self.orders)

    def feasible_orders(self, stock: Floats) -> Ints:
        """How many of the orders, counted from the smallest, fit on top of each stock; the smallest always may.

        >>> grid = ActionGrid(np.array([4.0]), np.array([0.0, 5.0, 10.0]), room=12.0)
        >>> grid.feasible_orders(np.array([0.0, 5.0, 12.0]))
        array([3, 2, 1])
        """
        fits = ~exceeds(stock[:, None] + self.orders, self.room)
        return np.asarray(np.maximum(np.count_nonzero(fits, axis=1), 1))

    @property
    def pairs(self) -> Floats:
        """Every (price, order), (actions, 2)."""
        return np.column_stack([np.repeat(self.prices, len(self.orders)), np.tile(self.orders, len(self.prices))])

    def most_orders(self, stock: Floats) -> Floats:
        """The largest order that fits on top of each stock."""
        return self.orders[self.feasible_orders(stock) - 1]


def keep_largest(allowed: Bools, values: Floats) -> Bools:
    """Of the allowed actions (rows, actions) those with the largest of the values (actions,).

    >>> keep_largest(np.array([[True, True, False]]), np.array([1.0, 5.0, 9.0]))
    array([[False,  True, False]])
    """
    largest = np.where(allowed, values, -np.inf).max(axis=1, keepdims=True)
    return np.asarray(allowed & (values == largest))
