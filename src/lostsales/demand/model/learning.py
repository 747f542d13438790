"""Estimation on forecasts from earlier origins: seasonal prior, weights of members, and spreads."""

from dataclasses import dataclass, replace

import numpy as np

from lostsales.data.progress import Progress, stages
from lostsales.demand.model.bank import HALF_LIVES, MEMBERS
from lostsales.demand.model.counts import drawn_at_least
from lostsales.demand.model.held_out import HeldOut, hold_out, origins_of
from lostsales.demand.model.mixture import mixture_weights
from lostsales.demand.model.panel import Panel
from lostsales.demand.model.spread import Spread, choose_spread, quantile_loss
from lostsales.types import Bools, Floats, Ints

SEASON_PRIORS = (np.inf, 300.0, 100.0, 30.0)  # weight of the shared seasonal index in a series, in sold units
# Origins and series on which the seasonal prior is chosen.
FEW_ORIGINS = 13
FEW_SERIES = 1_000
# Correlation of errors: bound of a standardised error, least number of pairs, and largest correlation.
LARGEST_SCORE = 3.0
FEW_SCORES = 30
MOST_CORRELATION = 0.95


@dataclass(frozen=True, eq=False)
class Learned:
    """Estimated parameters of a bank of levels, for some horizons."""

    horizons: Ints  # (horizons,)
    season_prior: float
    weights: Floats  # (series, horizons, members)
    spreads: tuple[Spread, ...]  # (horizons,)
    own: Floats  # (series, horizons) factors of the spread
    reading: Spread  # with which stock-outs update the levels
    correlation: float = 0.0  # of the normal scores of two horizons of an origin

    @property
    def half_life(self) -> float:
        """Half-life at the last horizon, in periods: the geometric mean over the weights of the levels."""
        weights = self.weights[:, -1, : len(HALF_LIVES)].mean(axis=0)
        return float(np.exp(np.log(HALF_LIVES) @ weights / weights.sum()))


def learn(panel: Panel, horizons: Ints, origins: Ints, first: Spread, seed: int, progress: Progress | None) -> Learned:
    """Estimate all parameters; equal weights and the first spread if the log is too short for earlier origins."""
    n, rng = len(panel.names), np.random.default_rng(seed)
    if not len(origins):
        weights = np.full((n, len(horizons), MEMBERS), 1.0 / MEMBERS)
        return Learned(horizons, np.inf, weights, (first,) * len(horizons), np.ones((n, len(horizons))), first)
    choosing, scoring = stages(progress, (1, 3))
    prior = _season_prior(panel, horizons, first, rng, choosing)
    held_out = hold_out(panel, horizons, origins, prior, first, scoring)
    return _from_held_out(held_out, prior, first, rng)


def _from_held_out(held_out: HeldOut, prior: float, first: Spread, rng: np.random.Generator) -> Learned:
    weights = mixture_weights(held_out, first)
    spreads, own, scores = [], np.empty(weights.shape[:2]), np.zeros(held_out.seen.shape)
    for h in range(len(held_out.horizons)):
        mean = (held_out.mean[:, :, h] * weights[:, h]).sum(axis=2)
        demand, seen, censored = held_out.demand[:, :, h], held_out.seen[:, :, h], held_out.censored[:, :, h]
        filled = demand.copy()
        if censored.any():
            centre = mean[censored]
            chance = rng.uniform(size=len(centre))
            filled[censored] = drawn_at_least(
                demand[censored], centre, first.variance(centre, 1.0), chance, first.integer
            )
        spread = choose_spread(mean, filled, seen, first.integer, rng)
        spreads.append(spread)
        own[:, h] = spread.own(mean, filled, seen)
        scores[:, :, h] = (filled - mean) / np.sqrt(spread.variance(mean, own[:, h]))
    return Learned(held_out.horizons, prior, weights, tuple(spreads), own, first, _correlation(scores, held_out.seen))


def _correlation(scores: Floats, seen: Bools) -> float:
    """Mean correlation of standardised errors of two horizons of an origin, from 0 to `MOST_CORRELATION`."""
    found, clipped = [], np.clip(scores, -LARGEST_SCORE, LARGEST_SCORE)
    for first in range(scores.shape[2]):
        for second in range(first + 1, scores.shape[2]):
            both = seen[:, :, first] & seen[:, :, second]
            a, b = clipped[:, :, first][both], clipped[:, :, second][both]
            if len(a) > FEW_SCORES and a.std() > 0 and b.std() > 0:
                found.append(float(np.corrcoef(a, b)[0, 1]))
    return float(np.clip(np.mean(found), 0.0, MOST_CORRELATION)) if found else 0.0


def _season_prior(panel: Panel, horizons: Ints, spread: Spread, rng: np.random.Generator, progress: Progress) -> float:
    """Prior of the seasonal index of a series: the one with the least quantile loss of the mean of all members."""
    if not panel.cycles:
        return np.inf
    some = _some(panel, rng)
    origins = origins_of(some, horizons, FEW_ORIGINS)
    losses = []
    for at, prior in enumerate(SEASON_PRIORS):
        held_out = hold_out(some, horizons, origins, prior, spread)
        seen = held_out.seen & ~held_out.censored
        mean = held_out.mean.mean(axis=3)[seen]
        losses.append(quantile_loss(held_out.demand[seen], mean, spread.variance(mean, 1.0), panel.integer))
        progress(at + 1, len(SEASON_PRIORS))
    return SEASON_PRIORS[int(np.argmin(losses))]


def _some(panel: Panel, rng: np.random.Generator) -> Panel:
    """Random sample of the series if there are many."""
    if len(panel.names) <= FEW_SERIES:
        return panel
    series = np.sort(rng.choice(len(panel.names), FEW_SERIES, replace=False))
    own = ("names", "demand", "exposure", "censored", "silent", "last", "response", "filled", "coming", "coming_period")
    return replace(panel, **{name: getattr(panel, name)[series] for name in own})
