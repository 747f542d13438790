"""Business rules: which of the joint actions a row may take."""

from dataclasses import dataclass

import numpy as np

from lostsales.arrays import RELATIVE_TOLERANCE, Bools, Floats
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
        price, order = grid.pairs.T
        may = np.ones(len(grid), dtype=bool)
        if self.order_multiple is not None:
            cases = order / self.order_multiple
            may &= np.abs(cases - np.rint(cases)) < RELATIVE_TOLERANCE * (1 + cases)
        if self.order_minimum is not None:
            may &= (order == 0) | (order >= self.order_minimum)
        if self.price_ladder is not None:
            may &= np.isin(price, self.price_ladder)
        for pair in self.forbidden:
            may &= (price != pair[0]) | (order != pair[1])
        if not may.any():
            raise SettingError("no action of the grid passes the rules")
        return may

    def feasible(self, grid: ActionGrid, stock: Floats, last_price: Floats | None) -> Bools:
        """Actions that each row may take, (rows, actions); a last price of NaN is unknown and binds nothing.

        Where the rules leave a row nothing, as a price change between two rungs may, the change is let go.
        """
        price, order = grid.pairs.T
        may = self.standing(grid) & (order <= grid.most_orders(stock)[:, None])
        if self.greatest_price_change is not None and last_price is not None:
            step = np.abs(price - last_price[:, None])
            near = may & ~(step > self.greatest_price_change * (1 + RELATIVE_TOLERANCE))
            may = np.where(near.any(axis=1)[:, None], near, may)
        return np.asarray(may)
