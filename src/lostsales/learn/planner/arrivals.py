"""Arrival of orders: chances by period, and how long the stock depends on the orders of today and before."""

from typing import Annotated, NamedTuple

import numpy as np

from lostsales.data.shop import Shop
from lostsales.saved_fields import Count, Share, numbers, wholes
from lostsales.types import Array, Floats, Ints

LONGEST_CYCLE = 31  # order days that are further apart are decided without a plan of their phase


class Arrivals(NamedTuple):
    """Distribution of the arrival of orders; period 0 is the next one.

    An order counts from the next period on, so that an order with lead time 1 is there in period 0.
    """

    # (columns of the pipeline + 1, periods) that an order, the last one that of today, is there first
    chances: Annotated[Floats, numbers("?", "?", least=0)]
    first: Count  # period in which an order of today can arrive first
    # (phases,) of the next period: periods until an order that is not yet placed arrives
    horizons: Annotated[Ints, wholes("phases", least=0)]
    before: bool  # an order of today can be sold today
    share: Share  # of an order that arrives

    @classmethod
    def of(cls, shop: Shop) -> "Arrivals":
        """Arrivals by the supply of a shop; units that never arrive have no chance."""
        law = shop.lead_times
        chances, length = np.array(law.chances), shop.pipeline_length
        before = law.longest == 0
        horizons = _waits(shop) + (0 if before else max(round(law.mean), 1))
        periods = max(int(horizons.max()), law.longest, 1)
        table = np.zeros((length + 1, periods))
        for column in range(length + 1):
            waited = length - column
            later = chances[waited + 1 :]
            table[column, : len(later)] = later / max(later.sum() + law.lost, 1e-12)
        possible = np.flatnonzero(table[-1] > 0)
        first = int(possible[0]) if len(possible) else periods
        return cls(table, first, horizons, before, float(shop.supply.share))

    def later(self) -> "Arrivals":
        """Arrivals from the beginning of a period on, in which no order arrives."""
        chances = np.column_stack([np.zeros(len(self.chances)), self.chances])
        return self._replace(chances=chances, first=chances.shape[1])

    @property
    def phases(self) -> int:
        """Positions in the cycle of order days, 1 where orders may be placed in every period."""
        return len(self.horizons)

    @property
    def longest(self) -> int:
        """The longest horizon."""
        return int(self.horizons.max())


def has_pipeline(shop: Shop) -> bool:
    """False where an order is there today or in the next period, and may be placed in any."""
    return not shop.receives_orders or cycle_of(shop) is not None


def cycle_of(shop: Shop) -> Array | None:
    """Order days by position in their cycle; None where the plan has no cycle."""
    cycle = shop.supply.order_cycle
    return None if cycle is None or len(cycle) > LONGEST_CYCLE else np.array(cycle)


def _waits(shop: Shop) -> Ints:
    """Periods from each position of the cycle until an order may be placed, (phases,)."""
    cycle = cycle_of(shop)
    if cycle is None:
        return np.zeros(1, dtype=np.int64)
    return np.array([int(np.argmax(np.roll(cycle, -phase))) for phase in range(len(cycle))], dtype=np.int64)
