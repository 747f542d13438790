"""Sizes of series: whether they differ, the scale that each is divided by, and groups of similar scale."""

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.types import Array, Floats, Ints

# Series are of one scale where the mean of nine in ten is at most so many times that of one in ten.
ONE_SCALE = 3.0
LIKE_SIZES = 1.25  # and count as equal where it is at most so many times that
BLOCKS = 4  # of rows of a series, whose means show how far chance moves the mean of a series
FAR_BEYOND = 4.0  # times the variance of chance at least, above which means differ, and
FALSE_ALARMS = 1e-3  # share of logs of equal series in which they would
STEP = 1.1  # scales are rounded to powers of this, so that series share grids of scaled orders
TINY = 1e-9
RIDGE = 1.0  # in series, of what attributes say about scale and price
FARTHEST = 60.0  # logarithm of a scale or price that attributes can say of a series
# Series differ in price where their usual prices vary more than prices vary within a series.
PRICES_DIFFER = 1.0


def series_scale(log: SalesLog) -> Floats:
    """Mean sales of each series where these differ in scale, else 1 for all, (series,).

    Series of one name, which a hole in the periods splits, have one scale.
    """
    names, part = log.products.names, log.products.of_segment
    own = part[log.series]
    total, rows = _sums(log.sales, own, len(names))
    mean = total / rows
    if not _differ(log.sales, own, mean, rows):
        return np.ones(len(log.names))
    return np.asarray(np.maximum(mean, 1e-3 * mean.mean())[part])


def _differ(values: Floats, group: Ints, mean: Floats, rows: Array) -> bool:
    """True where the means of groups differ by as much as matters, and beyond chance.

    Chance is what the means of blocks of consecutive rows show within groups, so that values may depend on those
    before them.
    """
    from scipy.special import fdtri  # here, because it takes long to import

    low, high = (float(each) for each in np.quantile(mean, [0.1, 0.9]))
    if len(mean) < 2 or high <= LIKE_SIZES * max(low, TINY):
        return False
    order = np.argsort(group, kind="stable")
    place = np.arange(len(group)) - np.repeat(np.cumsum(rows) - rows, rows)
    block = group[order] * BLOCKS + place * BLOCKS // np.repeat(rows, rows)
    totals, counts = _sums(values[order] / mean.mean(), block, len(mean) * BLOCKS)
    used = counts > 0
    means, block_of = totals[used] / counts[used], np.flatnonzero(used) // BLOCKS
    blocks = np.bincount(block_of, minlength=len(mean))
    within = np.bincount(block_of, (means - (mean / mean.mean())[block_of]) ** 2, len(mean))
    freedom = int((blocks - 1).sum())
    if freedom < 1:
        return high > ONE_SCALE * max(low, TINY)
    chance = float(within.sum()) / freedom * float(np.mean(1 / blocks))
    limit = max(FAR_BEYOND, float(fdtri(len(mean) - 1, freedom, 1 - FALSE_ALARMS)))
    return float(np.var(mean / mean.mean(), ddof=1)) > limit * chance


def usual_price(log: SalesLog) -> Floats:
    """Median price of each series where series differ in price, else 1 for all, (series,).

    They differ where the variance of the logarithm of the price between series exceeds that within them. Series of one
    name, which a hole in the periods splits, have one usual price.
    """
    names, part = log.products.names, log.products.of_segment
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


def size_range(sizes: Floats) -> tuple[float, float] | None:
    """The 10 % and 90 % quantiles of sizes where these differ by more than ONE_SCALE, else None.

    >>> size_range(np.array([1.0, 2.0])), size_range(np.array([1.0, 50.0, 100.0]))
    (None, (10.8, 90.0))
    """
    low, high = (float(each) for each in np.quantile(sizes, [0.1, 0.9]))
    return (low, high) if high > ONE_SCALE * max(low, TINY) else None


def rounded_scale(sizes: Floats) -> Floats:
    """The nearest power of STEP to each size."""
    return np.asarray(STEP ** _power(np.maximum(np.nan_to_num(sizes), TINY), STEP))


def by_attributes(attributes: Floats, values: Floats) -> Floats:
    """Coefficients (1 + attributes, columns) of a ridge regression of values (series, columns) on attributes."""
    centre, scale = attributes.mean(axis=0), attributes.std(axis=0)
    varied = (attributes - centre) / np.where(scale > 0, scale, 1.0)
    middle = values.mean(axis=0)
    slopes = np.linalg.solve(varied.T @ varied + RIDGE * np.eye(varied.shape[1]), varied.T @ (values - middle))
    slopes /= np.where(scale > 0, scale, 1.0)[:, None]
    return np.concatenate([(middle - centre @ slopes)[None], slopes])


def sizes_of(attributes: Floats, coefficients: Floats) -> Floats:
    """Sizes (series, columns) of series by their attributes, whose logarithms have these coefficients.

    >>> sizes_of(np.array([[0.0], [2.0]]), np.log(np.array([[6.0], [2.0]]))).ravel().round(9).tolist()
    [6.0, 24.0]
    """
    logs = coefficients[0] + attributes @ coefficients[1:]
    return np.asarray(np.exp(np.clip(logs, -FARTHEST, FARTHEST)))


def _power(sizes: Floats, ratio: float) -> Floats:
    return np.asarray(np.rint(np.log(sizes) / np.log(ratio)))


def _sums(values: Floats, group: Ints, groups: int) -> tuple[Floats, Array]:
    return np.asarray(np.bincount(group, values, groups)), np.bincount(group, minlength=groups)
