"""The lottery of a pilot: which series, or which blocks of periods, try the new policy.

Series are sorted by past profit and cut into strata, and half of each stratum tries the new policy. In a switchback
every series changes between the policies from block to block: of each pair of successive blocks one is new, and in each
pair half of the series begin with it. An assignment is drawn from a seed, and so are the others that it is judged by.
"""

from math import comb

import numpy as np

from lostsales.types import Bools, Floats, Ints

# Assignments that a lottery should be able to draw, so that a share of 2.5 % of them is many.
ENOUGH = 5_000
DRAWS = 5_000  # assignments that the observed one is compared with, itself included
MOST_CELLS = 100_000_000  # of the table of drawn assignments; with more series fewer are drawn
LEAST_DRAWS = 1_000
ALL = 100  # units of a stratum beyond which there are many assignments
MANY = 1e9  # assignments that need not be counted any more


def stratum_size(series: int) -> int:
    """The smallest even size of strata with which the lottery has enough outcomes; all series where none has.

    >>> stratum_size(100), stratum_size(20), stratum_size(10)
    (2, 4, 10)
    """
    for size in range(2, series // 2 + 1, 2):
        if comb(size, size // 2) ** (series // size) >= ENOUGH:
            return size
    return series


def strata_of(past_profit: Floats) -> Ints:
    """Strata of series of like past profit, (series,); the last may hold up to twice as many.

    >>> strata_of(np.arange(40.0)[::-1])[[0, 39]].tolist()
    [19, 0]
    """
    series = len(past_profit)
    size = stratum_size(series)
    order = np.argsort(past_profit, kind="stable")
    found = np.empty(series, dtype=np.int64)
    found[order] = np.minimum(np.arange(series) // size, max(series // size, 1) - 1)
    return found


def assignments_of(strata: Ints) -> float:
    """How many assignments of series the lottery can draw.

    >>> assignments_of(np.array([0, 0, 0, 0, 1, 1, 1]))
    36.0
    """
    found = 1.0
    for size in np.bincount(strata).tolist():
        found = min(found * comb(min(size, ALL), min(size, ALL) // 2) * (1 + size % 2), MANY)
    return found


def switches_of(series: int, pairs: int) -> float:
    """How many assignments of the pairs of a switchback the lottery can draw.

    >>> switches_of(1, 6), switches_of(4, 2)
    (64.0, 36.0)
    """
    return min(float(comb(series, series // 2) * (1 + series % 2)) ** pairs, MANY)


def draws_for(units: int) -> int:
    """How many assignments of so many units are compared."""
    return int(np.clip(MOST_CELLS // max(units, 1), LEAST_DRAWS, DRAWS))


def draw_series(strata: Ints, draws: int, rng: np.random.Generator) -> Bools:
    """Assignments of series to the new policy, (draws, series): half of every stratum, the odd one by lot.

    >>> draw_series(np.array([0, 0, 1, 1]), 3, np.random.default_rng(0)).sum(axis=1).tolist()
    [2, 2, 2]
    """
    found = np.zeros((draws, len(strata)), dtype=bool)
    order = np.argsort(strata, kind="stable")
    sizes = np.bincount(strata)
    starts = np.r_[0, np.cumsum(sizes)[:-1]]
    for size in np.unique(sizes):
        members = order[starts[sizes == size][:, None] + np.arange(size)]  # (strata of this size, size)
        ranks = rng.random((draws, *members.shape)).argsort(axis=-1)
        odd = rng.integers(0, 2, (draws, len(members), 1)) if size % 2 else 0
        found[:, members] = ranks < size // 2 + odd
    return found


def draw_switches(series: int, pairs: int, draws: int, rng: np.random.Generator) -> Bools:
    """Where the second block of a pair is the new one, (draws, series, pairs): in half of the series of each pair.

    >>> draw_switches(4, 3, 2, np.random.default_rng(0)).sum(axis=1).tolist()
    [[2, 2, 2], [2, 2, 2]]
    """
    ranks = rng.random((draws, pairs, series)).argsort(axis=-1)
    odd = rng.integers(0, 2, (draws, pairs, 1)) if series % 2 else 0
    return np.asarray((ranks < series // 2 + odd).transpose(0, 2, 1))
