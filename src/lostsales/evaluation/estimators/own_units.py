"""Units of each product, in which fitted Q-evaluation compares products that differ in size or price."""

from dataclasses import dataclass

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.data.scale import series_scale, usual_price
from lostsales.types import Floats, Ints


@dataclass(frozen=True, eq=False)
class OwnUnits:
    """Divisors of quantities, prices and money of rows of the log, and traits of products; all (rows, ...)."""

    scale: Floats
    price: Floats
    traits: Floats  # (rows, traits) relative spread of sales, unit costs relative to the usual price
    differ: bool  # False: everything is divided by 1

    @classmethod
    def of(cls, log: SalesLog) -> "OwnUnits":
        """Mean sales and median price of each series, where series differ in them."""
        scale, price = series_scale(log)[log.series], usual_price(log)[log.series]
        differ = bool((scale != 1).any() or (price != 1).any())
        if not differ or log.costs is None:
            return cls(scale, price, np.zeros((len(log), 0)), differ)
        relative = log.sales / scale
        columns = (
            relative,
            relative**2,
            *(each / price for each in (log.costs.lost, log.costs.order, log.costs.holding)),
        )
        rows = np.bincount(log.series, minlength=len(log.names))
        mean, square, *costs = (np.bincount(log.series, each, len(log.names)) / rows for each in columns)
        spread = np.sqrt(np.maximum(square - mean**2, 0.0))
        return cls(scale, price, np.column_stack([spread, *costs])[log.series], True)

    @property
    def money(self) -> Floats:
        """Divisor of profits, (rows,)."""
        return self.scale * self.price

    def of_actions(self, actions: Floats, rows: Ints) -> Floats:
        """Prices and orders (..., rows, 2) of some rows, relative to their product."""
        return np.asarray(actions / np.column_stack([self.price[rows], self.scale[rows]]))
