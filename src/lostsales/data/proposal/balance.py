"""Stock balance of a table: the moment at which stock was counted, and the arrival of orders."""

from dataclasses import dataclass
from itertools import permutations

import numpy as np

from lostsales.types import Bools, Floats, exceeds

FOLLOWS = 0.9  # share of the rows that make a balance believable
MOST_LEAD = 8  # longest delay of orders that is tried, in periods
_TRIED_ROWS = 5_000  # rows on which combinations of columns are tried
_MOST_TRIED = 10  # columns


@dataclass(frozen=True)
class StockFacts:
    """Numbers of rows that follow each balance, and the order timing that sales imply."""

    pairs: int  # rows with a next row in their series
    opening: int  # next stock = stock + arrived - sales: the stock opens the period
    closing: int  # next stock = stock + next arrived - next sales: the stock closes the period
    capacity: float  # the greatest stock
    capped: int  # pairs that follow where stock beyond it is discarded
    lead: int  # periods by which an order comes later than the next one, where that fits best
    late: int  # pairs that follow with that lead
    subtracted: int  # pairs that follow where the adjustment is taken off instead of added
    rows: int
    above_stock: int  # rows that sold more than the stock
    above_both: int  # rows that sold more than stock and order
    sold_stock: int  # of rows with an order, those that sold the stock exactly
    sold_both: int  # of rows with an order, those that sold stock and order exactly

    @property
    def has_capacity(self) -> bool:
        """True if a capacity explains rows that do not follow the balance otherwise."""
        return self.capped >= FOLLOWS * self.pairs and self.capped - self.opening > 0.01 * self.pairs

    @property
    def arrival(self) -> str | None:
        """The timing that sales show; None where they show none."""
        if self.above_stock > 0.001 * self.rows:
            return "before"
        return "after" if self.sold_stock > self.sold_both else None


def stock_facts(
    stock: Floats, arrived: Floats, sales: Floats, adjustment: Floats | None, has_next: Bools
) -> StockFacts:
    """Count; rows are in the order of series and period, and NaN follows nothing."""
    adjusted = np.zeros(len(stock)) if adjustment is None else adjustment
    now, then = np.flatnonzero(has_next), np.flatnonzero(has_next) + 1
    sold, coming = stock - sales, stock[then]
    counts = [
        _equal(coming, sold[now] + _before(arrived, has_next, lead)[now] + adjusted[now])
        for lead in range(MOST_LEAD + 1)
    ]
    closing = _equal(coming, stock[now] + arrived[then] - sales[then] + adjusted[then])
    subtracted = _equal(coming, sold[now] + arrived[now] - adjusted[now]) if adjustment is not None else 0
    lead = int(np.argmax(counts))
    capacity = float(np.nanmax(stock, initial=0.0))
    capped = _equal(coming, np.minimum(sold[now] + arrived[now] + adjusted[now], capacity))
    ordered = arrived > 0
    with np.errstate(invalid="ignore"):
        return StockFacts(
            pairs=len(now),
            opening=counts[0],
            closing=closing,
            capacity=capacity,
            capped=capped,
            lead=lead,
            late=counts[lead],
            subtracted=subtracted,
            rows=len(stock),
            above_stock=int(np.count_nonzero(exceeds(sales, stock))),
            above_both=int(np.count_nonzero(exceeds(sales, stock + arrived))),
            sold_stock=_equal(sales[ordered], stock[ordered]),
            sold_both=_equal(sales[ordered], (stock + arrived)[ordered]),
        )


def balanced_triple(columns: dict[str, Floats], has_next: Bools) -> tuple[str, str, str] | None:
    """The columns (stock, order, sales) that the next stock follows from, whatever they are called.

    >>> columns = {"a": [2, 3, 1, 5, 3, 1], "b": [9, 8, 7, 9, 4, 5], "c": [1, 2, 3, 0, 4, 2]}
    >>> balanced_triple({name: np.array(each, float) for name, each in columns.items()}, np.array([True] * 5 + [False]))
    ('b', 'c', 'a')
    """
    short = {name: column[:_TRIED_ROWS] for name, column in list(columns.items())[:_MOST_TRIED]}
    now = np.flatnonzero(has_next[:_TRIED_ROWS][:-1])
    if len(now) < 5:
        return None
    for names in permutations(short, 3):
        stock, order, sales = (short[name] for name in names)
        moves = np.count_nonzero(stock[now + 1] != stock[now]) > 0.2 * len(now)
        if moves and _equal(stock[now + 1], stock[now] + order[now] - sales[now]) >= FOLLOWS * len(now):
            return names[0], names[1], names[2]
    return None


def _equal(left: Floats, right: Floats) -> int:
    return int(np.count_nonzero(np.isclose(left, right, rtol=1e-6, atol=1e-6)))


def _before(values: Floats, has_next: Bools, periods: int) -> Floats:
    """Lagged value in the same series; NaN if there is none."""
    shifted = values
    for _ in range(periods):
        shifted = np.r_[np.nan, np.where(has_next[:-1], shifted[:-1], np.nan)]
    return shifted
