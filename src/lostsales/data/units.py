"""Units of quantity: what the quantities of a log, and those of each product, are multiples of.

All quantities of a log are multiples of one unit, where they have one: 12 in a log of dozens, 0.1 in one of tenths. A
product of an assortment may have a larger unit: one that is only ever sold in sixes.
"""

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.types import Floats

ROW_QUANTITIES = ("sales", "stock", "order", "received", "adjustment", "wasted")
LEAST_ROWS = 100  # with fewer, whole numbers may all be even by chance
NEAR = 1e-6  # counts so near to a whole number are whole
MOST_EXACT = 2.0**53  # above which floating-point numbers skip whole ones


def unit_of(log: SalesLog) -> float:
    """Largest number that all quantities of a log are multiples of; 1 where there is none or the log is too short.

    >>> from lostsales.simulation.simulator import simulate
    >>> log, _ = simulate("released", episodes=5, seed=1)
    >>> unit_of(log)
    1.0
    """
    columns = [np.abs(each) for name in (*ROW_QUANTITIES, "last_sales") if (each := getattr(log, name)) is not None]
    values = np.concatenate(columns)
    values = values[~np.isnan(values)]
    if not np.array_equal(values, np.rint(values)):
        return common_step(values) or 1.0
    if len(log) < LEAST_ROWS or values.max(initial=0.0) > MOST_EXACT:
        return 1.0
    return float(np.gcd.reduce(values.astype(np.int64))) or 1.0


def product_units(log: SalesLog, least_rows: int = 1) -> Floats:
    """Largest number that all quantities of a product are multiples of, 0 where it has none, (products,).

    It is 1 of a product with fewer quantities above 0 than `least_rows`: these may have a common divisor by chance.
    """
    columns = [np.abs(each) for name in ROW_QUANTITIES if (each := getattr(log, name)) is not None]
    values, product = np.concatenate(columns), np.tile(log.products.of_row, len(columns))
    positive = np.flatnonzero(values > 0)  # NaN is not
    positive = positive[np.argsort(product[positive], kind="stable")]
    values, product = values[positive], product[positive]
    rows = np.bincount(product, minlength=len(log.products))
    first, found = np.cumsum(rows) - rows, np.ones(len(rows))
    is_count = (values == np.rint(values)) & (values < MOST_EXACT)
    uncounted = np.bincount(product, ~is_count, len(rows)) > 0
    present = np.flatnonzero(rows)
    if len(present):
        found[present] = np.gcd.reduceat(np.where(is_count, values, 0.0).astype(np.int64), first[present])
    for at in np.flatnonzero(uncounted):
        found[at] = common_step(values[first[at] : first[at] + rows[at]])
    return np.where(rows < least_rows, 1.0, found)


def whole_units(log: SalesLog) -> Floats:
    """Largest common divisor of all counts of a product, 1 if these are too few to tell, (products,)."""
    found = product_units(log, LEAST_ROWS)
    return np.where((found > 1) & (found == np.rint(found)), found, 1.0)


def counted(quantity: Floats | float, unit: Floats | float) -> Floats:
    """Number of units in a quantity; it is rounded where it is whole but for rounding in the table."""
    counts = np.asarray(quantity, dtype=np.float64) / unit
    whole = np.rint(counts)
    return np.where(np.abs(counts - whole) <= NEAR, whole, counts)


def order_multiple(orders: Floats) -> float:
    """Largest common divisor of all orders; 0 if they have none above rounding errors.

    >>> order_multiple(np.array([0.0, 12.0, 36.0])), order_multiple(np.array([0.5, 1.25])), order_multiple(np.zeros(2))
    (12.0, 0.25, 1.0)
    """
    return common_step(orders) if (orders > 0).any() else 1.0


def common_step(values: Floats) -> float:
    """Largest common step of all values, to a millionth of it; 0 if values are continuous.

    >>> common_step(np.array([0.25, 1.0])), common_step(np.array([1.5, 2.0])), common_step(np.array([np.pi, 1.0]))
    (0.25, 0.5, 0.0)
    """
    positive = np.unique(values[np.isfinite(values) & (values > 0)])
    if not len(positive):
        return 0.0
    least, step = float(positive[0]), float(positive[0])
    for _ in range(64):  # Euclid's algorithm on all values at once
        rest = np.abs(positive - np.rint(positive / step) * step)
        off = rest > 1e-6 * step
        if not off.any():
            # The mean over values is more exact than any one of them.
            return float(positive.sum() / np.rint(positive / step).sum())
        step = float(rest[off].min())
        if step < 1e-4 * least or step < 1e-9 * positive[-1]:
            return 0.0
    return 0.0
