"""The actions of each series: in its own money and units, and in the coordinates that series share."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from lostsales.data.ladders import Ladders
from lostsales.policy.action_grid import ActionGrid
from lostsales.saved_fields import NonNegativeOrInfinite
from lostsales.types import Floats, Ints


@dataclass(frozen=True, eq=False)
class OwnActions:
    """Ladders of prices and orders, and what stock and order together may not exceed."""

    ladders: Ladders
    room: NonNegativeOrInfinite

    def __len__(self) -> int:
        return len(self.ladders.prices) * len(self.ladders.orders)

    @property
    def n_orders(self) -> int:
        """How many orders go with each price."""
        return len(self.ladders.orders)

    @property
    def rungs(self) -> ActionGrid:
        """The rungs themselves."""
        return ActionGrid(self.ladders.prices, self.ladders.orders, self.room)

    def grid(
        self, usual_price: Floats, scale: Floats, multiple: Floats | None = None, unit_cost: Floats | float = 0.0
    ) -> ActionGrid:
        """The actions of rows of a usual price and scale, whose orders come in a multiple of their own, all (rows,)."""
        ladders = self.ladders
        prices = ladders.prices_of(usual_price) if ladders.relative_prices else ladders.prices
        orders = ladders.orders_of(scale, multiple) if ladders.relative_orders else ladders.orders
        return ActionGrid(prices, orders, self.room, unit_cost)

    def coordinates(self, usual_price: float, scale: float, multiple: float | None = None) -> Floats:
        """Every (price, order) relative to a usual price and a scale, (actions, 2); prices before they are rounded."""
        ladders = self.ladders
        prices = ladders.prices if ladders.relative_prices else ladders.prices / usual_price
        orders = ladders.orders_of(scale, None if multiple is None else np.asarray(multiple))
        return ActionGrid(prices, orders / scale, np.inf).pairs

    def groups(
        self, usual_price: Floats, scale: Floats, multiple: Floats | None = None
    ) -> Iterator[tuple[Ints, Floats]]:
        """Rows whose actions have the same coordinates, and these."""
        price = np.ones(len(scale)) if self.ladders.relative_prices else usual_price
        columns = [price, scale] if multiple is None else [price, scale, multiple]
        found, group = np.unique(np.column_stack(columns), axis=0, return_inverse=True)
        for index, own in enumerate(found):
            yield np.flatnonzero(group.reshape(-1) == index), self.coordinates(*map(float, own))
