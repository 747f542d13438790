"""Seasonal indices of weekdays, weeks or months, shared by all series, and those of each series around them."""

import numpy as np

from lostsales.demand.model.periods import Cycle
from lostsales.types import Floats, Ints

OVERDISPERSION = 0.2  # of negative binomial demand, in the weights of series of different size
LEAST_WINDOW = 28  # least window of the centred moving average, in periods
LEAST_CYCLES = 1.05  # cycles that a history must cover for a season
FEW_REPEATS = 4  # with fewer positions seen twice, noise is estimated from neighbouring periods
LEAST_SPAN = 2  # the centred windows must span this part of one for an estimate of growth
OF_A_MEAN = 0.5  # weight of the overall mean of a series in its centred level, in periods


def seasonal_index(
    demand: Floats, exposure: Floats, cycles: tuple[Cycle, ...], columns: int, prior: float
) -> tuple[Floats, Ints]:
    """Index of every column, shared (1, columns) or by series (series, columns), and the row of each series in it.

    Cycles are estimated one after the other, each after removing those before. `prior` is the weight of the shared
    index at each position of a series, in sold units; infinite if series have no index of their own.
    """
    n, periods = demand.shape
    index = np.ones((1, columns))
    for cycle in cycles:
        if periods < LEAST_CYCLES * cycle.columns:
            continue
        place = cycle.position(np.arange(columns))
        window = cycle.columns * max(1, -(-LEAST_WINDOW // cycle.columns))
        exposed = exposure * index[:, :periods]
        level = with_growth(centred_level(demand, exposed, window), window)
        shared = shared_index(demand, exposed, level, place[:periods], cycle.length)
        own = own_index(demand, exposed * level * shared[place[:periods]], shared, place[:periods], prior)
        index = index * own[:, place]
    return index, np.arange(n) if len(index) > 1 else np.zeros(n, dtype=np.int64)


def centred_level(demand: Floats, exposure: Floats, window: int) -> Floats:
    """Centred moving average of each series, (series, periods); the window is moved inwards at the ends."""
    n, periods = demand.shape
    start = np.clip(np.arange(periods) - window // 2, 0, max(periods - window, 0))
    end = np.minimum(start + window, periods)
    total = np.concatenate([np.zeros((n, 1)), demand.cumsum(axis=1)], axis=1)
    time = np.concatenate([np.zeros((n, 1)), exposure.cumsum(axis=1)], axis=1)
    overall = (total[:, -1:] + 1e-9) / np.maximum(time[:, -1:], 1e-9)
    within = time[:, end] - time[:, start]
    return np.asarray((total[:, end] - total[:, start] + OF_A_MEAN * overall) / (within + OF_A_MEAN))


def with_growth(level: Floats, window: int) -> Floats:
    """Level of `centred_level`, continued by the growth of all series where its window was moved inwards.

    Without it a rising demand has a low index at the start of the history and a high one at its end.
    """
    periods = level.shape[1]
    first, last = window // 2, periods - window + window // 2
    if last - first < window // LEAST_SPAN:
        return level
    growth = np.log(level[:, last].sum() / level[:, first].sum()) / (last - first)
    at = np.arange(periods)
    return np.asarray(level * np.exp(growth * (at - np.clip(at, first, last))))


def shared_index(demand: Floats, exposure: Floats, level: Floats, position: Ints, length: int) -> Floats:
    """Index of each position of a cycle, (length,): ratio of demand to level, shrunk towards 1 by its noise.

    The ratio of each period is a mean over series, weighted as for negative binomial demand. Noise is the variance of
    a position between cycles; if hardly any position is seen twice, that between neighbouring periods.
    """
    weight = 1.0 / (1.0 + OVERDISPERSION * level)
    seen, wanted = (demand * weight).sum(axis=0), (exposure * level * weight).sum(axis=0)
    used = wanted > 0
    if not used.any():
        return np.ones(length)
    total, weights = np.bincount(position, seen, length), np.bincount(position, wanted, length)
    index = np.where(weights > 0, total / np.maximum(weights, 1e-300), 1.0)
    times = np.bincount(position[used], minlength=length)
    noise = _noise(seen[used] / wanted[used], position[used], index, times)
    spread = float(np.var(index[times > 0]))
    signal = max(1.0 - noise / spread, 0.0) if spread > 0 else 0.0
    return np.where(times > 0, 1.0 + signal * (index - 1.0), 1.0)


def _noise(ratio: Floats, position: Ints, index: Floats, times: Ints) -> float:
    """Estimated sampling variance of an index."""
    repeated = int(np.count_nonzero(times > 1))
    if repeated >= min(len(times), FEW_REPEATS):
        repeats = times[position] > 1
        squares = (ratio - index[position])[repeats] ** 2
        variance = float(squares.sum()) / max(int(np.count_nonzero(repeats)) - repeated, 1)
    else:
        variance = 0.5 * float(np.mean(np.diff(ratio) ** 2)) if len(ratio) > 1 else np.inf
    return variance / float(times[times > 0].mean())


def own_index(demand: Floats, expected: Floats, shared: Floats, position: Ints, prior: float) -> Floats:
    """Indices of each series, (series, length): shared index times demand over its expectation.

    The prior is a gamma distribution with mean 1, as if `prior` units had been expected and sold at each position; if
    it is infinite, all series have the shared index, (1, length).
    """
    if not np.isfinite(prior):
        return shared[None, :]
    places = np.eye(len(shared))[position]
    return np.asarray(shared * (demand @ places + prior) / (expected @ places + prior))
