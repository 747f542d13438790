"""Count distributions in compiled code: negative binomial quantiles, and moments of demand given a stock-out.

A count with mean m and variance v above m is negative binomial with size m^2 / (v - m); with v = m it is Poisson.
If quantities are not counted, a gamma distribution with the same mean and variance is used instead.
"""

import math

import numpy as np

from lostsales._jit import compiled
from lostsales.types import Bools, Floats

MANY = 400.0  # mean beyond which quantiles are those of a gamma distribution: as good, without summing many terms
FAR = 100.0  # a bound above this is treated as one on a continuous demand
FAR_BELOW = 3.0  # a bound below the mean by this factor is uninformative
NEGLIGIBLE = 1e-12  # rounding error allowed in a cumulative probability
NEARLY_POISSON = 1e-9  # relative excess over the Poisson variance, up to which a count is treated as Poisson
LANES = 32  # quantiles searched together, so that the compiler vectorises the loop


@compiled
def gamma_quantile(z: float, mean: float, variance: float) -> float:
    """Quantile of a gamma distribution by the Wilson-Hilferty approximation; `z` is the standard normal quantile."""
    shape = mean * mean / max(variance, 1e-12 * mean * mean)
    ninth = 1.0 / (9.0 * shape)
    root = 1.0 - ninth + z * math.sqrt(ninth)
    return float(mean * max(root, 0.0) ** 3)


@compiled
def normal_quantile(level: float) -> float:
    """Quantile of the standard normal distribution, by bisection: few are needed, so this is fast enough."""
    low, high = -9.0, 9.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        if 0.5 * math.erfc(-middle / math.sqrt(2.0)) < level:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


@compiled
def count_quantile(level: float, mean: float, variance: float) -> float:
    """Quantile of a count at probability `level`: the least count with P(D <= count) >= level."""
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
    # Search limit: the tail beyond 60 standard deviations is below every tail probability in use.
    most = mean + 60.0 * math.sqrt(variance) + 60.0
    while total < level - NEGLIGIBLE and count < most:
        term *= mean / (count + 1.0) if poisson else (size + count) / (count + 1.0) * (1.0 - p)
        total += term
        count += 1.0
    return count


@compiled
def small_count_quantiles(level: Floats, mean: Floats, variance: Floats, found: Floats) -> None:
    """Fill `found` (rows,) with `count_quantile` of rows, equal to the last bit; means are at most MANY.

    Terms are added for LANES rows at a time, which the compiler vectorises.
    """
    size, other, term = np.empty(LANES), np.empty(LANES), np.empty(LANES)
    total, goal, most, count = np.empty(LANES), np.empty(LANES), np.empty(LANES), np.empty(LANES)
    for low in range(0, len(mean), LANES):
        rows = min(LANES, len(mean) - low)
        count[:], total[:], goal[:] = 0.0, 0.0, -1.0  # a goal already reached: nothing to search
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
def quantiles(level: float, mean: Floats, variance: Floats, integer: bool) -> Floats:
    """Quantiles of demand at one probability, one per row, (rows,)."""
    found, z = np.empty(len(mean)), normal_quantile(level)
    for i in range(len(mean)):
        if integer and mean[i] <= MANY:
            found[i] = count_quantile(level, mean[i], variance[i])
        else:
            found[i] = gamma_quantile(z, mean[i], variance[i])
            found[i] = math.ceil(found[i] - 0.5) if integer else found[i]
    return found


@compiled
def demand_quantiles(levels: Floats, mean: Floats, variance: Floats, integer: bool) -> Floats:
    """Quantiles of demands (series, periods) at probabilities (series, periods, draws), in their shape."""
    found = np.empty(levels.shape)
    for i in range(levels.shape[0]):
        for t in range(levels.shape[1]):
            m, v = mean[i, t], variance[i, t]
            for s in range(levels.shape[2]):
                if integer and m <= MANY:
                    found[i, t, s] = count_quantile(levels[i, t, s], m, v)
                else:
                    units = gamma_quantile(normal_quantile(levels[i, t, s]), m, v)
                    found[i, t, s] = math.ceil(units - 0.5) if integer else units
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
    """Log likelihood of a demand, or of D >= demand if it is `censored`.

    Constants are left out. Demand that is not counted has a normal distribution here.
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
    """Log likelihoods of rows by `log_score`, (rows,); 0 if not seen."""
    found = np.zeros(len(demand))
    for i in range(len(demand)):
        if seen[i]:
            found[i] = log_score(demand[i], mean[i], variance[i], censored[i], integer)
    return found


@compiled
def _normal_at_least(least: float, mean: float, variance: float) -> tuple[float, float]:
    sd = math.sqrt(variance)
    z = (least - mean) / sd
    tail = 0.5 * math.erfc(z / math.sqrt(2.0))
    # Asymptote of the inverse Mills ratio.
    hazard = math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi) / tail if tail > 1e-12 else z + 1.0 / z
    return mean + sd * hazard, min(max(hazard * (hazard - z), 0.0), 1.0)


@compiled
def demand_at_least(least: float, mean: float, variance: float, integer: bool) -> tuple[float, float]:
    """Conditional mean E[D | D >= least], and the information of the event relative to that of D itself.

    By Louis's identity the share of information about the mean that is lost is Var(D | D >= least) / Var(D); without
    a bound nothing is learned, and the relative information is 0. A bound far below the mean is ignored: if every
    period is sold out, each would raise the mean a little, without end.
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
def _gamma_tail(x: float, shape: float) -> float:
    """P(X >= x) of a standard gamma distribution by the Wilson-Hilferty approximation."""
    ninth = 1.0 / (9.0 * shape)
    z = ((x / shape) ** (1.0 / 3.0) - 1.0 + ninth) / math.sqrt(ninth)
    return 0.5 * math.erfc(z / math.sqrt(2.0))


@compiled
def _gamma_at_least(least: float, mean: float, variance: float, otherwise: tuple[float, float]) -> tuple[float, float]:
    """`demand_at_least` of a gamma distribution: E[D; D >= x] is the mean times the tail of the next shape."""
    shape = mean * mean / variance
    scaled = least * shape / mean
    tail = _gamma_tail(scaled, shape)
    if tail < 1e-9:
        return otherwise
    first = mean * _gamma_tail(scaled, shape + 1.0) / tail
    second = mean * mean * (1.0 + 1.0 / shape) * _gamma_tail(scaled, shape + 2.0) / tail
    return max(first, least), min(max(1.0 - (second - first * first) / variance, 0.0), 1.0)


@compiled
def demands_at_least(
    least: Floats, mean: Floats, variance: Floats, censored: Bools, integer: bool
) -> tuple[Floats, Floats]:
    """Demands (series, periods), if `censored` their conditional means, and their relative information."""
    found, known = least.copy(), np.ones(least.shape)
    for i in range(least.shape[0]):
        for t in range(least.shape[1]):
            if censored[i, t]:
                demand, m, v = least[i, t], mean[i, t], variance[i, t]
                moments = demand_at_least(demand, m, v, integer)
                if integer and demand > FAR and FAR_BELOW * demand > m:  # skewed, unlike a normal law
                    moments = _gamma_at_least(demand - 0.5, m, v, moments)
                found[i, t], known[i, t] = moments
    return found, known


@compiled
def expected_at_least(least: Floats, mean: Floats, variance: Floats, integer: bool) -> Floats:
    """Conditional means E[D | D >= least] of rows, (rows,)."""
    found = np.empty(len(least))
    for i in range(len(least)):
        found[i] = demand_at_least(least[i], mean[i], variance[i], integer)[0]
    return found


@compiled
def drawn_at_least(least: Floats, mean: Floats, variance: Floats, chance: Floats, integer: bool) -> Floats:
    """Draws of demand given D >= least, by inversion of uniform draws `chance` (rows,)."""
    found = np.empty(len(least))
    for i in range(len(least)):
        above = chance_at_least(least[i], mean[i], variance[i], integer)
        level = min(1.0 - above * (1.0 - chance[i]), 1.0 - 1e-9)
        if integer:
            found[i] = max(count_quantile(level, mean[i], variance[i]), least[i])
        else:
            found[i] = max(gamma_quantile(normal_quantile(level), mean[i], variance[i]), least[i])
    return found
