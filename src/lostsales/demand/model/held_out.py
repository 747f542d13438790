"""Forecasts from earlier origins, with the demand observed later."""

from dataclasses import dataclass

import numpy as np

from lostsales.data.parallel import in_parallel
from lostsales.data.progress import Progress
from lostsales.demand.model.bank import MEMBERS, SeasonPriors, member_forecasts
from lostsales.demand.model.panel import Panel
from lostsales.demand.model.spread import Spread
from lostsales.types import Bools, Floats, Ints

MOST_ORIGINS, LEAST_ORIGINS = 52, 6  # a year of weeks if time allows; never fewer than 6
MOST_CELLS = 4_000_000  # series x periods x members x origins to filter, in hundreds: bounds the time
LEAST_HISTORY = (
    4  # periods before an origin, and half of the log: levels of a short history are not those of a long one
)
LEAST_EXPOSURE = 0.5  # share of time on sale from which on a period is used to score forecasts


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Member forecasts from earlier origins for some horizons."""

    horizons: Ints  # (horizons,)
    mean: Floats  # (origins, series, horizons, members), over the time on sale
    demand: Floats  # (origins, series, horizons)
    seen: Bools  # (origins, series, horizons) the demand or a lower bound is known
    censored: Bools  # (origins, series, horizons) it is a lower bound


def origins_of(panel: Panel, horizons: Ints, most: int = MOST_ORIGINS) -> Ints:
    """Columns of earlier origins: the last ones, thinned evenly if there are too many."""
    columns = panel.demand.shape[1]
    cells = len(panel.demand) * columns * MEMBERS
    most = int(np.clip(100 * MOST_CELLS // max(cells, 1), LEAST_ORIGINS, most))
    last = columns - 1 - int(horizons[0])
    history = max(LEAST_HISTORY, min(columns // 2, columns - 2 - int(horizons[-1])))
    first = max(history - 1, columns - 1 - int(horizons[-1]) - MOST_ORIGINS)
    every = np.arange(first, last + 1)
    return every if len(every) <= most else every[np.unique(np.linspace(0, len(every) - 1, most).round().astype(int))]


def hold_out(
    panel: Panel,
    horizons: Ints,
    origins: Ints,
    seasons: SeasonPriors,
    spread: Spread,
    progress: Progress | None = None,
    *,
    grows: bool = False,
) -> HeldOut:
    """Forecast from every origin with the data known then."""
    columns = panel.demand.shape[1]

    def forecast_at(origin: int) -> Floats:
        ends = np.minimum(panel.last, origin)
        targets = np.broadcast_to(origin + horizons, (len(ends), len(horizons)))
        return member_forecasts(panel, ends, np.asarray(targets), seasons, spread, grows=grows)

    mean = np.stack(in_parallel(forecast_at, origins.tolist(), progress))
    target = origins[:, None] + horizons  # (origins, horizons)
    inside = target < columns
    place = np.minimum(target, columns - 1)
    demand = np.moveaxis(panel.demand[:, place], 0, 1)
    exposure = np.moveaxis(panel.exposure[:, place], 0, 1)
    censored = np.moveaxis(panel.censored[:, place], 0, 1)
    begun = (panel.exposure.cumsum(axis=1) > 0)[:, origins].T[:, :, None]
    seen = (exposure >= LEAST_EXPOSURE) & inside[:, None, :] & begun
    return HeldOut(horizons, mean * exposure[..., None], demand, seen, censored & seen)
