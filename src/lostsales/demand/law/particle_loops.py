"""Compiled particle filter: draws latent demands in their intervals and resamples hidden past demands by likelihood."""

from typing import NamedTuple

import numpy as np

from lostsales._jit import compiled
from lostsales.types import Bools, Floats, Ints

RESAMPLED_PERIODS = 4  # hidden demands further back are not re-weighted
TINY = 1e-12


class Intervals(NamedTuple):
    """In which the latent of each row lies."""

    low: Floats  # (rows,)
    high: Floats  # (rows,)
    is_informative: Bools  # (rows,)


class RandomNumbers(NamedTuple):
    """Uniform numbers behind the draws."""

    uniform: Floats  # (rows, draws) of the latents
    pick: Floats  # (rows, draws) rising, of the resampling of ancestors


class NoiseGrid(NamedTuple):
    """The law of residuals on an even grid."""

    grid: Floats  # (points,)
    cdf: Floats  # (points,)


class Particles(NamedTuple):
    """Draws of latents and lags, and the probabilities of what each row shows."""

    latent: Floats  # (rows, draws)
    lag: Floats  # (rows, draws)
    below: Floats  # (rows,) P(latent at or below its interval)
    within: Floats  # (rows,) P(latent in its interval)


@compiled
def resample(
    row: int,
    span: int,
    is_informative: bool,
    chance: Floats,
    pick: Floats,
    latent: Floats,
    lag: Floats,
    chosen: Ints,
    kept: Floats,
) -> None:
    """Resample the hidden past that led to a row by its likelihood; `chosen` (draws,) becomes the ancestors."""
    draws = len(chance)
    total = 0.0
    for d in range(draws):
        total += (chance[d] if is_informative else 1.0) + TINY
    source, passed = 0, (chance[0] if is_informative else 1.0) + TINY
    for d in range(draws):
        while pick[row, d] * total > passed and source < draws - 1:
            source += 1
            passed += (chance[source] if is_informative else 1.0) + TINY
        chosen[d] = source
    for back in range(min(span, RESAMPLED_PERIODS) + 1):
        if back > 0:
            for d in range(draws):
                kept[d] = latent[row - back, chosen[d]]
            for d in range(draws):
                latent[row - back, d] = kept[d]
        if back < span:
            for d in range(draws):
                kept[d] = lag[row - back, chosen[d]]
            for d in range(draws):
                lag[row - back, d] = kept[d]


@compiled
def _share_below(end: float, noise: NoiseGrid) -> tuple[int, float]:
    """The cell of the grid that a residual lies in, and the share of the law below it."""
    grid, cdf = noise
    last = len(grid) - 1
    place = (end - grid[0]) / ((grid[last] - grid[0]) / last)
    if place >= last:
        return last, 1.0
    if place <= 0:
        return 0, 0.0
    cell = int(place)
    return cell, cdf[cell] + (place - cell) * (cdf[cell + 1] - cdf[cell])


@compiled
def draw_latents(
    at: Ints,
    span: Ints,
    mean: Floats,
    spread: Floats,
    intervals: Intervals,
    random: RandomNumbers,
    noise: NoiseGrid,
    particles: Particles,
) -> None:
    """Draw the latents of the rows `at` one level, and resample the hidden past that led to each by its likelihood.

    `mean` and `spread` are (rows at the level, 1 or draws); `span` (rows,) is how far back that past goes.
    """
    low, high, is_informative = intervals
    uniform, pick = random
    grid, cdf = noise
    latent, lag, below, within = particles
    draws, means = uniform.shape[1], mean.shape[1]
    last = len(grid) - 1
    step = (grid[last] - grid[0]) / last
    under, chance, kept = np.empty(draws), np.empty(draws), np.empty(draws)
    first_cell, last_cell = np.empty(means, dtype=np.int64), np.empty(means, dtype=np.int64)
    chosen = np.empty(draws, dtype=np.int64)
    for index in range(len(at)):
        row = at[index]
        total_under, total_chance = 0.0, 0.0
        for d in range(draws):
            if d < means:
                centre, width = mean[index, d], spread[index, d]
                first_cell[d], under[d] = _share_below((low[row] - centre) / width, noise)
                last_cell[d], over = _share_below((high[row] - centre) / width, noise)
                chance[d] = max(over - under[d], 0.0)
            else:
                under[d], chance[d] = under[0], chance[0]
            total_under += under[d]
            total_chance += chance[d]
            chosen[d] = d
        below[row], within[row] = total_under / draws, total_chance / draws
        if span[row] > 0:
            resample(row, span[row], is_informative[row], chance, pick, latent, lag, chosen, kept)
        for d in range(draws):
            source = chosen[d]
            own = source if means > 1 else 0
            drawn = mean[index, own]
            if chance[source] > TINY:
                share = under[source] + uniform[row, d] * chance[source]
                lower, upper = first_cell[own], min(last_cell[own] + 2, last)
                while upper - lower > 1:
                    middle = (lower + upper) // 2
                    if cdf[middle] <= share:
                        lower = middle
                    else:
                        upper = middle
                rise = cdf[upper] - cdf[lower]
                noise_drawn = grid[lower] + step * ((share - cdf[lower]) / rise if rise > 0 else 0.0)
                drawn += spread[index, own] * noise_drawn
            latent[row, d] = min(max(drawn, low[row]), high[row])
