"""Compiled particle filter: draws latent demands in their intervals and resamples hidden past demands by likelihood."""

from typing import NamedTuple

import numpy as np

from lostsales._jit import compiled
from lostsales.types import Bools, Floats, Ints

RESAMPLED_PERIODS = 4  # hidden demands further back are not re-weighted
TINY = 1e-12  # added to weights, so that their sum is not 0
SHARES = 1024  # of a law, whose cells are found beforehand; a power of 2, so that multiples of it are exact


class Intervals(NamedTuple):
    """Intervals that contain the latent of each row."""

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
    cells: Ints  # (SHARES + 1,) the last point at or below each share, between which a draw is searched

    @classmethod
    def of(cls, grid: Floats, cdf: Floats) -> "NoiseGrid":
        """A law from its points."""
        return cls(grid, cdf, np.searchsorted(cdf, np.arange(SHARES + 1) / SHARES, side="right") - 1)


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
def _share_below(place: float, cdf: Floats) -> float:
    """The share of the law below a place on its grid."""
    last = len(cdf) - 1
    if place >= last:
        return 1.0
    if place <= 0:
        return 0.0
    cell = int(place)
    return float(cdf[cell] + (place - cell) * (cdf[cell + 1] - cdf[cell]))


@compiled
def _place_of(share: float, cdf: Floats, cells: Ints) -> tuple[int, float]:
    """The cell of the grid up to which a share of the law lies, and which part of it."""
    last = len(cdf) - 1
    near = min(int(share * SHARES), SHARES - 1)
    lower = min(cells[near], last - 1)
    upper = max(min(cells[near + 1] + 1, last), lower + 1)
    while upper - lower > 1:
        middle = (lower + upper) // 2
        if cdf[middle] <= share:
            lower = middle
        else:
            upper = middle
    rise = cdf[upper] - cdf[lower]
    return lower, (share - cdf[lower]) / rise if rise > 0 else 0.0


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
    grid, cdf, cells = noise
    latent, lag, below, within = particles
    draws, means = uniform.shape[1], mean.shape[1]
    start, step = grid[0], (grid[len(grid) - 1] - grid[0]) / (len(grid) - 1)
    under, chance, kept = np.empty(draws), np.empty(draws), np.empty(draws)
    chosen = np.empty(draws, dtype=np.int64)
    for index in range(len(at)):
        row = at[index]
        total_under, total_chance = 0.0, 0.0
        for d in range(draws):
            if d < means:
                centre, width = mean[index, d], spread[index, d]
                under[d] = _share_below(((low[row] - centre) / width - start) / step, cdf)
                over = _share_below(((high[row] - centre) / width - start) / step, cdf)
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
                cell, part = _place_of(under[source] + uniform[row, d] * chance[source], cdf, cells)
                drawn += spread[index, own] * (grid[cell] + step * part)
            latent[row, d] = min(max(drawn, low[row]), high[row])
