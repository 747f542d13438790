"""Estimation on forecasts from earlier origins: seasonal prior, weights of members, and spreads."""

from dataclasses import dataclass, replace

import numpy as np

from lostsales.data.progress import Progress, stages
from lostsales.demand.model.bank import HALF_LIVES, MEMBERS, SeasonPriors
from lostsales.demand.model.counts import drawn_at_least
from lostsales.demand.model.held_out import HeldOut, hold_out, origins_of
from lostsales.demand.model.mixture import common_weights, mixture_weights
from lostsales.demand.model.panel import Panel
from lostsales.demand.model.spread import Spread, choose_spread, quantile_loss
from lostsales.types import Bools, Floats, Ints

# Origins and series on which seasons of series are chosen.
FEW_ORIGINS = 13
FEW_SERIES = 1_000
# Share by which seasons of series must lower the loss: it fell by 2 to 6 % in shops where they differ.
SEASON_GAIN = 0.0005
GROWTH_GAIN = 0.1  # share by which growth must lower the squared error of totals
# Correlation of errors: bound of a standardised error, least number of pairs, and largest correlation.
LARGEST_SCORE = 3.0
FEW_SCORES = 30
MOST_CORRELATION = 0.95


@dataclass(frozen=True, eq=False)
class Learned:
    """Estimated parameters of a bank of levels, for some horizons."""

    horizons: Ints  # (horizons,)
    seasons: SeasonPriors  # None if all series share their season
    grows: bool  # levels follow the growth that the series share
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


def learn(
    panel: Panel,
    horizons: Ints,
    origins: Ints,
    first: Spread,
    seasons: SeasonPriors,
    seed: int,
    progress: Progress | None,
) -> Learned:
    """Estimate all parameters; equal weights and the first spread if the log is too short for earlier origins.

    `seasons` is the distribution of the seasons of series, used if forecasts from earlier origins are better with it.
    """
    n, rng = len(panel.names), np.random.default_rng(seed)
    if not len(origins):
        weights = np.full((n, len(horizons), MEMBERS), 1.0 / MEMBERS)
        return Learned(horizons, None, False, weights, (first,) * len(horizons), np.ones((n, len(horizons))), first)
    choosing, scoring = stages(progress, (1, 3))
    seasons, grows = _season_and_growth(panel, horizons, first, seasons, rng, choosing)
    held_out = hold_out(panel, horizons, origins, seasons, first, scoring, grows=grows)
    return _from_held_out(held_out, seasons, grows, first, rng)


def _from_held_out(
    held_out: HeldOut, seasons: SeasonPriors, grows: bool, first: Spread, rng: np.random.Generator
) -> Learned:
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
    correlation = _correlation(scores, held_out.seen)
    return Learned(held_out.horizons, seasons, grows, weights, tuple(spreads), own, first, correlation)


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


def _season_and_growth(
    panel: Panel, horizons: Ints, spread: Spread, seasons: SeasonPriors, rng: np.random.Generator, progress: Progress
) -> tuple[SeasonPriors, bool]:
    """Choice of seasons by series, and of levels that follow the growth that all series share.

    Seasons must lower the quantile loss of the mean of all members, growth the error of totals.
    """
    some = _some(panel, rng)
    origins = origins_of(some, horizons, FEW_ORIGINS)
    shared = hold_out(some, horizons, origins, None, spread)
    progress(1, 3)
    own = shared if seasons is None else hold_out(some, horizons, origins, seasons, spread)
    progress(2, 3)
    if _quantile_loss(own, spread) >= (1.0 - SEASON_GAIN) * _quantile_loss(shared, spread):
        own, seasons = shared, None
    growing = hold_out(some, horizons, origins, seasons, spread, grows=True)
    return seasons, _error_of_totals(growing, spread) < (1.0 - GROWTH_GAIN) * _error_of_totals(own, spread)


def _quantile_loss(held_out: HeldOut, spread: Spread) -> float:
    """Quantile loss of the mean of all members."""
    seen = held_out.seen & ~held_out.censored
    mean = held_out.mean.mean(axis=3)[seen]
    return quantile_loss(held_out.demand[seen], mean, spread.variance(mean, 1.0), spread.integer)


def _error_of_totals(held_out: HeldOut, spread: Spread) -> float:
    """Mean squared error of the forecasts of all series together, relative to their demand, over origins and horizons.

    Series count by their usual mean over its variance, so that a few large ones do not decide.
    """
    mean = held_out.mean @ common_weights(held_out, spread)
    known = held_out.seen & ~held_out.censored
    usual = (held_out.demand * known).sum(axis=(0, 2)) / np.maximum(known.sum(axis=(0, 2)), 1)
    weight = known / (spread.linear + spread.quadratic * usual + spread.integer)[:, None]
    wanted, found = ((weight * each).sum(axis=1) for each in (held_out.demand, mean))
    used = found > 0
    return float(np.mean((wanted[used] / found[used] - 1.0) ** 2)) if used.any() else 0.0


def _some(panel: Panel, rng: np.random.Generator) -> Panel:
    """Random sample of the series if there are many."""
    if len(panel.names) <= FEW_SERIES:
        return panel
    series = np.sort(rng.choice(len(panel.names), FEW_SERIES, replace=False))
    own = (
        "names",
        "group",
        "demand",
        "exposure",
        "censored",
        "silent",
        "last",
        "response",
        "filled",
        "coming",
        "coming_period",
        "unit",
    )
    return replace(panel, **{name: getattr(panel, name)[series] for name in own})
