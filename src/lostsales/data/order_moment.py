"""The moment at which the orders of a table were decided: the opening of their period, or after its sales."""

from dataclasses import dataclass

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.types import Bools, Floats, Ints, exceeds

LEAST_DECISIONS = 40  # rows with an order, below which regressions on up to fourteen columns are not trusted
REGRESSED_ROWS = 20_000  # of more rows an even subset is used: bounds time
LEAST_SHARE = 0.5  # of what the opening leaves unexplained, explained by the sales of the same period
LEAST_SPREAD = 0.02  # what the opening must leave unexplained, relative to the spread of orders
BACK = 2  # earlier periods that a manager looks at
STEPS = 15  # of the iterations towards least absolute deviations
WEEK = 7  # periods of the weekly pattern


@dataclass(frozen=True)
class OrderMoment:
    """Regression of orders on the state at the opening, and its improvement by the sales of the period."""

    rows: int
    share: float  # of what the opening leaves unexplained, explained by the period's own sales
    slope: float  # units ordered for a unit sold in the same period

    @property
    def is_close(self) -> bool:
        """True if orders were placed at closing time: they rise with the sales of the same period."""
        return self.rows >= LEAST_DECISIONS and self.share >= LEAST_SHARE and self.slope > 0

    @property
    def sentence(self) -> str:
        """The finding with what to do."""
        return (
            "orders seem to be placed at closing time and written on that day's row: the day's own sales explain "
            f'{self.share:.0%} of what is left of them by the morning; set order_placed = "close", and arrival = '
            '"before" where such an order can be sold the next day'
        )


def order_moment(log: SalesLog) -> OrderMoment | None:
    """Time at which the orders of a log were decided; None without orders, or with `order_placed = "close"`."""
    ledger = log.ledger
    if ledger is None or log.problem.order_placed == "close":
        return None
    return moment_of(
        ledger.stock, ledger.order, ledger.sales, log.has_next, ~exceeds(log.available, log.sales), log.price
    )


def moment_of(
    stock: Floats, order: Floats, sales: Floats, has_next: Bools, sold_out: Bools, price: Floats | None = None
) -> OrderMoment | None:
    """Time of order decisions from columns sorted by series and period; None if too few rows show it.

    Two regressions of least absolute deviations are compared, of orders on what was known at the opening (stock, price,
    earlier sales and orders, the place in a week) and on that and the sales of the period, over rows with an order and
    stock left over: what was sold where nothing is left follows from what was ordered.
    """
    rows = len(stock)
    if rows <= BACK:
        return None
    series = np.r_[0, np.cumsum(~has_next[:-1])]
    at = np.arange(rows)
    full = (at >= BACK) & (series == np.r_[series[:BACK], series[:-BACK]]) & ~sold_out & (order > 0)
    kept = np.flatnonzero(full)
    kept = kept[:: -(-len(kept) // REGRESSED_ROWS)] if len(kept) > REGRESSED_ROWS else kept
    earlier = [column[kept - back] for back in range(1, BACK + 1) for column in (sales, order)]
    week = (at[kept, None] % WEEK == np.arange(1, WEEK)).astype(np.float64)
    known = np.column_stack([stock[kept], *earlier, week, *([] if price is None else [price[kept]])])
    finite = np.isfinite(known).all(axis=1) & np.isfinite(sales[kept]) & np.isfinite(order[kept])
    kept, known = kept[finite], known[finite]
    if len(kept) < LEAST_DECISIONS:
        return None
    codes = np.unique(series[kept], return_inverse=True)[1]
    scale = _by_series(np.abs(order[kept]), codes)
    target, own, known = (
        _centred(each / scale[:, None], codes) for each in (order[kept, None], sales[kept, None], known)
    )
    spread = float(np.median(np.abs(target)))
    left, _ = _least_absolute(target[:, 0], known)
    after, slope = _least_absolute(target[:, 0], np.column_stack([own, known]))
    if not left > LEAST_SPREAD * spread:
        return OrderMoment(len(kept), 0.0, slope)
    return OrderMoment(len(kept), max(1 - (after / left) ** 2, 0.0), slope)


def _by_series(values: Floats, codes: Ints) -> Floats:
    """The mean of each row's series, (rows,)."""
    return np.asarray((np.bincount(codes, values) / np.bincount(codes))[codes])


def _centred(columns: Floats, codes: Ints) -> Floats:
    return columns - np.column_stack([_by_series(column, codes) for column in columns.T])


def _least_absolute(target: Floats, columns: Floats) -> tuple[float, float]:
    """The median absolute residual and the first coefficient, by iteratively reweighted least squares."""
    design = np.column_stack([columns, np.ones(len(target))])
    weight = np.ones(len(target))
    slopes = np.zeros(design.shape[1])
    for _ in range(STEPS):
        root = np.sqrt(weight)[:, None]
        slopes = np.linalg.lstsq(design * root, target * root[:, 0], rcond=1e-10)[0]
        residual = np.abs(target - design @ slopes)
        weight = 1 / np.maximum(residual, 1e-4 + 1e-2 * float(residual.mean()))
    return float(np.median(np.abs(target - design @ slopes))), float(slopes[0])
