"""Estimation on forecasts from earlier origins: seasonal prior, weights of members, and spreads."""

from dataclasses import dataclass, replace

import numpy as np

from lostsales.data.progress import Progress, stages
from lostsales.demand.forecasting.bank import HALF_LIVES, MEMBERS
from lostsales.demand.forecasting.counts import drawn_at_least
from lostsales.demand.forecasting.held_out import LEAST_EXPOSURE, HeldOut, hold_out, origins_of
from lostsales.demand.forecasting.mixture import mixture_weights
from lostsales.demand.forecasting.panel import Panel
from lostsales.demand.forecasting.season import LEAST_WINDOW, centred_level
from lostsales.demand.forecasting.spread import Spread, choose_spread, likeliest_spread, quantile_loss
from lostsales.types import Floats, Ints

SEASON_PRIORS = (np.inf, 300.0, 100.0, 30.0)  # weight of the shared seasonal index in a series, in sold units
# Origins and series on which the seasonal prior is chosen.
FEW_ORIGINS = 13
FEW_SERIES = 1_000


@dataclass(frozen=True, eq=False)
class Learned:
    """Estimated parameters of a bank of levels, for some horizons."""

    season_prior: float
    weights: Floats  # (series, horizons, members)
    spreads: tuple[Spread, ...]  # (horizons,)
    own: Floats  # (series, horizons) factors of the spread
    reading: Spread  # with which stock-outs update the levels

    @property
    def half_life(self) -> float:
        """Half-life at the last horizon, in periods: the geometric mean over the weights of the levels."""
        weights = self.weights[:, -1, : len(HALF_LIVES)].mean(axis=0)
        return float(np.exp(np.log(HALF_LIVES) @ weights / weights.sum()))


def learn(panel: Panel, horizons: Ints, origins: Ints, seed: int, progress: Progress | None) -> Learned:
    """Estimate all parameters; equal weights and the first spread if the log is too short for earlier origins."""
    n, rng, first = len(panel.names), np.random.default_rng(seed), first_spread(panel, seed)
    if not len(origins):
        weights = np.full((n, len(horizons), MEMBERS), 1.0 / MEMBERS)
        return Learned(np.inf, weights, (first,) * len(horizons), np.ones((n, len(horizons))), first)
    choosing, scoring = stages(progress, (1, 3))
    first = _reading_spread(panel, first, rng) if panel.censored.any() else first
    prior = _season_prior(panel, horizons, first, rng, choosing)
    held_out = hold_out(panel, horizons, origins, prior, first, scoring)
    return _from_held_out(held_out, prior, first, rng)


def first_spread(panel: Panel, seed: int) -> Spread:
    """Spread of the uncensored demands around their centred moving average."""
    seen = (panel.exposure >= LEAST_EXPOSURE) & ~panel.censored
    exposure = np.where(seen, panel.exposure, 0.0)
    level = centred_level(np.where(seen, panel.demand, 0.0), exposure, LEAST_WINDOW)
    return choose_spread((level * exposure).T, panel.demand.T, seen.T, panel.integer, np.random.default_rng(seed))


def _reading_spread(panel: Panel, first: Spread, rng: np.random.Generator) -> Spread:
    """Maximum likelihood spread of demands and bounds, one period ahead on a few origins."""
    some, next_period = _some(panel, rng), np.array([1])
    held_out = hold_out(some, next_period, origins_of(some, next_period, FEW_ORIGINS), np.inf, first)
    mean = (held_out.mean * mixture_weights(held_out, first)).sum(axis=3)
    seen = held_out.seen
    return likeliest_spread(mean[seen], held_out.demand[seen], held_out.censored[seen], panel.integer, first)


def _from_held_out(held_out: HeldOut, prior: float, first: Spread, rng: np.random.Generator) -> Learned:
    weights = mixture_weights(held_out, first)
    spreads, own = [], np.empty(weights.shape[:2])
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
    return Learned(prior, weights, tuple(spreads), own, first)


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
    own = ("names", "demand", "exposure", "censored", "silent", "last", "coming", "coming_period")
    return replace(panel, **{name: getattr(panel, name)[series] for name in own})
