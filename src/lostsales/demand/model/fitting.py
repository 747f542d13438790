"""Estimation of the response together with the season and the spread of demand."""

from dataclasses import dataclass, replace

import numpy as np

from lostsales.demand.model.bank import SeasonPriors
from lostsales.demand.model.columns import ResponseColumns, response_columns
from lostsales.demand.model.panel import Panel
from lostsales.demand.model.response import HALF_LIFE, Response, first_level, fit_response
from lostsales.demand.model.season import seasonal_index
from lostsales.demand.model.spread import USUAL, Spread, spread_around
from lostsales.types import Bools, Floats


@dataclass(frozen=True, eq=False)
class FittedPanel:
    """Estimated response, season and spread of a panel."""

    panel: Panel  # with its response and expected demands
    columns: ResponseColumns  # of all periods
    response: Response
    season: Floats  # (products, periods) seasonal index
    spread: Spread
    seasons: SeasonPriors  # distribution of the seasons of series

    @property
    def mean(self) -> Floats:
        """Fitted mean demand of the history, (products, periods)."""
        known = self.season.shape[1]
        return self.response.level * self.panel.exposure * self.season * self.panel.response[:, :known]


def fit_panel(panel: Panel, seed: int) -> FittedPanel:
    """Estimate the response of a panel in turn with its season and spread."""
    columns = response_columns(panel.market)
    known = panel.demand.shape[1]
    history = np.ascontiguousarray(columns.values[:, :known])
    usable = ~columns.is_far[:, :known]
    level = first_level(panel.demand, panel.exposure, 0.5 ** (1.0 / HALF_LIFE))
    seen, first = panel.exposure > 0, Spread(*USUAL, panel.integer)
    spread = spread_around(
        level * panel.exposure, panel.demand, panel.censored, seen, np.ones(level.shape), first, seed
    )
    response, season, spread, seasons = _fit_once(panel, history, usable, spread, None, seed)
    if columns.names or panel.censored.any():
        response, season, spread, seasons = _fit_once(panel, history, usable, spread, response, seed)
    log_factor = response.log_factor(columns.values)
    fitted = replace(panel, response=np.exp(log_factor), filled=response.filled)
    return FittedPanel(fitted, columns, response, season, spread, seasons)


def _fit_once(
    panel: Panel, history: Floats, usable: Bools, spread: Spread, start: Response | None, seed: int
) -> tuple[Response, Floats, Spread, SeasonPriors]:
    """Season given an earlier response, response given the season, and spread around both."""
    filled = panel.demand if start is None else start.filled
    factor = np.ones(panel.demand.shape) if start is None else np.exp(start.log_factor(history))
    index, row, seasons = seasonal_index(
        filled, panel.exposure * factor, panel.cycles, panel.demand.shape[1], panel.group
    )
    season = index[row]
    exposure = panel.exposure * season
    learned = exposure * usable
    response = fit_response(panel.demand, learned, panel.censored, history, panel.group, spread, start=start)
    mean = response.level * exposure * np.exp(response.log_factor(history))
    # Not the spread of the law but of forecasts, whose means are no better than these: nothing is wider.
    others, exact = response.means_of_others(mean), np.ones(mean.shape)
    spread = spread_around(others, panel.demand, panel.censored, panel.exposure > 0, exact, spread, seed)
    return response, season, spread, seasons if any(seasons) else None
