"""Products of a log: the series of one name, also where a hole in the periods splits them."""

from dataclasses import dataclass

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.data.scale import size_range, usual_price
from lostsales.types import Array, Bools, Floats, Ints

WEEK = np.timedelta64(7, "D") / np.timedelta64(1, "us")  # microseconds, as dates of a log are counted


@dataclass(frozen=True, eq=False)
class Products:
    """The products of a log, in the order in which they appear."""

    names: Array  # (products,) text
    of_series: Ints  # (series,)
    of_row: Ints  # (rows,)

    @classmethod
    def of(cls, log: SalesLog) -> "Products":
        """Of every name of the log."""
        names, first, code = np.unique(log.names.astype(str), return_index=True, return_inverse=True)
        place = np.argsort(np.argsort(first))
        of_series = np.asarray(place[code.reshape(-1)])
        return cls(names[np.argsort(first)].astype(object), of_series, of_series[log.series])

    def __len__(self) -> int:
        return len(self.names)

    def counts(self, kept: Bools | None = None) -> Floats:
        """Rows of each product, or those that are kept, (products,)."""
        return np.bincount(self.of_row, kept, len(self)).astype(np.float64)

    def means(self, values: Floats, kept: Bools | None = None) -> Floats:
        """The mean over the rows of each product, or over those kept where it has any, (products,)."""
        return means_by_group(values, self.of_row, len(self), kept)


def means_by_group(values: Floats, group: Ints, groups: int, kept: Bools | None = None) -> Floats:
    """Means of values over groups, over all of a group where none of it is kept, (groups,).

    >>> means_by_group(np.array([1.0, 3.0, 5.0]), np.array([0, 0, 1]), 2, np.array([False, True, False]))
    array([3., 5.])
    """
    count, total = np.bincount(group, minlength=groups), np.bincount(group, values, groups)
    mean = total / np.maximum(count, 1)
    if kept is None:
        return np.asarray(mean)
    some, part = np.bincount(group, kept, groups), np.bincount(group, values * kept, groups)
    return np.where(some > 0, part / np.maximum(some, 1), mean)


def is_assortment(log: SalesLog) -> bool:
    """True where the series of a log are products, each of its own kind.

    Series are taken for episodes of one shop, as a simulation writes them, where their periods are plain numbers and
    they differ in neither size nor price.
    """
    if len(np.unique(log.names.astype(str))) < 2:
        return False
    if log.period.dtype.kind == "M":
        return True
    return size_range(Products.of(log).means(log.sales)) is not None or bool((usual_price(log) != 1).any())


def periods_a_week(log: SalesLog, products: Products) -> Floats | None:
    """Periods of each product in a week, by its steps in time, (products,); None where periods are plain numbers.

    A shop that is closed on Sundays has six: a step over closed days is one step.
    """
    pairs = np.flatnonzero(log.has_next)
    if log.period.dtype.kind != "M" or not len(pairs):
        return None
    step = (log.period[pairs + 1] - log.period[pairs]).astype(np.int64).astype(np.float64)
    product = products.of_row[pairs]
    rows, total = np.bincount(product, minlength=len(products)), np.bincount(product, step, len(products))
    mean = np.where(rows > 0, total / np.maximum(rows, 1), step.mean())
    return np.asarray(WEEK / mean)
