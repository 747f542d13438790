"""Estimation of the response together with the season and the spread of demand."""

from dataclasses import dataclass, replace

import numpy as np

from lostsales.demand.model.columns import ResponseColumns, response_columns
from lostsales.demand.model.panel import Panel
from lostsales.demand.model.response import HALF_LIFE, LEAST_RATIO, Response, first_level, fit_response
from lostsales.demand.model.season import seasonal_index
from lostsales.demand.model.spread import USUAL, Spread, likeliest_spread
from lostsales.types import Bools, Floats

MOST_SCORED = 10_000  # rows on which the spread is chosen


@dataclass(frozen=True, eq=False)
class FittedPanel:
    """Estimated response, season and spread of a panel."""

    panel: Panel  # with its response and expected demands
    columns: ResponseColumns  # of all periods
    response: Response
    season: Floats  # (products, periods) seasonal index
    spread: Spread

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
    spread = _spread_around(panel, level * panel.exposure, Spread(*USUAL, panel.integer), seed)
    response, season, spread = _fit_once(panel, history, usable, spread, None, seed)
    if columns.names or panel.censored.any():
        response, season, spread = _fit_once(panel, history, usable, spread, response, seed)
    log_factor = response.log_factor(columns.values)
    fitted = replace(panel, response=np.exp(log_factor), filled=response.filled)
    return FittedPanel(fitted, columns, response, season, spread)


def _fit_once(
    panel: Panel, history: Floats, usable: Bools, spread: Spread, start: Response | None, seed: int
) -> tuple[Response, Floats, Spread]:
    """Season given an earlier response, response given the season, and spread around both."""
    filled = panel.demand if start is None else start.filled
    factor = np.ones(panel.demand.shape) if start is None else np.exp(start.log_factor(history))
    index, own = seasonal_index(filled, panel.exposure * factor, panel.cycles, panel.demand.shape[1], np.inf)
    season = index[own]
    exposure = panel.exposure * season
    learned = exposure * usable
    response = fit_response(panel.demand, learned, panel.censored, history, panel.group, spread, start=start)
    mean = response.level * exposure * np.exp(response.log_factor(history))
    # A level that holds the demand itself is too close to it: the spread would come out too small.
    others = mean - response.leverage / (1.0 - np.minimum(response.leverage, 0.5)) * (response.filled - mean)
    return response, season, _spread_around(panel, np.maximum(others, LEAST_RATIO * mean), spread, seed)


def _spread_around(panel: Panel, mean: Floats, first: Spread, seed: int) -> Spread:
    """Maximum likelihood spread of demands and bounds around smoothed means."""
    rows = np.flatnonzero(panel.exposure > 0)
    if len(rows) > MOST_SCORED:
        rows = np.sort(np.random.default_rng(seed).choice(rows, MOST_SCORED, replace=False))
    flat = mean.reshape(-1)[rows], panel.demand.reshape(-1)[rows], panel.censored.reshape(-1)[rows]
    return likeliest_spread(*flat, panel.integer, first)
