"""Assortments: logs whose series are products of different kinds, and how many periods of each make a week."""

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.data.scale import size_range, usual_price
from lostsales.types import Floats

WEEK = np.timedelta64(7, "D") / np.timedelta64(1, "us")  # microseconds, as dates of a log are counted


def is_assortment(log: SalesLog) -> bool:
    """True where the series of a log are products, each of its own kind.

    Series are treated as episodes of one shop, as a simulation writes them, where their periods are plain numbers and
    they differ in neither size nor price.
    """
    if len(log.products) < 2:
        return False
    if log.period.dtype.kind == "M":
        return True
    return size_range(log.products.means(log.sales)) is not None or bool((usual_price(log) != 1).any())


def is_shop(log: SalesLog) -> bool:
    """True where series are products or periods are dates: levels move, and seasons come."""
    return log.period.dtype.kind == "M" or is_assortment(log)


def period_word(log: SalesLog) -> str:
    """Name of a period: day, week, or for any other step period."""
    weekly = periods_a_week(log)
    steps = 0.0 if weekly is None else float(np.median(weekly))
    return "day" if 4 < steps <= 7.1 else "week" if 0.9 < steps < 1.1 else "period"


def periods_a_week(log: SalesLog) -> Floats | None:
    """Periods of each product in a week, by its steps in time, (products,); None where periods are plain numbers.

    A shop that is closed on Sundays has six: a step over closed days is one step.
    """
    pairs = np.flatnonzero(log.has_next)
    if log.period.dtype.kind != "M" or not len(pairs):
        return None
    step = (log.period[pairs + 1] - log.period[pairs]).astype(np.int64).astype(np.float64)
    products = log.products
    product = products.of_row[pairs]
    rows, total = np.bincount(product, minlength=len(products)), np.bincount(product, step, len(products))
    mean = np.where(rows > 0, total / np.maximum(rows, 1), step.mean())
    return np.asarray(WEEK / mean)
