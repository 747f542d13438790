"""Counts in compiled code: negative binomial quantiles, and what a stock-out tells about a mean.

A count with mean m and variance v above m is negative binomial with size m^2 / (v - m); with v = m it is Poisson's.
Where quantities are not counted, the gamma law with the same mean and variance takes its place.
"""

import math

import numpy as np

from lostsales._jit import compiled
from lostsales.types import Bools, Floats

MANY = 400.0  # beyond this mean, terms are too many to add up and the gamma law is as good
FAR = 100.0  # a bound above this is treated as one on a continuous demand
FAR_BELOW = 3.0  # times a bound, a mean of which the bound says nothing
NEGLIGIBLE = 1e-12
NEARLY_POISSON = 1e-9  # variance beyond that of Poisson's law, relative to it
LANES = 32  # quantiles that are sought side by side


@compiled
def count_quantile(level: float, mean: float, variance: float) -> float:
    """The least count that is not exceeded with probability `level`."""
    if mean <= 0.0:
        return 0.0
    if mean > MANY:
        return math.ceil(float(gamma_quantile(normal_quantile(level), mean, variance)) - 0.5)
    excess = variance - mean
    poisson = excess <= NEARLY_POISSON * mean
    size = 1.0 if poisson else mean * mean / excess
    p = 1.0 if poisson else mean / variance
    term = math.exp(-mean) if poisson else math.exp(size * math.log(p))
    total, count = term, 0.0
    # The tail beyond so many standard deviations is below every level that is asked for.
    most = mean + 60.0 * math.sqrt(variance) + 60.0
    while total < level - NEGLIGIBLE and count < most:
        term *= mean / (count + 1.0) if poisson else (size + count) / (count + 1.0) * (1.0 - p)
        total += term
        count += 1.0
    return count


@compiled
def small_count_quantiles(level: Floats, mean: Floats, variance: Floats, found: Floats) -> None:
    """Fill `found` (rows,) with `count_quantile` of rows, to the last bit; means are at most MANY.

    Of many rows side by side the same term is added, which a processor does at once.
    """
    size, other, term = np.empty(LANES), np.empty(LANES), np.empty(LANES)
    total, goal, most, count = np.empty(LANES), np.empty(LANES), np.empty(LANES), np.empty(LANES)
    for low in range(0, len(mean), LANES):
        rows = min(LANES, len(mean) - low)
        count[:], total[:], goal[:] = 0.0, 0.0, -1.0  # a goal that is reached, where there is nothing to seek
        for j in range(rows):
            m, v = mean[low + j], variance[low + j]
            if v - m > NEARLY_POISSON * m:
                size[j], other[j] = m * m / (v - m), 1.0 - m / v
                total[j] = term[j] = math.exp(size[j] * math.log(m / v))
                goal[j], most[j] = level[low + j] - NEGLIGIBLE, m + 60.0 * math.sqrt(v) + 60.0
        added, sought = 0.0, 1
        while sought > 0:
            sought = 0
            for j in range(LANES):
                more = total[j] < goal[j] and added < most[j]
                term[j] *= (size[j] + added) / (added + 1.0) * other[j]
                total[j] += term[j] if more else 0.0
                count[j] += 1.0 if more else 0.0
                sought += 1 if more else 0
            added += 1.0
        for j in range(rows):
            m, v = mean[low + j], variance[low + j]
            found[low + j] = count[j] if v - m > NEARLY_POISSON * m else count_quantile(level[low + j], m, v)


@compiled
def normal_quantile(level: float) -> float:
    """By bisection: levels are few and this is quick enough."""
    low, high = -9.0, 9.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        if 0.5 * math.erfc(-middle / math.sqrt(2.0)) < level:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


@compiled
def gamma_quantile(z: float, mean: float, variance: float) -> float:
    """Of the gamma law with this mean and variance, by the cube root of Wilson and Hilferty; `z` is the normal one."""
    shape = mean * mean / max(variance, 1e-12 * mean * mean)
    ninth = 1.0 / (9.0 * shape)
    root = 1.0 - ninth + z * math.sqrt(ninth)
    return float(mean * max(root, 0.0) ** 3)


@compiled
def quantiles(level: float, mean: Floats, variance: Floats, integer: bool) -> Floats:
    """The quantile at one level of laws of demand, one a row, (rows,)."""
    found, z = np.empty(len(mean)), normal_quantile(level)
    for i in range(len(mean)):
        if integer and mean[i] <= MANY:
            found[i] = count_quantile(level, mean[i], variance[i])
        else:
            found[i] = gamma_quantile(z, mean[i], variance[i])
            found[i] = math.ceil(found[i] - 0.5) if integer else found[i]
    return found


@compiled
def chance_at_least(least: float, mean: float, variance: float, integer: bool) -> float:
    """P(D >= least)."""
    if least <= 0.0:
        return 1.0
    if not integer or least > FAR:
        return 0.5 * math.erfc((least - 0.5 * integer - mean) / math.sqrt(2.0 * variance))
    size, p = mean * mean / (variance - mean), mean / variance
    term, below = math.exp(size * math.log(p)), 0.0
    for count in range(math.ceil(least)):
        below += term
        term *= (size + count) / (count + 1.0) * (1.0 - p)
    return 1.0 - below


@compiled
def log_score(demand: float, mean: float, variance: float, censored: bool, integer: bool) -> float:
    """Log likelihood of a demand, or of at least so much where it is `censored`.

    What does not depend on the law is left out. Where demand is not counted, it is that of a normal law.
    """
    m = max(mean, 1e-9)
    v = max(variance, m * (1.0 + 1e-6)) if integer else max(variance, 1e-12)
    if censored:
        return math.log(max(chance_at_least(demand, m, v, integer), 1e-30))
    if not integer:
        return -0.5 * ((demand - m) ** 2 / v + math.log(v))
    size, p = m * m / (v - m), m / v
    return math.lgamma(demand + size) - math.lgamma(size) + size * math.log(p) + demand * math.log(1.0 - p)


@compiled
def log_scores(demand: Floats, mean: Floats, variance: Floats, seen: Bools, censored: Bools, integer: bool) -> Floats:
    """`log_score` of rows, (rows,); 0 where nothing is seen."""
    found = np.zeros(len(demand))
    for i in range(len(demand)):
        if seen[i]:
            found[i] = log_score(demand[i], mean[i], variance[i], censored[i], integer)
    return found


@compiled
def demand_at_least(least: float, mean: float, variance: float, integer: bool) -> tuple[float, float]:
    """E[D | D >= least], and the information of the event as a share of that of D itself.

    By Louis's identity the information about the mean that is lost is the variance of D given the event over its
    variance; without a bound nothing is learned, and the share is 0. A bound far below the mean counts as none: where
    every period is sold out each would raise the mean a little, without end.
    """
    if mean <= 0.0 or FAR_BELOW * least <= mean:
        return mean, 0.0
    by_normal: tuple[float, float] = _normal_at_least(least, mean, variance)
    if not integer or least > FAR:
        return by_normal
    size, p = mean * mean / (variance - mean), mean / variance
    term, below, first, second = math.exp(size * math.log(p)), 0.0, 0.0, 0.0
    for count in range(math.ceil(least)):
        below += term
        first += count * term
        second += count * count * term
        term *= (size + count) / (count + 1.0) * (1.0 - p)
    above = 1.0 - below
    if above < 1e-9:
        return by_normal
    expected = (mean - first) / above
    spread = (variance + mean * mean - second) / above - expected * expected
    return max(expected, least), min(max(1.0 - spread / variance, 0.0), 1.0)


@compiled
def expected_at_least(least: Floats, mean: Floats, variance: Floats, integer: bool) -> Floats:
    """E[D | D >= least] of rows, (rows,)."""
    found = np.empty(len(least))
    for i in range(len(least)):
        found[i] = demand_at_least(least[i], mean[i], variance[i], integer)[0]
    return found


@compiled
def drawn_at_least(least: Floats, mean: Floats, variance: Floats, chance: Floats, integer: bool) -> Floats:
    """Demands given D >= least: the quantile at a chance (rows,) between that of the bound and 1."""
    found = np.empty(len(least))
    for i in range(len(least)):
        above = chance_at_least(least[i], mean[i], variance[i], integer)
        level = min(1.0 - above * (1.0 - chance[i]), 1.0 - 1e-9)
        if integer:
            found[i] = max(count_quantile(level, mean[i], variance[i]), least[i])
        else:
            found[i] = max(gamma_quantile(normal_quantile(level), mean[i], variance[i]), least[i])
    return found


@compiled
def _normal_at_least(least: float, mean: float, variance: float) -> tuple[float, float]:
    sd = math.sqrt(variance)
    z = (least - mean) / sd
    tail = 0.5 * math.erfc(z / math.sqrt(2.0))
    # Far out the inverse Mills ratio is z + 1 / z.
    hazard = math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi) / tail if tail > 1e-12 else z + 1.0 / z
    return mean + sd * hazard, min(max(hazard * (hazard - z), 0.0), 1.0)
