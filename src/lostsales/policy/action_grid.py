"""The grid of joint (price, order) actions, shared by all rows or one a row."""

from dataclasses import dataclass

import numpy as np

from lostsales.data.problem import Shop
from lostsales.errors import SettingError
from lostsales.policy.view import Action
from lostsales.types import Bools, Floats, Ints, exceeds


@dataclass(frozen=True)
class ActionGrid:
    """Every price with every order, prices outermost; one grid for all rows, or one a row with as many actions."""

    prices: Floats  # (prices,) or (rows, prices), rising
    orders: Floats  # (orders,) or (rows, orders), rising
    room: float  # stock + order may not exceed this
    unit_cost: Floats | float = 0.0  # of an order, a number or (rows,); a least margin is above it

    @classmethod
    def of(cls, shop: Shop) -> "ActionGrid":
        """The grid of a shop that declares one."""
        if shop.prices is None or shop.orders is None:
            raise SettingError("prices and orders must be declared to act on them")
        return cls(np.array(shop.prices), np.array(shop.orders), room_of(shop))

    def __len__(self) -> int:
        return int(self.prices.shape[-1] * self.orders.shape[-1])

    @property
    def price(self) -> Floats:
        """The price of each action, (..., actions)."""
        return np.repeat(self.prices, self.orders.shape[-1], axis=-1)

    @property
    def order(self) -> Floats:
        """The order of each action, (..., actions)."""
        return np.tile(self.orders, self.prices.shape[-1])

    @property
    def pairs(self) -> Floats:
        """Every (price, order), (..., actions, 2)."""
        return np.stack(np.broadcast_arrays(self.price, self.order), axis=-1)

    def taken(self, actions: Ints) -> Action:
        """The actions of the given indices, one a row."""
        price, order = np.divmod(actions, self.orders.shape[-1])
        return Action(_entries(self.prices, price), _entries(self.orders, order))

    def feasible_orders(self, stock: Floats) -> Ints:
        """How many of the orders, counted from the smallest, fit on top of each stock; the smallest always may.

        >>> grid = ActionGrid(np.array([4.0]), np.array([0.0, 5.0, 10.0]), room=12.0)
        >>> grid.feasible_orders(np.array([0.0, 5.0, 12.0]))
        array([3, 2, 1])
        """
        fits = ~exceeds(stock[:, None] + self.orders, self.room)
        return np.asarray(np.maximum(np.count_nonzero(fits, axis=1), 1))

    def most_orders(self, stock: Floats) -> Floats:
        """The largest order that fits on top of each stock."""
        return _entries(self.orders, self.feasible_orders(stock) - 1)


def room_of(shop: Shop) -> float:
    """What stock and order together may not exceed."""
    return np.inf if shop.capacity is None or shop.capacity_rule != "forbid" else shop.capacity


def _entries(rungs: Floats, at: Ints) -> Floats:
    return rungs[at] if rungs.ndim == 1 else rungs[np.arange(len(at)), at]


def keep_largest(allowed: Bools, values: Floats) -> Bools:
    """Of the allowed actions (rows, actions) those with the largest of the values, (actions,) or (rows, actions).

    >>> keep_largest(np.array([[True, True, False]]), np.array([1.0, 5.0, 9.0]))
    array([[False,  True, False]])
    """
    largest = np.where(allowed, values, -np.inf).max(axis=1, keepdims=True)
    return np.asarray(allowed & (values == largest))
