"""Moving levels in compiled code: their update by demands and stock-outs, and sample paths of future demand.

Each member is an exponential smoothing with multiplicative errors (Hyndman, Koehler, Ord and Snyder, 2008): demand is
mean (1 + error), and the level moves by a rate times the error. Some have a trend, some revert to the slowest level.
Counts have the Poisson variance in addition.
"""

import math
from typing import NamedTuple

import numpy as np

from lostsales._jit import compiled
from lostsales.demand.model.counts import chance_at_least, demand_at_least, small_count_quantiles
from lostsales.types import Bools, Floats, Ints

# Smoothing rate of the level, of its trend, and reversion to the slowest level per period. Members and reversion rates
# were selected on nine windows of the VN2 history (docs/public-benchmarks.md).
RATES = np.array(
    [
        [0.02, 0.0, 0.0],
        [0.08, 0.0, 0.0],
        [0.2, 0.0, 0.0],
        [0.4, 0.0, 0.0],
        [0.7, 0.0, 0.0],
        [0.2, 0.05, 0.0],
        [0.4, 0.1, 0.0],
        [0.1, 0.0, 0.1],
        [0.2, 0.0, 0.1],
    ]
)
DAMPING = 0.9  # factor of a trend per period
VARIANCE_DECAY = 0.95  # discount of squared errors per period
FEW = 30.0  # mean below which a count is negative binomial; above it, demand is a rounded continuous draw
LEAST_LEVEL = 0.05  # lower bound of the level of counts
LEAST_EXCESS = 1e-4  # lower bound of the variance beyond Poisson's, relative to the squared mean
FREEDOM = 5.0  # degrees of freedom of the Student distribution of errors in a score
LOG_DENSITY = math.lgamma((FREEDOM + 1) / 2) - math.lgamma(FREEDOM / 2) - 0.5 * math.log(FREEDOM * math.pi)
FAULTY = 0.02  # assumed share of false stock-outs, so that a single one does not rule a member out
LARGEST_ERROR = 4.0  # bound of the relative error of a drawn demand


class LevelState(NamedTuple):
    """State of every member, each (series, members), and number of observed periods, (series,)."""

    level: Floats
    trend: Floats
    squares: Floats  # discounted sum of squared relative errors beyond Poisson's
    weight: Floats  # discounted number of these
    score: Floats  # discounted log likelihood of demands
    shown: Ints  # (series,)


@compiled
def log_density(units: float, mean: float, relative: float, counted: bool) -> float:
    """Log density of a demand: negative binomial for small counts, else Student; `relative` is variance over mean^2."""
    if counted and mean < FEW:
        size = 1.0 / max(relative - 1.0 / mean, LEAST_EXCESS)
        p = size / (size + mean)
        found = math.lgamma(units + size) - math.lgamma(size) - math.lgamma(units + 1.0)
        return found + size * math.log(p) + units * math.log(1.0 - p)
    squared = (units / mean - 1.0) ** 2 / relative
    return LOG_DENSITY - 0.5 * (FREEDOM + 1.0) * math.log1p(squared / FREEDOM) - math.log(mean * math.sqrt(relative))


@compiled
def observe(
    state: LevelState,
    demand: Floats,
    exposure: Floats,
    censored: Bools,
    rates: Floats,
    forgetting: float,
    counted: bool,
) -> None:
    """Update a state by periods (series, periods), in place; a demand of NaN is skipped.

    The exposure of a period is its seasonal index times its share of time on sale. A stock-out enters by its
    conditional mean demand.
    """
    least_level = LEAST_LEVEL if counted else 1e-9
    for i in range(len(demand)):
        for t in range(demand.shape[1]):
            units, exposed = demand[i, t], exposure[i, t]
            if math.isnan(units) or exposed <= 0.0:
                continue
            if state.shown[i] == 0:
                first = max(units / exposed, 0.5 if counted else 1e-9)
                if censored[i, t]:  # a bound is no level: the first demand that is seen sets it
                    state.level[i] = np.maximum(state.level[i], first)
                else:
                    state.level[i], state.shown[i] = first, 1
                continue
            slowest = state.level[i, 0]
            for k in range(len(rates)):
                base = state.level[i, k] + DAMPING * state.trend[i, k]
                base = max(base + rates[k, 2] * (slowest - base), least_level)
                mean = base * exposed
                noise = 1.0 / mean if counted else 0.0
                relative = max(state.squares[i, k] / state.weight[i, k], LEAST_EXCESS) + noise
                variance = relative * mean * mean
                if censored[i, t]:
                    expected = max(demand_at_least(units, mean, variance, counted)[0], units)
                    chance = min(max(chance_at_least(units, mean, variance, counted), 0.0), 1.0)
                    score = math.log((1.0 - FAULTY) * chance + FAULTY)
                else:
                    expected = units
                    score = log_density(units, mean, relative, counted)
                error = (expected - mean) / mean
                state.score[i, k] = forgetting * state.score[i, k] + score
                if not censored[i, t]:
                    square = min(error * error, 9.0 * relative + 0.25) - noise
                    state.squares[i, k] = max(VARIANCE_DECAY * state.squares[i, k] + square, 0.0)
                    state.weight[i, k] = VARIANCE_DECAY * state.weight[i, k] + 1.0
                error = max(error, -1.0)
                if not counted or mean >= FEW:  # large relative errors of small counts are no outliers
                    error = min(error, 3.0 * math.sqrt(relative) + 0.3)
                if rates[k, 1] > 0.0:
                    state.trend[i, k] = DAMPING * state.trend[i, k] + rates[k, 1] * base * error
                rate = max(rates[k, 0], 1.0 / (state.shown[i] + 1.0))
                state.level[i, k] = max(base + rate * base * error, least_level)
            state.shown[i] += 1


@compiled
def shares_of(score: Floats) -> Floats:
    """Weights of the members by their scores, (members,)."""
    shares: Floats = np.exp(score - score.max())
    shares /= shares.sum()
    return shares


@compiled
def draw_paths(
    state: LevelState,
    i: int,
    exposure: Floats,
    chances: Floats,
    errors: Floats,
    rates: Floats,
    counted: bool,
    paths: Floats,
) -> None:
    """Fill `paths` (periods, paths) with sampled demands of series i; `exposure` is (periods,).

    Every path follows one member, in proportion to the weights, and the level moves along the path by its own errors.
    `chances` are uniform draws and `errors` draws with variance 1, both (paths, periods).
    """
    periods, n = paths.shape
    shares, least_level, slowest = shares_of(state.score[i]), LEAST_LEVEL if counted else 1e-9, state.level[i, 0]
    member, level, trend = np.empty(n, dtype=np.int64), np.empty(n), np.empty(n)
    base, mean, relative = np.empty(n), np.empty(n), np.empty(n)
    few, variance, counts = np.empty(n), np.empty(n), np.empty(n)
    k, reached = 0, shares[0]
    for s in range(n):
        while (s + 0.5) / n > reached and k < len(shares) - 1:
            k += 1
            reached += shares[k]
        member[s], level[s], trend[s] = k, state.level[i, k], state.trend[i, k]
    excess = np.maximum(state.squares[i] / state.weight[i], LEAST_EXCESS)
    rate = np.maximum(rates[:, 0], 1.0 / (state.shown[i] + 1.0))
    for t in range(periods):
        exposed, are_few = exposure[t], False
        for s in range(n):
            k = member[s]
            moved = level[s] + DAMPING * trend[s]
            base[s] = max(moved + rates[k, 2] * (slowest - moved), least_level)
            mean[s] = base[s] * exposed
            relative[s] = excess[k] + (1.0 / mean[s] if counted and exposed > 0.0 else 0.0)
            is_few = counted and mean[s] < FEW
            few[s] = mean[s] if is_few else 0.0
            variance[s] = relative[s] * few[s] * few[s]
            are_few = are_few or is_few
        if are_few:
            small_count_quantiles(chances[:, t], few, variance, counts)
        for s in range(n):
            if mean[s] <= 0.0:
                paths[t, s] = 0.0
                continue
            k, deviation = member[s], math.sqrt(relative[s])
            units = counts[s]
            if few[s] == 0.0:
                units = mean[s] * (1.0 + min(max(errors[s, t] * deviation, -1.0), LARGEST_ERROR))
                units = np.rint(units) if counted else units
            paths[t, s] = units
            error = min(units / mean[s] - 1.0, LARGEST_ERROR + 3.0 * deviation)
            if rates[k, 1] > 0.0:
                trend[s] = DAMPING * trend[s] + rates[k, 1] * base[s] * error
            level[s] = max(base[s] * (1.0 + rate[k] * error), least_level)
