"""Levels of series around a shared mean: normal (empirical Bayes).

A series of a few rows has nearly the level of all, one of thousands its own.
"""

import numpy as np

from lostsales.types import Floats, Ints

BEYOND_CHANCE = 3.0  # standard deviations of a sum of squares above which levels differ
STEPS = 20  # of the expectation-maximisation of the variance


def fit_levels(
    left: Floats, factor: Floats, weights: Floats, series: Ints, product: Ints, level: Floats, variance: float
) -> tuple[Floats, float]:
    """Levels of series (series,) around a shared mean, and their variance: 0 where they do not differ beyond chance.

    `left` is what the mean leaves of each row, `factor` multiplies its spread, and `weights` count it; `product` is
    that of each series: parts of its history share a level. `level` and `variance` are those of the iteration before.
    """
    own, before = product[series], np.zeros(int(product.max()) + 1)
    before[product] = level
    moved = left - before[own]
    noise = float(weights @ (moved / factor) ** 2 / weights.sum())
    if noise <= 0:
        return np.zeros(len(product)), 0.0
    precision = weights / (noise * factor**2)
    first = _beyond_chance(moved, precision, own, before)
    if first == 0:
        return np.zeros(len(product)), 0.0
    found, between = drawn_together(left, precision, own, variance or first, len(before))
    return found[product], between


def drawn_together(
    left: Floats, precision: Floats, series: Ints, variance: float, count: int, steps: int = STEPS
) -> tuple[Floats, float]:
    """Levels of series (count,) in `left` (rows,), and their variance; iterations start at `variance`."""
    information = np.bincount(series, precision, count)
    score, present, common = np.bincount(series, precision * left, count), np.bincount(series, minlength=count) > 0, 0.0
    for _ in range(steps):
        uncertain = 1.0 / (information + 1.0 / variance)
        levels = uncertain * (score + common / variance)
        common = float(levels[present].mean())
        variance = max(float(((levels - common) ** 2 + uncertain)[present].mean()), 1e-12)
    return levels, variance


def _beyond_chance(moved: Floats, precision: Floats, series: Ints, level: Floats) -> float:
    """Variance of the levels of series, 0 where they do not differ beyond chance.

    Of equal series the squared t statistics of their levels sum to a chi-squared variable.
    """
    information = np.bincount(series, precision, len(level))
    seen = information > 0
    freedom = np.count_nonzero(seen) - 1
    if freedom < 1:
        return 0.0
    score = np.bincount(series, precision * moved, len(level))[seen] / information[seen] + level[seen]
    information = information[seen]
    score -= information @ score / information.sum()
    excess = float(information @ score**2) - freedom
    if excess <= BEYOND_CHANCE * np.sqrt(2 * freedom):
        return 0.0
    return excess / float(information.sum() - (information**2).sum() / information.sum())
