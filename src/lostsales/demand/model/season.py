"""Seasonal indices of weekdays, weeks or months, shared by all series, and those of groups and series around them."""

from typing import NamedTuple

import numpy as np

from lostsales.demand.model.periods import Cycle
from lostsales.demand.model.pooling import Variances, pool, sums_by_group, updated_variances
from lostsales.types import Floats, Ints

OVERDISPERSION = 0.2  # of negative binomial demand, in the weights of series of different size
LEAST_WINDOW = 28  # least window of the centred moving average, in periods
LEAST_CYCLES = 1.05  # cycles that a history must cover for a season
FEW_REPEATS = 4  # with fewer positions seen twice, noise is estimated from neighbouring periods
LEAST_SPAN = 2  # the centred windows must span this part of one for an estimate of growth
OF_A_MEAN = 0.5  # weight of the overall mean of a series in its centred level, in periods
MOST_POSITIONS = 7  # of a cycle whose positions have effects of their own; longer ones are harmonic
HARMONICS = 2  # of the effects of a series in a longer cycle
BLOCKS = 8  # of a cycle, whose sums are taken to be independent
STEPS = 10  # of the expectation-maximisation of variances
INDEX_RANGE = 0.2, 5.0  # bounds of the index of a series relative to the shared one


class SeasonPrior(NamedTuple):
    """Distribution of the seasons of groups and series around the shared one."""

    variances: Variances
    noise: float  # variance of a sum of residuals over its expectation
    shared: tuple[float, float]  # design effects, see `pool`


class SeasonIndex(NamedTuple):
    """Index of every column."""

    values: Floats  # shared (1, columns) or by series (series, columns)
    row: Ints  # (series,) row of each series in it
    priors: tuple[SeasonPrior | None, ...]  # of the cycles; None if all series share theirs


def seasonal_index(
    demand: Floats,
    exposure: Floats,
    cycles: tuple[Cycle, ...],
    columns: int,
    group: Ints | None = None,
    priors: tuple[SeasonPrior | None, ...] | None = None,
) -> SeasonIndex:
    """Index of every column, shared by all series or, if they have a `group` (series,), drawn to that of their group.

    Cycles are estimated one after the other, each after removing those before. `priors` of the cycles are estimated by
    default.
    """
    n, periods = demand.shape
    index = np.ones((1, columns))
    found: list[SeasonPrior | None] = []
    for at, cycle in enumerate(cycles):
        found.append(None)
        if periods < LEAST_CYCLES * cycle.columns:
            continue
        place = cycle.position(np.arange(columns))
        window = cycle.columns * max(1, -(-LEAST_WINDOW // cycle.columns))
        exposed = exposure * index[:, :periods]
        level = with_growth(centred_level(demand, exposed, window), window)
        shared = shared_index(demand, exposed, level, place[:periods], cycle.length)
        index = index * shared[place]
        if group is None or n == 1:
            continue
        mean = exposed * level * shared[place[:periods]]
        weight = mean / (1.0 + OVERDISPERSION * level)
        residual = (demand - mean) / (1.0 + OVERDISPERSION * level) * (exposure > 0)
        block = max(cycle.columns // BLOCKS, 1)
        effects, prior = season_effects(
            weight, residual, place[:periods], cycle.length, group, priors[at] if priors else None, block
        )
        index, found[at] = index * np.clip(1.0 + effects, *INDEX_RANGE)[:, place], prior
    return SeasonIndex(index, np.arange(n) if len(index) > 1 else np.zeros(n, dtype=np.int64), tuple(found))


def season_basis(length: int) -> Floats:
    """Columns of the season of a series, (length, effects): each position, or harmonics of a long cycle."""
    if length <= MOST_POSITIONS:
        return np.eye(length) - 1.0 / length
    angle = 2 * np.pi * np.arange(length)[:, None] / length * np.arange(1, HARMONICS + 1)
    return np.concatenate([np.cos(angle), np.sin(angle)], axis=1)


def season_effects(
    weight: Floats,
    residual: Floats,
    position: Ints,
    length: int,
    group: Ints,
    prior: SeasonPrior | None = None,
    block: int = 1,
) -> tuple[Floats, SeasonPrior]:
    """Effects of series at the positions of a cycle (series, length), drawn to those of their group, and these to all.

    `weight` (series, periods) are precisions of relative errors, and `residual` are these errors times their weight;
    `position` is (periods,) or (series, periods). Without a `prior` the variances of effects are estimated by
    expectation-maximisation; sums over a `block` of periods measure the noise, as a level that moves lasts.
    """
    basis = season_basis(length)
    cell = np.arange(len(weight))[:, None] * length + position
    by_place = [np.bincount(cell.reshape(-1), each.reshape(-1), len(weight) * length) for each in (weight, residual)]
    weights, sums = (each.reshape(len(weight), length) for each in by_place)
    information, score = np.einsum("sp,pk,pl->skl", weights, basis, basis, optimize=True), sums @ basis
    if prior is None:
        variances, rest = Variances.first(basis.shape[1]), residual
        for _ in range(2):  # the second time without the effects of the first
            noise, shared = _noise_of_blocks(rest, weight, group, block)
            for _ in range(STEPS):
                found = pool(information / noise, score / noise, group, variances, shared)
                variances = updated_variances(found, group)
            rest = residual - weight * (found.by_series @ basis.T).reshape(-1)[cell]
        prior = SeasonPrior(variances, noise, shared)
    found = pool(information / prior.noise, score / prior.noise, group, prior.variances, prior.shared)
    return found.by_series @ basis.T, prior


def _noise_of_blocks(residual: Floats, weight: Floats, group: Ints, block: int) -> tuple[float, tuple[float, float]]:
    """Variance of sums over blocks relative to their weight, and design effects of groups and of all."""
    sums = np.add.reduceat(residual, np.arange(0, residual.shape[1], block), axis=1)
    squares = [float((each**2).sum()) for each in (sums, sums_by_group(sums, group), sums.sum(axis=0))]
    within = max(squares[1] / max(squares[0], 1e-12), 1.0)
    noise = max(squares[0] / max(float(weight.sum()), 1e-12), 1e-6)
    return noise, (within, max(squares[2] / max(squares[0], 1e-12) / within, 1.0))


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
