"""Range of prices and orders that a product has had, and how far beyond it a recommendation may go."""

from dataclasses import dataclass, fields
from typing import Annotated

import numpy as np

from lostsales.data.assortment import is_assortment
from lostsales.data.business_rules import BusinessRules
from lostsales.data.candidate_grid import MOST_PERIODS, ROUNDED_APART
from lostsales.data.log import SalesLog
from lostsales.saved_fields import numbers
from lostsales.types import Bools, Floats, Ints, exceeds

ORDER_FACTOR = 2.0  # times its largest order may be recommended: a first step beyond what was tried
_BY_PRODUCT = numbers("series", least=0, infinite=True)


@dataclass(frozen=True, eq=False)
class SeenRange:
    """Seen and allowed prices and orders, by product or by row."""

    lowest_price: Annotated[Floats, _BY_PRODUCT]  # seen
    highest_price: Annotated[Floats, _BY_PRODUCT]
    largest_order: Annotated[Floats, _BY_PRODUCT]
    price_floor: Annotated[Floats, _BY_PRODUCT]  # allowed; 0 without a limit
    price_ceiling: Annotated[Floats, _BY_PRODUCT]  # inf without a limit
    order_ceiling: Annotated[Floats, _BY_PRODUCT]  # inf without a limit

    @classmethod
    def of(cls, log: SalesLog, rules: BusinessRules | None = None) -> "SeenRange":
        """Range of the products of a log.

        Prices lie within those of the product, and `price_beyond` of the rules beyond; a product that never ordered may
        order as much as an unknown one. Prices and orders that the problem or the rules list are not limited.
        """
        rules = BusinessRules() if rules is None else rules
        product, count = log.products.of_row, len(log.products)
        order = np.zeros(len(log)) if log.order is None else log.order
        lowest, highest, largest = np.full(count, np.inf), np.zeros(count), np.zeros(count)
        np.minimum.at(lowest, product, log.price)
        np.maximum.at(highest, product, log.price)
        np.maximum.at(largest, product, order)
        mean = log.products.means(log.sales)
        smallest, usual = _smallest_and_median_orders(order, product, count)
        limit = np.where(usual > MOST_PERIODS * mean, ORDER_FACTOR * usual, MOST_PERIODS * mean)
        covered = ORDER_FACTOR * float(log.problem.periods_covered().max()) * mean  # by an order, where none was placed
        tried = np.maximum(np.minimum(limit, ORDER_FACTOR * largest), smallest)
        ceiling = np.where(largest > 0, tried, np.maximum(limit, covered))
        any_price = log.problem.prices is not None or rules.price_ladder is not None
        any_order, further = log.problem.orders is not None, rules.price_beyond
        return cls(
            lowest,
            highest,
            largest,
            np.zeros(count) if any_price else lowest * max(1 - further, 0.0),
            np.full(count, np.inf) if any_price else highest * (1 + further),
            np.full(count, np.inf) if any_order else ceiling,
        )

    def take(self, at: Ints, is_unknown: Bools, order_ceiling: Floats) -> "SeenRange":
        """Rows of some products; an unknown one has no seen range to leave, and orders up to `order_ceiling`."""
        free: tuple[Floats | float, ...] = (0.0, np.inf, np.inf, 0.0, np.inf, order_ceiling)
        columns = zip(self._columns, free, strict=True)
        return SeenRange(*(np.where(is_unknown, other, each[at]) for each, other in columns))

    def rows(self, rows: Ints) -> "SeenRange":
        """Some of the rows."""
        return SeenRange(*(each[rows] for each in self._columns))

    @property
    def _columns(self) -> list[Floats]:
        return [getattr(self, each.name) for each in fields(self)]

    def prices_within(self, prices: Floats, rules: BusinessRules) -> Floats:
        """Candidate prices (prices,) or (rows, prices) with those that rounding put outside the limits moved to them.

        A row without a price within its limits has the nearest one moved to them. Prices that the rules spell out are
        left as they are.

        >>> one = np.ones(1)
        >>> seen = SeenRange(3.95 * one, 4.94 * one, one, 3.95 * one, 4.94 * one, one)
        >>> seen.prices_within(np.array([3.0, 3.92, 4.9, 5.5]), BusinessRules())
        array([[3.  , 3.95, 4.9 , 5.5 ]])
        """
        if rules.price_endings is not None or rules.price_ladder is not None or np.isinf(self.price_ceiling).all():
            return prices
        inside = np.clip(prices, self.price_floor[:, None], self.price_ceiling[:, None])
        far = np.abs(prices - inside)
        moves = far <= ROUNDED_APART * inside
        nearest = far == far.min(axis=1, keepdims=True)
        return np.where(moves | (nearest & ~moves.any(axis=1, keepdims=True)), inside, prices)

    def allowed(self, price: Floats, order: Floats, feasible: Bools) -> Bools:
        """Feasible actions (rows, actions) within the limits; in a row where none is, those of the nearest price."""
        beyond = np.maximum(np.maximum(price - self.price_ceiling[:, None], self.price_floor[:, None] - price), 0.0)
        beyond = np.where(feasible, np.where(exceeds(beyond, 0.0), beyond, 0.0), np.inf)
        near = feasible & (beyond == beyond.min(axis=1, keepdims=True))
        may = near & ~exceeds(order, self.order_ceiling[:, None])
        return np.asarray(np.where(may.any(axis=1, keepdims=True), may, near))

    def unseen(self, price: Floats, order: Floats) -> Bools:
        """Decisions outside the seen range, (rows,); not an order of a product that never ordered."""
        outside = exceeds(price, self.highest_price) | exceeds(self.lowest_price, price)
        return np.asarray(outside | (exceeds(order, self.largest_order) & (self.largest_order > 0)))

    @property
    def never_ordered(self) -> Bools:
        """Products that have sales and no logged order, (rows,)."""
        return np.asarray((self.largest_order == 0) & (self.order_ceiling > 0))


def is_limited(log: SalesLog) -> bool:
    """True where the series of a log are products, and the problem leaves their prices or orders open."""
    return (log.problem.prices is None or log.problem.orders is None) and is_assortment(log)


def one_price_warning(log: SalesLog, rules: BusinessRules) -> str:
    """Warning about products whose price never varied while others' did; empty if there are none."""
    listed = log.problem.prices is not None or rules.price_ladder is not None
    if listed or rules.price_beyond or not is_limited(log):
        return ""
    seen, total = SeenRange.of(log, rules), len(log.products)
    constant = int(np.count_nonzero(seen.highest_price == seen.lowest_price))
    if not 0 < constant < total:
        return ""
    told = f"{constant:,} of {total:,} products were sold at one price only, and keep it"
    return f"{told}; `price_beyond` in [rules] allows other prices"


def _smallest_and_median_orders(order: Floats, product: Ints, count: int) -> tuple[Floats, Floats]:
    """Smallest and (lower) median order that each product placed, 0 where it placed none, each (count,)."""
    placed = np.flatnonzero(order > 0)
    placed = placed[np.lexsort((order[placed], product[placed]))]
    rows = np.bincount(product[placed], minlength=count)
    first = np.cumsum(rows) - rows
    rising = np.r_[order[placed], 0.0]
    some = rows > 0
    smallest, middle = (rising[np.where(some, at, -1)] for at in (first, first + (rows - 1) // 2))
    return smallest, middle
