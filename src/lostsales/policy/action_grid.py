"""The grid of joint (price, order) actions, shared by all rows or one a row."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from lostsales.data.shop import Shop
from lostsales.errors import LostSalesError, SettingError
from lostsales.policy.view import Action
from lostsales.saved_fields import MOST_ACTIONS, AsJson, NonNegative, NonNegativeOrInfinite, numbers
from lostsales.types import RELATIVE_TOLERANCE, Bools, Floats, Ints, exceeds

PRICE_FIRST = 1e9  # weight of the distance in price, so that it counts before that in order


@dataclass(frozen=True)
class ActionGrid:
    """Every price with every order, prices outermost; one grid for all rows, or one a row with as many actions."""

    # (prices,) and (orders,), or one grid a row; the grid of a policy file is that of all rows
    prices: Annotated[Floats, numbers("grid prices", least=0, rising=True)]
    orders: Annotated[Floats, numbers("grid orders", least=0, rising=True)]
    room: NonNegativeOrInfinite  # stock + order may not exceed this
    # of an order, a number or (rows,); a least margin is above it
    unit_cost: Annotated[Floats | float, AsJson(NonNegative)] = 0.0

    def validate(self) -> None:
        """Raise where a file has more actions than can be."""
        grid_sizes(len(self.prices), len(self.orders))

    @classmethod
    def of(cls, shop: Shop) -> "ActionGrid":
        """The grid of a shop that declares one."""
        if shop.prices is None or shop.orders is None:
            raise SettingError("prices and orders must be declared to act on them")
        return cls(np.array(shop.prices), _in_lots(np.array(shop.orders), shop), room_of(shop))

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

    def nearest(self, wanted: Action, allowed: Bools) -> Action:
        """Allowed action (rows, actions) nearest to a wanted one of each row: in price, and then in order.

        >>> grid = ActionGrid(np.array([4.0, 5.0]), np.array([0.0, 6.0]), np.inf)
        >>> may = np.array([[True, True, False, True]])
        >>> grid.nearest(Action(np.array([4.9]), np.array([1.0])), may)
        Action(price=array([5.]), order=array([6.]))
        """
        far = PRICE_FIRST * np.abs(self.price - wanted.price[:, None]) + np.abs(self.order - wanted.order[:, None])
        return self.taken(np.where(allowed, np.nan_to_num(far), np.inf).argmin(axis=1))

    def feasible_orders(self, stock: Floats, limit: Floats | None = None) -> Ints:
        """Number of orders, counted from the smallest, that fit on top of each stock; the smallest always may.

        `limit` is the most that the supply lets each row order (`View.order_limit`).

        >>> grid = ActionGrid(np.array([4.0]), np.array([0.0, 5.0, 10.0]), room=12.0)
        >>> grid.feasible_orders(np.array([0.0, 5.0, 12.0]))
        array([3, 2, 1])
        """
        fits = ~exceeds(stock[:, None] + self.orders, self.room)
        if limit is not None:
            fits &= ~exceeds(np.broadcast_to(self.orders, fits.shape), limit[:, None])
        return np.asarray(np.maximum(np.count_nonzero(fits, axis=1), 1))

    def most_orders(self, stock: Floats, limit: Floats | None = None) -> Floats:
        """The largest order that fits on top of each stock, and within the limit."""
        return _entries(self.orders, self.feasible_orders(stock, limit) - 1)


def room_of(shop: Shop) -> float:
    """Limit that stock and order together may not exceed."""
    return np.inf if shop.capacity is None or shop.capacity_rule != "forbid" else shop.capacity


def _in_lots(orders: Floats, shop: Shop) -> Floats:
    """The orders that are whole lots and large enough, where the supply says so for all series."""
    multiple, minimum = shop.supply.multiple, shop.supply.minimum
    if isinstance(multiple, float):
        orders = orders[np.abs(orders - np.rint(orders / multiple) * multiple) <= RELATIVE_TOLERANCE * (1 + orders)]
    if isinstance(minimum, float):
        orders = orders[(orders == 0) | (orders >= minimum)]
    if not len(orders):
        raise SettingError("no order of the list is a multiple and at least the minimum that [supply] wants")
    return orders


def _entries(candidates: Floats, at: Ints) -> Floats:
    return candidates[at] if candidates.ndim == 1 else candidates[np.arange(len(at)), at]


def keep_largest(allowed: Bools, values: Floats) -> Bools:
    """Allowed actions (rows, actions) with the largest of the values, (actions,) or (rows, actions).

    >>> keep_largest(np.array([[True, True, False]]), np.array([1.0, 5.0, 9.0]))
    array([[False,  True, False]])
    """
    largest = np.where(allowed, values, -np.inf).max(axis=1, keepdims=True)
    return np.asarray(allowed & (values == largest))


def action_sizes(shop: Shop) -> dict[str, int]:
    """The numbers of prices, orders and actions of a shop's grid, by the names that policy files have for them."""
    return grid_sizes(len(shop.prices or ()), len(shop.orders or ()))


def grid_sizes(prices: int, orders: int) -> dict[str, int]:
    """Numbers of prices, orders and actions of a grid, or an error if these are more than can be."""
    if not 0 < prices * orders <= MOST_ACTIONS:
        raise LostSalesError(
            f"it decides among {prices} prices and {orders} orders; at most {MOST_ACTIONS:,} pairs can be"
        )
    return {"prices": prices, "orders": orders, "actions": prices * orders}
