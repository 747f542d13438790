"""Compiled draws of the latents of rows under a law with a linear mean, hidden last demands included."""

import math
from typing import NamedTuple

import numpy as np

from lostsales._jit import compiled
from lostsales.demand.law.count_loops import draw_counts
from lostsales.demand.law.demand_law import LEAST_MEAN, MOST_EXPONENT, MOST_LATENT
from lostsales.demand.law.memory import Lags
from lostsales.demand.law.particle_loops import Intervals, NoiseGrid, Particles, RandomNumbers, draw_latents
from lostsales.types import Floats, Ints


class LinearLaw(NamedTuple):
    """A law with a linear mean, by row: what `DemandLaw` makes of a lag and of a latent."""

    without_lag: Floats  # (rows,) mean and level of a row without its lag
    slope: float  # on the lag as the mean takes it
    weights: Floats  # (lags,) of the last demands
    scale: Floats  # (rows,)
    is_count: bool
    integer: bool
    multiplicative: bool
    log_link: bool
    is_log: bool
    saturates: bool
    near_zero: float
    demand_max: float
    power: float  # of the mean in the spread ...
    reference: float  # ... relative to this mean
    dispersion: float


@compiled
def _demand(latent: float, scale: float, law: LinearLaw) -> float:
    """`DemandLaw.demand`."""
    relative = math.exp(min(latent, MOST_LATENT)) if law.multiplicative else latent
    demand = min(max(relative, 0.0), law.demand_max) * scale
    return float(np.rint(demand)) if law.integer else demand


@compiled
def _mean(row: int, lag: float, law: LinearLaw) -> float:
    """`DemandLaw.mean_of`."""
    if law.is_log:
        shifted = max(lag, 0.0) + law.near_zero
        lag = 1 - law.near_zero / shifted if law.saturates else math.log(shifted)
    predictor = law.without_lag[row] + law.slope * lag
    if law.log_link:
        return math.exp(min(max(predictor, -MOST_EXPONENT), math.log(law.demand_max)))
    return float(predictor)


@compiled
def _spread(mean: float, law: LinearLaw) -> float:
    """`DemandLaw.spread_of`, except for counts."""
    if law.power == 0:
        return 1.0
    return float((max(mean, LEAST_MEAN * law.reference) / law.reference) ** law.power)


@compiled
def draw_by_level(
    rows: Ints,
    ends: Ints,
    lags: Lags,
    depth: Ints,
    parent: Ints,
    law: LinearLaw,
    intervals: Intervals,
    random: RandomNumbers,
    noise: NoiseGrid,
    particles: Particles,
    with_below: bool,
) -> None:
    """Draw the latents of rows in the order of their levels, which end at `ends`: lower ones are drawn before."""
    latent, lag = particles.latent, particles.lag
    begin = 0
    for level in range(len(ends)):
        at = rows[begin : ends[level]]
        begin = ends[level]
        draws = latent.shape[1] if level > 0 else 1
        mean, spread = np.empty((len(at), draws)), np.empty((len(at), draws))
        for index in range(len(at)):
            row = at[index]
            scale = law.scale[row]
            for d in range(draws):
                if depth[row] > 0:
                    lag[row, d] = _demand(latent[parent[row], d], scale, law) / scale
                weighted = 0.0
                for back in range(len(law.weights)):
                    weighted += law.weights[back] * lag[lags.rows[back, row], d]
                mean[index, d] = _mean(row, weighted, law)
                if law.is_count:
                    mean[index, d] *= scale
                else:
                    spread[index, d] = _spread(mean[index, d], law)
        if law.is_count:
            draw_counts(at, lags.span, mean, law.dispersion, law.scale, intervals, random, particles, with_below)
        else:
            draw_latents(at, lags.span, mean, spread, intervals, random, noise, particles)
