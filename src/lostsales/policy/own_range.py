"""What each series has seen of prices and orders, and how far beyond a recommendation may go."""

from dataclasses import dataclass, fields
from typing import Annotated

import numpy as np

from lostsales.data.ladders import own_multiples
from lostsales.data.log import SalesLog
from lostsales.demand.survival.series_law import series_units
from lostsales.policy.action_grid import ActionGrid
from lostsales.saved_fields import numbers
from lostsales.types import Bools, Floats, Ints, exceeds

BEYOND = 2.0  # times the range of its own prices and orders
BY_SERIES = numbers("series", least=0, infinite=True)
MOST_PERIODS = 10.0  # of its mean sales in one order, unless its orders usually are larger


@dataclass(frozen=True, eq=False)
class OwnRange:
    """By series or row: the prices and orders that it had, and those that may be recommended to it."""

    lowest_price: Annotated[Floats, BY_SERIES]
    highest_price: Annotated[Floats, BY_SERIES]
    largest_order: Annotated[Floats, BY_SERIES]
    least_price: Annotated[Floats, BY_SERIES]  # that may be recommended, 0 where any may
    most_price: Annotated[Floats, BY_SERIES]  # inf where any may
    most_order: Annotated[Floats, BY_SERIES]  # inf where any may
    unit: Annotated[Floats, BY_SERIES]  # what its orders come in, 0 where in anything

    @classmethod
    def of(cls, log: SalesLog) -> "OwnRange":
        """Of the series of a log; prices and orders that the problem lists are asked for, and not limited."""
        names, part = np.unique(log.names, return_inverse=True)
        own, count = part[log.series], len(names)
        order = np.zeros(len(log)) if log.order is None else log.order
        lowest, highest, largest = np.full(count, np.inf), np.zeros(count), np.zeros(count)
        np.minimum.at(lowest, own, log.price)
        np.maximum.at(highest, own, log.price)
        np.maximum.at(largest, own, order)
        mean = np.bincount(own, log.sales, count) / np.maximum(np.bincount(own, minlength=count), 1)
        limit, least = MOST_PERIODS * mean, _least_order(order, own, count)
        usual = _median_order(order, own, count)
        limit = np.where(usual > limit, BEYOND * usual, limit)
        most = np.maximum(np.minimum(limit, BEYOND * largest), least)
        any_price, any_order = log.problem.prices is not None, log.problem.orders is not None
        found: tuple[Floats, ...] = (
            lowest,
            highest,
            largest,
            np.zeros(count) if any_price else lowest / BEYOND,
            np.full(count, np.inf) if any_price else BEYOND * highest,
            np.full(count, np.inf) if any_order else most,
        )
        columns = *(each[part] for each in found), own_multiples(log, series_units(log))
        return cls(*columns)

    def take(self, at: Ints, is_unknown: Bools, most_order: Floats) -> "OwnRange":
        """Of some of the series; an unknown one has seen nothing that could be left, and orders up to `most_order`."""
        free: tuple[Floats | float, ...] = (0.0, np.inf, np.inf, 0.0, np.inf, most_order, 0.0)
        columns = zip(self._columns, free, strict=True)
        return OwnRange(*(np.where(is_unknown, other, each[at]) for each, other in columns))

    @property
    def _columns(self) -> list[Floats]:
        return [getattr(self, each.name) for each in fields(self)]

    def rows(self, rows: Ints) -> "OwnRange":
        """Of some of the rows."""
        return OwnRange(*(each[rows] for each in self._columns))

    def allowed(self, grid: ActionGrid, feasible: Bools) -> Bools:
        """Feasible actions (rows, actions) within the limits; all of them in a row where none is."""
        price, order = grid.price, grid.order
        may = ~exceeds(order, self.most_order[:, None]) & ~exceeds(price, self.most_price[:, None])
        may &= feasible & ~exceeds(self.least_price[:, None], price)
        return np.where(may.any(axis=1, keepdims=True), may, feasible)

    def unseen(self, price: Floats, order: Floats) -> Bools:
        """Decisions outside what the series has seen, (rows,)."""
        outside = exceeds(price, self.highest_price) | exceeds(self.lowest_price, price)
        return np.asarray(outside | exceeds(order, self.largest_order))


def _least_order(order: Floats, own: Ints, count: int) -> Floats:
    """The smallest order that each series placed, 0 where it placed none, (count,)."""
    least = np.full(count, np.inf)
    np.minimum.at(least, own[order > 0], order[order > 0])
    return np.where(np.isinf(least), 0.0, least)


def _median_order(order: Floats, own: Ints, count: int) -> Floats:
    """The median of the orders that each series placed, 0 where it placed none, (count,)."""
    placed = np.flatnonzero(order > 0)
    placed = placed[np.lexsort((order[placed], own[placed]))]
    rows = np.bincount(own[placed], minlength=count)
    middle = np.cumsum(rows) - rows + (rows - 1) // 2
    return np.where(rows > 0, order[placed][np.clip(middle, 0, max(len(placed) - 1, 0))] if len(placed) else 0.0, 0.0)
