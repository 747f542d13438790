"""The actions of each series: in its own money and units, and in the coordinates that series share."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from lostsales.data.ladders import Ladders
from lostsales.policy.action_grid import ActionGrid
from lostsales.types import Floats, Ints


@dataclass(frozen=True, eq=False)
class OwnActions:
    """Ladders of prices and orders, and what stock and order together may not exceed."""

    ladders: Ladders
    room: float

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

    def grid(self, usual_price: Floats, scale: Floats, unit_cost: Floats | float = 0.0) -> ActionGrid:
        """The actions of rows of a usual price and scale, both (rows,)."""
        ladders = self.ladders
        prices = ladders.prices_of(usual_price) if ladders.relative_prices else ladders.prices
        orders = ladders.orders_of(scale) if ladders.relative_orders else ladders.orders
        return ActionGrid(prices, orders, self.room, unit_cost)

    def coordinates(self, usual_price: float, scale: float) -> Floats:
        """Every (price, order) relative to a usual price and a scale, (actions, 2); prices before they are rounded."""
        ladders = self.ladders
        prices = ladders.prices if ladders.relative_prices else ladders.prices / usual_price
        return ActionGrid(prices, ladders.orders_of(scale) / scale, np.inf).pairs

    def groups(self, usual_price: Floats, scale: Floats) -> Iterator[tuple[Ints, Floats]]:
        """Rows whose actions have the same coordinates, and these."""
        price = np.ones(len(scale)) if self.ladders.relative_prices else usual_price
        found, group = np.unique(np.column_stack([price, scale]), axis=0, return_inverse=True)
        for index, (own_price, own_scale) in enumerate(found):
            yield np.flatnonzero(group.reshape(-1) == index), self.coordinates(float(own_price), float(own_scale))
