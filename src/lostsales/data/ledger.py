"""The stock ledger of a table: its columns, and the readings of the balance under which the next stock follows."""

from typing import NamedTuple

import numpy as np

from lostsales.types import Bools, Floats, Ints

# Share of the next stocks that a reading of the balance must give to be believed: the rest are corrections.
FOLLOWS = 0.9
# Share of rows off the balance beyond which it is broken: single corrections leave it below.
MOST_OFF_BALANCE = 0.05
LONGEST_LEAD = 30  # periods up to which one lead time of all orders is looked for: a month of days
_NEAR = 1e-6  # rounding that a balance may be off by: tables are often written in single precision


class Ledger(NamedTuple):
    """Columns of stock, each (rows,), in order of series and period."""

    stock: Floats
    order: Floats
    arrived: Floats  # what was received, else the order
    sales: Floats
    moved: Floats  # correction of the stock before the next row, 0 where there is none
    series: Ints

    @property
    def has_next(self) -> Bools:
        """Rows that have a next row in their series, (rows,)."""
        return np.asarray(np.r_[self.series[1:] == self.series[:-1], False])

    @property
    def starts(self) -> Ints:
        """The first row of each row's series, (rows,)."""
        return np.searchsorted(self.series, self.series)

    def before(self, periods: int) -> tuple[Floats, Bools]:
        """The order of some rows before, 0 where the series has none, and whether it has one, each (rows,)."""
        at = np.arange(len(self.stock)) - periods
        known = at >= self.starts
        return np.where(known, self.order[np.maximum(at, 0)], 0.0), known

    def part(self, rows: slice) -> "Ledger":
        """Some rows."""
        return Ledger._make(column[rows] for column in self)

    def following(self, lead: int = 1, *, closing: bool = False, room: float = np.inf) -> tuple[int, int]:
        """Pairs of rows on which a reading of the balance can be checked, and those whose next stock it gives.

        An order is in the stock `lead` rows after its own. An opening stock has lost the sales of the row before; one
        at `closing` time those of its own row. What does not fit into `room` is discarded.
        """
        now = np.arange(len(self.stock) - 1)
        placed = now + 1 - lead
        known = (placed >= 0) & (self.series[np.maximum(placed, 0)] == self.series[1:])
        known &= self.series[:-1] == self.series[1:]
        now, placed = now[known], placed[known]
        left = self.stock[now] - self.sales[now + closing]
        expected = np.minimum(left + self.arrived[placed], room) + self.moved[now + closing]
        return len(now), int(np.count_nonzero(np.isclose(self.stock[now + 1], expected, rtol=_NEAR, atol=_NEAR)))
