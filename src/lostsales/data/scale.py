"""Sizes of series: whether they differ, the scale that each is divided by, and groups of similar scale."""

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.types import Array, Bools, Floats, Ints

# Series are of one scale where the mean of nine in ten is at most so many times that of one in ten.
ONE_SCALE = 3.0
STEP = 1.1  # scales are rounded to powers of this, so that series share grids of scaled orders
GROUP_RATIO = 1.3  # series whose scales differ by less share a group
MOST_GROUPS = 24  # of series that share a plan
TINY = 1e-9
# Series differ in price where their usual prices vary more than prices vary within a series.
PRICES_DIFFER = 1.0


def series_scale(log: SalesLog) -> Floats:
    """Mean sales of each series where these differ in scale, else 1 for all, (series,).

    Series of one name, which a hole in the periods splits, have one scale.
    """
    names, part = np.unique(log.names, return_inverse=True)
    total, rows = _sums(log.sales, part[log.series], len(names))
    mean = total / rows
    if size_range(mean) is None:
        return np.ones(len(log.names))
    return np.asarray(np.maximum(mean, 1e-3 * mean.mean())[part])


def usual_price(log: SalesLog) -> Floats:
    """Median price of each series where series differ in price, else 1 for all, (series,).

    They differ where the variance of the logarithm of the price between series exceeds that within them. Series of one
    name, which a hole in the periods splits, have one usual price.
    """
    names, part = np.unique(log.names, return_inverse=True)
    ones, own = np.ones(len(log.names)), part[log.series]
    if len(names) < 2 or (log.price <= 0).any():
        return ones
    logs = np.log(log.price)
    total, rows = _sums(logs, own, len(names))
    mean = total / rows
    within = float(np.mean((logs - mean[own]) ** 2))
    between = float(np.var(mean)) - within * float(np.mean(1 / rows))
    if between <= PRICES_DIFFER * within + TINY:
        return ones
    order = np.lexsort((log.price, own))
    middle = np.searchsorted(own[order], np.arange(len(names))) + (rows - 1) // 2
    return np.asarray(log.price[order][middle][part])


def mean_observed_demand(log: SalesLog, demand: Floats, is_observed: Bools) -> Floats:
    """Mean observed demand of each series, the overall mean where a series shows none, (series,)."""
    total, rows = _sums(demand[is_observed], log.series[is_observed], len(log.names))
    return np.where(total > 0, total / np.maximum(rows, 1), total.sum() / max(rows.sum(), 1))


def size_range(sizes: Floats) -> tuple[float, float] | None:
    """The 10 % and 90 % quantiles of sizes where these differ by more than ONE_SCALE, else None.

    >>> size_range(np.array([1.0, 2.0])), size_range(np.array([1.0, 50.0, 100.0]))
    (None, (10.8, 90.0))
    """
    low, high = (float(each) for each in np.quantile(sizes, [0.1, 0.9]))
    return (low, high) if high > ONE_SCALE * max(low, TINY) else None


def rounded_scale(sizes: Floats) -> Floats:
    """The nearest power of STEP to each size."""
    return np.asarray(STEP ** _rung(np.maximum(np.nan_to_num(sizes), TINY), STEP))


def like_groups(sizes: Floats, most: int = MOST_GROUPS) -> Ints:
    """Groups of rows (rows, columns) whose columns all differ by little, (rows,); by more where groups are too many.

    >>> like_groups(np.array([[1.0, 3.0], [1.1, 3.0], [10.0, 3.0]]))
    array([0, 0, 1])
    """
    ratio, positive = GROUP_RATIO, np.maximum(sizes, TINY)
    while True:
        rungs, group = np.unique(_rung(positive, ratio), axis=0, return_inverse=True)
        if len(rungs) <= most:
            return np.asarray(group.reshape(-1))
        ratio **= 1.5


def _rung(sizes: Floats, ratio: float) -> Floats:
    return np.asarray(np.rint(np.log(sizes) / np.log(ratio)))


def _sums(values: Floats, group: Ints, groups: int) -> tuple[Floats, Array]:
    return np.asarray(np.bincount(group, values, groups)), np.bincount(group, minlength=groups)
