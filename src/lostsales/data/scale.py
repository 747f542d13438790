"""Sizes of series: whether they differ, the scale that each is divided by, and groups of similar scale."""

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.types import Array, Bools, Floats, Ints

# Series are of one scale where the mean of nine in ten is at most so many times that of one in ten.
ONE_SCALE = 3.0
STEP = 1.1  # scales are rounded to powers of this, so that series share grids of scaled orders
GROUP_RATIO = 1.3  # series whose scales differ by less share a group
MOST_GROUPS = 30  # series from 1 to 2,600 in scale; a wider range makes wider groups, not more of them
TINY = 1e-9


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


def scale_groups(scale: Floats) -> tuple[Ints, Floats]:
    """The group of each scale, and the geometric mean of the scales of each group.

    >>> scale_groups(np.array([1.0, 1.1, 10.0]))[0]
    array([0, 0, 1])
    """
    ratio = max(GROUP_RATIO, float((scale.max() / scale.min()) ** (1 / MOST_GROUPS))) if len(scale) else GROUP_RATIO
    rungs, group = np.unique(_rung(scale, ratio), return_inverse=True)
    return group, np.array([np.exp(np.log(scale[group == each]).mean()) for each in range(len(rungs))])


def _rung(sizes: Floats, ratio: float) -> Floats:
    return np.asarray(np.rint(np.log(sizes) / np.log(ratio)))


def _sums(values: Floats, group: Ints, groups: int) -> tuple[Floats, Array]:
    return np.asarray(np.bincount(group, values, groups)), np.bincount(group, minlength=groups)
