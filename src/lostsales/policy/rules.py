"""Business rules: which of the joint actions a row may take."""

from dataclasses import dataclass

import numpy as np

from lostsales.arrays import Bools, Floats, exceeds
from lostsales.errors import SettingError
from lostsales.policy.actions import ActionGrid


@dataclass(frozen=True)
class Rules:
    """What a retailer will not do, on top of the grid; an infeasible action is never a target nor a recommendation."""

    order_multiple: float | None = None  # orders come in cases of so many
    order_minimum: float | None = None  # an order is none or at least this
    price_ladder: tuple[float, ...] | None = None  # only these prices of the grid
    greatest_price_change: float | None = None  # against the last period's price
    forbidden: tuple[tuple[float, float], ...] = ()  # pairs (price, order)

    def standing(self, grid: ActionGrid) -> Bools:
        """Actions that are possible at all, (actions,)."""
        self._check()
        price, order = grid.pairs.T
        may = np.ones(len(grid), dtype=bool)
        if self.order_multiple is not None:
            may &= _same(order, np.rint(order / self.order_multiple) * self.order_multiple)
        if self.order_minimum is not None:
            may &= (order == 0) | ~exceeds(np.full(len(grid), self.order_minimum), order)
        if self.price_ladder is not None:
            may &= _same(price[:, None], np.array(self.price_ladder)).any(axis=1)
        for forbidden_price, forbidden_order in self.forbidden:
            may &= ~(_same(price, forbidden_price) & _same(order, forbidden_order))
        if not may.any():
            raise SettingError("no action of the grid passes the rules")
        return may

    def feasible(self, grid: ActionGrid, stock: Floats, last_price: Floats) -> Bools:
        """Actions that each row may take, (rows, actions); a last price of NaN is unknown and binds nothing.

        Where no rung of the ladder lies within the greatest price change, the change is let go.
        """
        price, order = grid.pairs.T
        may: Bools = self.standing(grid) & (order <= grid.most_orders(stock)[:, None])
        stuck = ~may.any(axis=1)
        if stuck.any():
            raise SettingError(f"the rules leave no order that fits on top of a stock of {stock[stuck][0]:g}")
        if self.greatest_price_change is not None:
            near = may & ~exceeds(np.abs(price - last_price[:, None]), self.greatest_price_change)
            may = np.where(near.any(axis=1, keepdims=True), near, may)
        return may

    def _check(self) -> None:
        for name, value, least in (
            ("order_multiple", self.order_multiple, "above 0"),
            ("order_minimum", self.order_minimum, "at least 0"),
            ("greatest_price_change", self.greatest_price_change, "at least 0"),
        ):
            if value is not None and not (value > 0 or (value == 0 and least == "at least 0")):
                raise SettingError(f"{name} must be {least}, but {value:g} came")


def _same(left: Floats, right: Floats | float) -> Bools:
    return ~exceeds(left, right) & ~exceeds(-left, -np.asarray(right))
