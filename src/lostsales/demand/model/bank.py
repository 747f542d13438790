"""Member forecasts of a bank of exponential smoothings: levels with several forgetting rates, some with a trend."""

import numpy as np

from lostsales.demand.model.level_loops import filter_levels, shared_growth
from lostsales.demand.model.panel import Panel
from lostsales.demand.model.season import SeasonPrior, seasonal_index
from lostsales.demand.model.spread import Spread
from lostsales.types import Floats, Ints

HALF_LIVES = np.array([1.5, 3.0, 6.0, 12.0, 24.0, 52.0, 104.0, 416.0])  # forgetting rates, in periods
DECAYS = 0.5 ** (1.0 / HALF_LIVES)
TRENDS = (3, 4)  # indices of the rates that have a second member with a trend
MEMBERS = len(HALF_LIVES) + len(TRENDS)
PRIOR = 0.3  # weight of the next slower level as a prior, in periods
MOST_TREND = 2.0  # largest factor by which a trend may raise or lower the level
DAMPING = 0.95  # factor of a trend per period
SeasonPriors = tuple[SeasonPrior | None, ...] | None  # of the cycles; None if all series share their season
RECENT = 0.5 ** (1.0 / 52.0)  # weight of a period in the shared growth, relative to the next one


def member_forecasts(
    panel: Panel, ends: Ints, targets: Ints, seasons: SeasonPriors, spread: Spread, *, grows: bool = False
) -> Floats:
    """Forecast mean demand in columns `targets` (series, horizons) from the origins `ends` (series,).

    Returns (series, horizons, members). Nothing after the last origin is used. Stock-outs update a level by the
    conditional mean demand under `spread`. If demand `grows`, all levels follow the growth that the series share.
    """
    known = int(ends.max()) + 1
    demand, exposure = panel.demand[:, :known], (panel.exposure * panel.response[:, : panel.demand.shape[1]])[:, :known]
    group = None if seasons is None else panel.group
    index, own, _ = seasonal_index(
        panel.filled[:, :known], exposure, panel.cycles, int(targets.max()) + 1, group, seasons
    )
    if grows:
        growth = shared_growth(panel.filled[:, :known], exposure, index, own, RECENT, spread.factors, panel.integer)
        after = np.arange(index.shape[1]) - (known - 1.0)
        index = index * np.exp(growth * np.where(after > 0, _damped(np.maximum(after, 0.0)), after))
    censored = panel.censored[:, :known]
    mean = demand[~censored].sum() / max(float(exposure[~censored].sum()), 1e-9)
    usual = np.full(len(demand), max(float(mean), 1e-9))  # level of a series without observations
    levels, smoothed = filter_levels(
        demand, exposure, censored, index, own, ends, DECAYS, PRIOR, usual, spread.factors, panel.integer
    )
    ahead = targets - ends[:, None]
    trends = [_with_trend(levels[:, k], smoothed[:, k], DECAYS[k], ahead) for k in TRENDS]
    flat = np.broadcast_to(levels[:, None, :], (*targets.shape, len(HALF_LIVES)))
    members = np.concatenate([flat, np.stack(trends, axis=2)], axis=2)
    factor = index[own[:, None], targets] * panel.response[np.arange(len(ends))[:, None], targets]
    return np.asarray(members * factor[:, :, None])


def _with_trend(level: Floats, smoothed: Floats, decay: float, ahead: Ints) -> Floats:
    """Brown's double exponential smoothing with a damped trend, (series, horizons)."""
    gap = (level - smoothed)[:, None]
    found = level[:, None] + gap * (1.0 + (1.0 - decay) / decay * _damped(ahead))
    return np.clip(found, level[:, None] / MOST_TREND, level[:, None] * MOST_TREND)


def _damped(ahead: Ints | Floats) -> Floats:
    """Periods ahead over which a damped trend has its effect."""
    return np.asarray((1.0 - DAMPING**ahead) / (1.0 - DAMPING))
