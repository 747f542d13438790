"""What each series has seen of prices and orders, and how far beyond a recommendation may go."""

from dataclasses import dataclass, fields
from typing import Annotated

import numpy as np

from lostsales.data.assortment import is_assortment
from lostsales.data.business_rules import BusinessRules
from lostsales.data.ladders import ROUNDED_APART, own_multiples
from lostsales.data.log import SalesLog
from lostsales.demand.survival.series_law import series_units
from lostsales.policy.action_grid import ActionGrid
from lostsales.saved_fields import numbers
from lostsales.types import Bools, Floats, Ints, exceeds

BEYOND = 2.0  # times its largest order
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
    def of(cls, log: SalesLog, rules: BusinessRules | None = None) -> "OwnRange":
        """Range of the series of a log.

        Prices lie within those of the series, and `price_beyond` of the rules beyond; a series that never ordered may
        order as much as an unknown one. Prices and orders that the problem or the rules list are not limited.
        """
        rules = BusinessRules() if rules is None else rules
        names, part = log.products.names, log.products.of_segment
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
        covered = BEYOND * float(log.problem.periods_covered().max()) * mean  # by an order, where none was placed
        most = np.where(largest > 0, np.maximum(np.minimum(limit, BEYOND * largest), least), np.maximum(limit, covered))
        any_price = log.problem.prices is not None or rules.price_ladder is not None
        any_order, further = log.problem.orders is not None, rules.price_beyond
        found: tuple[Floats, ...] = (
            lowest,
            highest,
            largest,
            np.zeros(count) if any_price else lowest * max(1 - further, 0.0),
            np.full(count, np.inf) if any_price else highest * (1 + further),
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

    def prices_within(self, prices: Floats, rules: BusinessRules) -> Floats:
        """Candidate prices (prices,) or (rows, prices) with those that rounding put outside the limits moved to them.

        A row without a price within its limits has the nearest one moved to them. Prices that the rules spell out are
        left as they are.

        >>> one = np.ones(1)
        >>> own = OwnRange(3.95 * one, 4.94 * one, one, 3.95 * one, 4.94 * one, one, one)
        >>> own.prices_within(np.array([3.0, 3.92, 4.9, 5.5]), BusinessRules())
        array([[3.  , 3.95, 4.9 , 5.5 ]])
        """
        if rules.price_endings is not None or rules.price_ladder is not None or np.isinf(self.most_price).all():
            return prices
        inside = np.clip(prices, self.least_price[:, None], self.most_price[:, None])
        far = np.abs(prices - inside)
        moves = far <= ROUNDED_APART * inside
        nearest = far == far.min(axis=1, keepdims=True)
        return np.where(moves | (nearest & ~moves.any(axis=1, keepdims=True)), inside, prices)

    def allowed(self, grid: ActionGrid, feasible: Bools) -> Bools:
        """Feasible actions (rows, actions) within the limits; in a row where none is, those of the nearest price."""
        price, order = grid.price, grid.order
        beyond = np.maximum(np.maximum(price - self.most_price[:, None], self.least_price[:, None] - price), 0.0)
        beyond = np.where(feasible, np.where(exceeds(beyond, 0.0), beyond, 0.0), np.inf)
        near = feasible & (beyond == beyond.min(axis=1, keepdims=True))
        may = near & ~exceeds(order, self.most_order[:, None])
        return np.asarray(np.where(may.any(axis=1, keepdims=True), may, near))

    def unseen(self, price: Floats, order: Floats) -> Bools:
        """Decisions outside what the series has seen, (rows,); not an order of a series that never ordered."""
        outside = exceeds(price, self.highest_price) | exceeds(self.lowest_price, price)
        return np.asarray(outside | (exceeds(order, self.largest_order) & (self.largest_order > 0)))

    @property
    def never_ordered(self) -> Bools:
        """Series that have sales and no logged order, (rows,)."""
        return np.asarray((self.largest_order == 0) & (self.most_order > 0))


def has_own_ranges(log: SalesLog) -> bool:
    """Whether the series of a log are products, and the problem leaves their prices or orders open."""
    return (log.problem.prices is None or log.problem.orders is None) and is_assortment(log)


def one_price_warning(log: SalesLog, rules: BusinessRules) -> str:
    """Warning about products whose price never varied while others' did; empty if there are none."""
    listed = log.problem.prices is not None or rules.price_ladder is not None
    if listed or rules.price_beyond or not has_own_ranges(log):
        return ""
    found = OwnRange.of(log, rules)
    first = np.unique(log.products.of_segment, return_index=True)[1]
    constant, total = int(np.count_nonzero((found.highest_price == found.lowest_price)[first])), len(first)
    if not 0 < constant < total:
        return ""
    told = f"{constant:,} of {total:,} products were sold at one price only, and keep it"
    return f"{told}; `price_beyond` in [rules] allows other prices"


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
