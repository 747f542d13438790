"""Randomisation of a pilot: which series, or which blocks of periods, try the new policy.

Series are sorted by past profit and cut into strata, and half of each stratum tries the new policy. In a switchback
every series changes between the policies from block to block: of each pair of successive blocks one is new, and in each
pair half of the series begin with it. The assignment and those that it is compared with are drawn from a seed.
"""

from math import comb

import numpy as np

from lostsales.types import Bools, Floats, Ints

ENOUGH = 5_000  # possible assignments that a randomisation should have, so that 2.5 % of them are many
DRAWS = 5_000  # assignments that the observed one is compared with, itself included
MOST_CELLS = 100_000_000  # of the table of drawn assignments; with more series fewer are drawn
LEAST_DRAWS = 1_000  # of assignments, even for very many series
ALL = 100  # series of a stratum, beyond which its assignments are not counted exactly: they are many
MANY = 1e9  # cap on the number of possible assignments


def stratum_size(series: int) -> int:
    """Smallest even size of strata with enough possible assignments; one stratum for all series if none has.

    >>> stratum_size(100), stratum_size(20), stratum_size(10)
    (2, 4, 10)
    """
    for size in range(2, series // 2 + 1, 2):
        if comb(size, size // 2) ** (series // size) >= ENOUGH:
            return size
    return series


def strata_of(past_profit: Floats) -> Ints:
    """Strata of series with similar past profit, (series,); the last may have up to twice as many.

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
    """Number of possible assignments of series.

    >>> assignments_of(np.array([0, 0, 0, 0, 1, 1, 1]))
    36.0
    """
    found = 1.0
    for size in np.bincount(strata).tolist():
        found = min(found * comb(min(size, ALL), min(size, ALL) // 2) * (1 + size % 2), MANY)
    return found


def switches_of(series: int, pairs: int) -> float:
    """Number of possible assignments of the pairs of a switchback.

    >>> switches_of(1, 6), switches_of(4, 2)
    (64.0, 36.0)
    """
    return min(float(comb(series, series // 2) * (1 + series % 2)) ** pairs, MANY)


def draws_for(units: int) -> int:
    """Number of assignments to compare, given the number of randomised units."""
    return int(np.clip(MOST_CELLS // max(units, 1), LEAST_DRAWS, DRAWS))


def draw_series(strata: Ints, draws: int, rng: np.random.Generator) -> Bools:
    """Assignments of series to the new policy, (draws, series): half of every stratum, an odd one at random.

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
    """Assignments of the new policy to the second block of pairs, (draws, series, pairs): half of the series per pair.

    >>> draw_switches(4, 3, 2, np.random.default_rng(0)).sum(axis=1).tolist()
    [[2, 2, 2], [2, 2, 2]]
    """
    ranks = rng.random((draws, pairs, series)).argsort(axis=-1)
    odd = rng.integers(0, 2, (draws, pairs, 1)) if series % 2 else 0
    return np.asarray((ranks < series // 2 + odd).transpose(0, 2, 1))
