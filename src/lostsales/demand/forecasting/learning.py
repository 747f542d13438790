"""What is learned from forecasts of earlier origins: seasons of series, weights of members, and spreads."""

from dataclasses import dataclass, replace

import numpy as np

from lostsales.data.progress import Progress, stages
from lostsales.demand.forecasting.bank import HALF_LIVES, MEMBERS
from lostsales.demand.forecasting.held_out import HeldOut, hold_out, origins_of
from lostsales.demand.forecasting.mixture import mixture_weights
from lostsales.demand.forecasting.panel import Panel
from lostsales.demand.forecasting.spread import FIRST_SPREAD, Spread, choose_spread, quantile_loss
from lostsales.types import Floats, Ints

SEASON_PRIORS = (np.inf, 300.0, 100.0, 30.0)  # units that the shared index of a position counts for in a series
FEW_ORIGINS = 13  # and
FEW_SERIES = 1_000  # on which that is chosen


@dataclass(frozen=True, eq=False)
class Learned:
    """Of a bank of levels, for some horizons."""

    season_prior: float
    weights: Floats  # (series, horizons, members)
    spreads: tuple[Spread, ...]  # (horizons,)
    own: Floats  # (series, horizons) factors of the spread

    @property
    def half_life(self) -> float:
        """The usual one of the last horizon: the geometric mean over the weights, in periods."""
        weights = self.weights[:, -1, : len(HALF_LIVES)].mean(axis=0)
        return float(np.exp(np.log(HALF_LIVES) @ weights / weights.sum()))


def learn(panel: Panel, horizons: Ints, origins: Ints, seed: int, progress: Progress | None) -> Learned:
    """All of it; equal weights and a usual spread where the log is too short to forecast anything again."""
    n, integer = len(panel.names), panel.integer
    if not len(origins):
        weights = np.full((n, len(horizons), MEMBERS), 1.0 / MEMBERS)
        spreads = (Spread(*FIRST_SPREAD, integer),) * len(horizons)
        return Learned(np.inf, weights, spreads, np.ones((n, len(horizons))))
    choosing, scoring = stages(progress, (1, 3))
    rng = np.random.default_rng(seed)
    prior = _season_prior(panel, horizons, rng, choosing)
    held_out = hold_out(panel, horizons, origins, prior, scoring)
    return _from_held_out(held_out, prior, integer, rng)


def _from_held_out(held_out: HeldOut, prior: float, integer: bool, rng: np.random.Generator) -> Learned:
    weights = mixture_weights(held_out, Spread(*FIRST_SPREAD, integer))
    spreads, own = [], np.empty(weights.shape[:2])
    for h in range(len(held_out.horizons)):
        mean = (held_out.mean[:, :, h] * weights[:, h]).sum(axis=2)
        demand, seen = held_out.demand[:, :, h], held_out.seen[:, :, h]
        spread = choose_spread(mean, demand, seen, integer, rng)
        spreads.append(spread)
        own[:, h] = spread.own(mean, demand, seen)
    return Learned(prior, weights, tuple(spreads), own)


def _season_prior(panel: Panel, horizons: Ints, rng: np.random.Generator, progress: Progress) -> float:
    """How much a series has a season of its own: the prior with the least loss of the mean of all members."""
    if not panel.cycles:
        return np.inf
    n = len(panel.names)
    some = _part(panel, np.sort(rng.choice(n, FEW_SERIES, replace=False))) if n > FEW_SERIES else panel
    origins, spread = origins_of(some, horizons, FEW_ORIGINS), Spread(*FIRST_SPREAD, panel.integer)
    losses = []
    for at, prior in enumerate(SEASON_PRIORS):
        held_out = hold_out(some, horizons, origins, prior)
        mean, demand = held_out.mean.mean(axis=3)[held_out.seen], held_out.demand[held_out.seen]
        losses.append(quantile_loss(demand, mean, spread.variance(mean, 1.0), panel.integer))
        progress(at + 1, len(SEASON_PRIORS))
    return SEASON_PRIORS[int(np.argmin(losses))]


def _part(panel: Panel, series: Ints) -> Panel:
    own = ("names", "demand", "exposure", "censored", "silent", "last", "coming", "coming_period")
    return replace(panel, **{name: getattr(panel, name)[series] for name in own})
