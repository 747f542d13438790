"""Filters of levels in compiled code: a bank of forgetting rates, updated by demands and stock-outs."""

import math

import numpy as np

from lostsales._jit import compiled
from lostsales.demand.model.counts import demand_at_least, log_score
from lostsales.types import Bools, Floats, Ints

GROWTH_STEPS = 4  # of Newton's method
MOST_GROWTH = 0.05  # bound of the growth that series share, per period


@compiled
def filter_levels(
    demand: Floats,
    exposure: Floats,
    censored: Bools,
    index: Floats,
    own: Ints,
    ends: Ints,
    decays: Floats,
    prior: float,
    usual: Floats,
    spread: tuple[float, float],
    integer: bool,
) -> tuple[Floats, Floats]:
    """Levels of every series after its period `ends`, (series, rates), and these levels smoothed once more.

    With rate k, demand of s periods ago has weight decay_k^s: the level is the posterior mean of a Poisson rate with a
    gamma prior and a discounted past (power discounting). The prior is worth `prior` periods at the next slower
    level, for the slowest at `usual`. A period is weighted by its precision relative to one of exposure 1: beyond
    Poisson variance, a promotion with five times the demand has less than five times the weight. A stock-out enters by
    its conditional mean demand, weighted by its information relative to that of an observed demand.

    `demand`, `exposure` and `censored` are (series, periods). The exposure of a period is its share of time on sale
    times its seasonal index (rows, periods); `own` is the row of each series in it. Rates are ordered from fast to
    slow. `spread` has the factors of mean and squared mean in the variance; counts have the mean in addition.
    """
    n, rates = len(demand), len(decays)
    levels, smoothed = np.empty((n, rates)), np.empty((n, rates))
    total, weight = np.empty(rates), np.empty(rates)
    for i in range(n):
        total[:], weight[:] = 0.0, 0.0
        began = False
        for t in range(ends[i] + 1):
            exposed = exposure[i, t] * index[own[i], t]
            slower = usual[i]
            slowest = spread[1] * (total[rates - 1] + prior * usual[i]) / (weight[rates - 1] + prior)
            share = (spread[0] + integer + slowest) / (spread[0] + integer + slowest * exposed)
            for k in range(rates - 1, -1, -1):
                total[k] *= decays[k]
                weight[k] *= decays[k]
                if exposed > 0.0:
                    if censored[i, t]:
                        mean = (total[k] + prior * slower) / (weight[k] + prior) * exposed
                        variance = (spread[0] + integer + spread[1] * mean) * mean
                        expected, known = demand_at_least(demand[i, t], mean, variance, integer)
                        total[k] += share * (expected - mean + known * mean)
                        weight[k] += share * known * exposed
                    else:
                        total[k] += share * demand[i, t]
                        weight[k] += share * exposed
                slower = (total[k] + prior * slower) / (weight[k] + prior)
                levels[i, k] = slower
                if exposed > 0.0:
                    smoothed[i, k] = (1 - decays[k]) * slower + decays[k] * smoothed[i, k] if began else slower
            began = began or exposed > 0.0
        if not began:
            levels[i], smoothed[i] = usual[i], usual[i]
    return levels, smoothed


@compiled
def shared_growth(
    demand: Floats, exposure: Floats, index: Floats, own: Ints, decay: float, spread: tuple[float, float], integer: bool
) -> float:
    """Growth per period g that all series share: the mean of series i in period t is a_i exposure_it exp(g t).

    Quasi-likelihood by Newton's method, with the means a_i eliminated. Periods are weighted by `decay` to the power of
    their age, series by their mean over the variance at their mean demand. For the other arguments see `filter_levels`.
    """
    n, periods = demand.shape
    growth, weight, factor = 0.0, np.empty(periods), np.empty(periods)
    for t in range(periods):
        weight[t] = decay ** (periods - 1 - t)
    for _ in range(GROWTH_STEPS):
        slope, curvature = 0.0, 1e-12
        for t in range(periods):
            factor[t] = weight[t] * math.exp(growth * (t - periods + 1))
        for i in range(n):
            sold, sold_at, first, second, total, seen = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            for t in range(periods):
                exposed = exposure[i, t] * index[own[i], t]
                if exposed > 0.0:
                    sold += weight[t] * demand[i, t]
                    sold_at += weight[t] * demand[i, t] * t
                    expected = factor[t] * exposed
                    total += expected
                    first += expected * t
                    second += expected * t * t
                    seen += weight[t]
            if total > 0.0:
                first, second = first / total, second / total
                precision = 1.0 / (spread[0] + integer + spread[1] * sold / seen)
                slope += precision * (sold_at - sold * first)
                curvature += precision * sold * (second - first * first)
        step = min(max(slope / curvature, -MOST_GROWTH), MOST_GROWTH)
        growth = min(max(growth + step, -MOST_GROWTH), MOST_GROWTH)
    return growth


@compiled
def level_paths(
    demand: Floats,
    exposure: Floats,
    censored: Bools,
    series: Ints,
    total: Floats,
    weight: Floats,
    score: Floats,
    decays: Floats,
    prior: float,
    usual: Floats,
    spread: tuple[float, float],
    integer: bool,
    discount: float,
) -> Floats:
    """Level before each row, (rows, 2): the mixture of all rates, and the slowest.

    Rows are sorted by series and period. Rates are weighted by the likelihood of the demands so far, discounted by
    `discount` (dynamic model averaging). `total`, `weight` and `score` (series, rates) are the state of each series
    before its first row, updated in place to that after its last; see `filter_levels`.
    """
    rates, found = len(decays), np.empty((len(demand), 2))
    levels = np.empty(rates)
    for row in range(len(demand)):
        i = series[row]
        slower = usual[i]
        for k in range(rates - 1, -1, -1):
            total[i, k] *= decays[k]
            weight[i, k] *= decays[k]
            slower = (total[i, k] + prior * slower) / (weight[i, k] + prior)
            levels[k] = slower
        shares = np.exp(score[i] - score[i].max())
        found[row, 0] = (shares * levels).sum() / shares.sum()
        found[row, 1] = levels[rates - 1]
        for k in range(rates):
            mean = levels[k] * exposure[row]
            if exposure[row] <= 0.0:
                continue
            variance = (spread[0] + integer + spread[1] * mean) * mean
            score[i, k] = discount * score[i, k] + log_score(demand[row], mean, variance, censored[row], integer)
            if censored[row]:
                expected, known = demand_at_least(demand[row], mean, variance, integer)
                total[i, k] += expected - mean + known * mean
                weight[i, k] += known * exposure[row]
            else:
                total[i, k] += demand[row]
                weight[i, k] += exposure[row]
        score[i] -= score[i].max()
    return found
