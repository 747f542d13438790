"""Compiled laws of counts: Poisson, and negative binomial of variance mean + dispersion * mean^2."""

import math

import numpy as np

from lostsales._jit import compiled
from lostsales.demand.law.particle_loops import TINY, Intervals, Particles, RandomNumbers, resample
from lostsales.types import Floats, Ints

REACH = 12.0  # standard deviations below the mean at which a count has no probability
LEAST_DISPERSION = 1e-7  # below which a law is Poisson's
NEGLIGIBLE = 1e-13  # share of a sum at which further probabilities are left out


@compiled
def log_chance(count: float, mean: float, dispersion: float) -> float:
    """Log P(K = count)."""
    if dispersion < LEAST_DISPERSION:
        return count * math.log(mean) - mean - math.lgamma(count + 1)
    size = 1 / dispersion
    own = math.lgamma(count + size) - math.lgamma(size) - math.lgamma(count + 1)
    return own - size * math.log1p(mean * dispersion) + count * math.log(mean / (size + mean))


@compiled
def _ratio(count: float, mean: float, dispersion: float) -> float:
    """P(K = count + 1) / P(K = count)."""
    if dispersion < LEAST_DISPERSION:
        return mean / (count + 1)
    return (1 + dispersion * count) / (count + 1) * mean / (1 + dispersion * mean)


@compiled
def _begin(first: float, mean: float, dispersion: float) -> float:
    """The least count from `first` on that has any probability to speak of."""
    return max(first, float(np.floor(mean - REACH * math.sqrt(mean + dispersion * mean * mean))))


@compiled
def _chance_from(count: float, last: float, at_first: float, mean: float, dispersion: float) -> float:
    """P(count <= K <= last), from log P(K = count)."""
    if last < count:
        return 0.0
    total, own = 0.0, 1.0  # relative to the first
    while count <= last:
        total += own
        if count > mean and own < NEGLIGIBLE * total:
            break
        own *= _ratio(count, mean, dispersion)
        count += 1
    return min(math.exp(at_first + math.log(total)), 1.0)


@compiled
def chance_between(first: float, last: float, mean: float, dispersion: float) -> float:
    """P(first <= K <= last)."""
    count = _begin(max(first, 0.0), mean, dispersion)
    return _chance_from(count, last, log_chance(count, mean, dispersion), mean, dispersion)


@compiled
def chance_below(first: float, mean: float, dispersion: float) -> float:
    """P(K < first)."""
    if first > mean:
        return max(1 - chance_between(first, math.inf, mean, dispersion), 0.0)
    return chance_between(0.0, first - 1, mean, dispersion)


@compiled
def _count_from(count: float, own: float, share: float, last: float, mean: float, dispersion: float) -> float:
    """`count_at`, from the first count that has any probability and its own."""
    passed = own
    while passed < share and count < last and not (count > mean and own < NEGLIGIBLE):
        own *= _ratio(count, mean, dispersion)
        passed += own
        count += 1
    return count


@compiled
def count_at(share: float, first: float, last: float, mean: float, dispersion: float, chance: float) -> float:
    """The count that a share of the law between `first` and `last`, of probability `chance`, lies below."""
    count = _begin(max(first, 0.0), mean, dispersion)
    own = math.exp(log_chance(count, mean, dispersion)) / chance
    return _count_from(count, own, share, last, mean, dispersion)


@compiled
def count_quantiles(share: Floats, mean: Floats, dispersion: float, counts: Floats) -> None:
    """The count below which each share of a law lies; all arrays (rows,)."""
    for row in range(len(share)):
        counts[row] = count_at(share[row], 0.0, math.inf, mean[row], dispersion, 1.0)


@compiled
def count_atoms(mean: Floats, dispersion: float, atoms: Floats) -> None:
    """Means of equally likely shares of each law, rising, (rows, atoms)."""
    n_atoms = atoms.shape[1]
    for row in range(len(mean)):
        count = _begin(0.0, mean[row], dispersion)
        own = math.exp(log_chance(count, mean[row], dispersion))
        atoms[row] = 0.0
        atom, room = 0, 1.0  # of the share, in atoms
        while atom < n_atoms:
            left = own * n_atoms
            if count > mean[row] and own < NEGLIGIBLE:
                left = room + n_atoms - atom  # the rest of the law is here
            while left > 0 and atom < n_atoms:
                taken = min(left, room)
                atoms[row, atom] += taken * count
                left, room = left - taken, room - taken
                if room <= NEGLIGIBLE:
                    atom, room = atom + 1, 1.0
            own *= _ratio(count, mean[row], dispersion)
            count += 1


@compiled
def draw_counts(
    at: Ints,
    span: Ints,
    mean: Floats,
    dispersion: float,
    scale: Floats,
    intervals: Intervals,
    random: RandomNumbers,
    particles: Particles,
    with_below: bool,
) -> None:
    """`draw_latents` of counts: `mean` (rows at the level, 1 or draws) and intervals are in units of the log.

    `scale` (rows,) turns counts into latents.
    """
    low, high, is_informative = intervals
    uniform, pick = random
    latent, lag, below, within = particles
    draws = uniform.shape[1]
    means = mean.shape[1]
    chance, chosen, kept = np.empty(draws), np.empty(draws, dtype=np.int64), np.empty(draws)
    under, begin, at_begin = np.empty(draws), np.empty(draws), np.empty(draws)
    for index in range(len(at)):
        row = at[index]
        first, last = max(np.floor(low[row]) + 1, 0.0), np.floor(high[row])
        total_under, total_chance = 0.0, 0.0
        for d in range(draws):
            same, own = 0, mean[index, d if means > 1 else 0]
            while same < d and means > 1 and mean[index, same] != own:
                same += 1
            if same < d:  # hidden counts repeat, and so do the means that follow them
                under[d], chance[d], begin[d], at_begin[d] = under[same], chance[same], begin[same], at_begin[same]
            else:
                under[d] = chance_below(first, own, dispersion) if with_below else 0.0
                begin[d] = _begin(first, own, dispersion)
                at_begin[d] = log_chance(begin[d], own, dispersion)
                chance[d] = _chance_from(begin[d], last, at_begin[d], own, dispersion)
            total_under += under[d] if d < means else 0.0
            total_chance += chance[d]
            chosen[d] = d
        below[row], within[row] = total_under / means, total_chance / draws
        if span[row] > 0:
            resample(row, span[row], is_informative[row], chance, pick, latent, lag, chosen, kept)
        for d in range(draws):
            source = chosen[d]
            drawn = first
            if first < last and chance[source] > TINY:
                centre = mean[index, source if means > 1 else 0]
                own = math.exp(at_begin[source]) / chance[source]
                drawn = _count_from(begin[source], own, uniform[row, d], last, centre, dispersion)
            latent[row, d] = drawn / scale[row]
