"""Response of each product of a log to prices and features: rows laid out as a panel, with weekdays of groups."""

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from lostsales.demand.model.counts import log_scores
from lostsales.demand.model.panel import COUNTS_A_PERIOD
from lostsales.demand.model.response import HALF_LIFE, Response, fit_response
from lostsales.demand.model.season import BLOCKS, season_effects
from lostsales.demand.model.spread import USUAL, Spread, own_spreads, spread_around
from lostsales.saved_fields import numbers
from lostsales.types import Array, Bools, Floats, Ints

ROUNDS = 3  # of response, weekdays and spread in turn; elasticities change by less than 0.02 in a fourth
HALF_LIVES = (HALF_LIFE, 26.0, 52.0, 104.0)  # of the kernel around a level that moves, in periods
EVIDENCE = 2.0  # log likelihood by which a level that moves must be better than one that does not
PRIOR_ERROR = 2.0  # standard error of a coefficient that the log does not show


class ResponseRows(NamedTuple):
    """Rows to learn from, in any order."""

    product: Ints  # (rows,)
    column: Ints  # (rows,) period, counted from the first one of the product
    demand: Floats  # (rows,) demand, or the least that it was
    is_censored: Bools  # (rows,)
    share: Floats  # (rows,) of the period on sale; 0: the row shows nothing
    season: Floats  # (rows,) factor of demand that is known
    inputs: Floats  # (rows, inputs)
    place: Ints  # (rows,) weekday or week of the year


@dataclass(frozen=True, eq=False)
class PooledResponse:
    """Coefficients of products and groups, seasons of products, and the noise."""

    coefficients: Annotated[Floats, numbers("series", "inputs")]
    errors: Annotated[Floats, numbers("series", "inputs", least=0)]  # standard errors
    group_coefficients: Annotated[Floats, numbers("groups", "inputs")]
    season: Annotated[Floats, numbers("series", "places")]  # effects of weekdays or weeks on the logarithm of demand
    dispersion: Annotated[Floats, numbers("series", least=0)]  # variance beyond Poisson's over the squared mean
    moves: bool  # levels move; else they are those of the whole log


class FittedResponse(NamedTuple):
    """A response and what it makes of the rows that it was learned from, each (rows,)."""

    response: PooledResponse
    level: Floats  # logarithm
    season: Floats  # logarithm of the seasonal factor
    mean: Floats  # expected demand of the whole period
    mean_of_others: Floats  # the same without the demand of the period itself
    demand: Floats  # demand where it is observed, else its expectation given the stock-out
    is_seen: Bools  # something is known of the demand
    own_share: Floats  # weight of a demand in its own level
    group_errors: Floats  # (groups,) standard errors of the elasticities of groups


class _Cells(NamedTuple):
    """Rows as a panel of products and periods."""

    demand: Floats
    exposure: Floats
    censored: Bools
    inputs: Floats  # (products, periods, inputs)
    place: Ints
    group: Ints  # (products,)
    integer: bool


def fit_rows(rows: ResponseRows, group: Ints, counted: bool, places: int, prior: Floats) -> FittedResponse:
    """Estimate the response of products in `group` (products,) from rows whose stock-outs are lower bounds.

    `places` is the number of weekdays or weeks, 1 for no season of products, and `prior` (inputs,) the mean of the
    coefficients before anything is seen.
    """
    shows = rows.share > 0
    unit = 1.0 if counted else max(float(rows.demand[shows].mean()) / COUNTS_A_PERIOD, 1e-12) if shows.any() else 1.0
    at = rows.product, rows.column
    usual = np.exp(rows.inputs @ prior)
    cells = _Cells(
        demand=_cells(rows.demand / unit, at, len(group)),
        exposure=_cells(rows.share * rows.season * usual, at, len(group)),
        censored=_cells(rows.is_censored, at, len(group)),
        inputs=_cells(rows.inputs, at, len(group)),
        place=_cells(rows.place, at, len(group)),
        group=group,
        integer=counted,
    )
    effects = np.zeros((len(group), places))  # of the season of products
    products = np.arange(len(group))[:, None]
    half_life, arguments = HALF_LIFE, (cells.censored, cells.inputs, group)
    spread, exposure, own = Spread(*USUAL, counted), cells.exposure, np.ones((len(group), 1))
    response = fit_response(cells.demand, exposure, *arguments, spread)
    for step in range(ROUNDS):
        if step:
            exposure = cells.exposure * np.exp(effects[products, cells.place])
            response = fit_response(
                cells.demand, exposure, *arguments, spread, own=own, half_life=half_life, start=response
            )
        factor = np.exp(response.log_factor(cells.inputs))
        mean = response.level * exposure * factor
        around = response.means_of_others(mean), cells.demand, cells.censored, exposure > 0, response.wider
        spread = spread_around(*around, spread)
        own = own_spreads(*around, spread, group)
        effects = _season(cells, response, mean, spread.variance(mean, own), effects)
        if step == 0:
            half_life = _half_life(cells, exposure * factor, spread, own)
    factor_of_cells = np.exp(response.log_factor(cells.inputs))
    season = rows.season * np.exp(effects[rows.product, rows.place])
    factor = season * usual * factor_of_cells[at]
    expected = unit * response.level[at] * factor
    in_cells = response.level * exposure * factor_of_cells
    others = response.means_of_others(in_cells)
    found = PooledResponse(
        coefficients=prior + response.slopes,
        errors=_errors(response, response.effects.covariance),
        group_coefficients=prior + response.group_slopes,
        season=effects,
        dispersion=_dispersion(cells, others, spread, own),
        moves=bool(np.isfinite(half_life)),
    )
    demand = np.where(shows, unit * response.filled[at], expected)
    level, errors = np.log(unit * response.level[at]), _errors(response, response.effects.group_covariance)[:, 0]
    of_others = expected * np.divide(others, in_cells, out=np.ones_like(others), where=in_cells > 0)[at]
    return FittedResponse(
        found, level, np.log(season), expected, of_others, demand, shows, response.leverage[at], errors
    )


def _cells(values: Array, at: tuple[Ints, Ints], products: int) -> Array:
    found = np.zeros((products, int(at[1].max(initial=0)) + 1, *values.shape[1:]), dtype=values.dtype)
    found[at] = values
    return found


def _half_life(cells: _Cells, exposure: Floats, spread: Spread, own: Floats) -> float:
    """Half-life of the level: the one under which each demand is likeliest given the others; infinite if it stands."""
    seen, scores = exposure > 0, []
    none = np.zeros((*exposure.shape, 0))
    for half_life in (np.inf, *HALF_LIVES):
        found = fit_response(
            cells.demand, exposure, cells.censored, none, cells.group, spread, own=own, half_life=half_life
        )
        mean = found.means_of_others(found.level * exposure)
        variance, mean = spread.variance(mean, own)[seen], mean[seen]
        known = np.ones(len(mean), dtype=bool)
        scores.append(log_scores(cells.demand[seen], mean, variance, known, cells.censored[seen], cells.integer).sum())
    best = int(np.argmax(scores))
    return (np.inf, *HALF_LIVES)[best] if scores[best] > scores[0] + EVIDENCE else np.inf


def _season(cells: _Cells, response: Response, mean: Floats, variance: Floats, effects: Floats) -> Floats:
    """Effects of the season of products on the logarithm of demand, (products, places), given earlier ones."""
    places = effects.shape[1]
    if places < 2:
        return effects
    weight = np.where(cells.exposure > 0, mean / np.maximum(variance, 1e-12), 0.0)
    residual, weight = weight * (response.filled - mean), weight * mean
    residual += weight * effects[np.arange(len(effects))[:, None], cells.place]
    found, _ = season_effects(weight, residual, cells.place, places, cells.group, block=max(places // BLOCKS, 1))
    return found


def _errors(response: Response, covariance: Floats) -> Floats:
    """Standard errors of the coefficients of products or groups, (rows, inputs)."""
    scaled = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
    found = np.full(scaled.shape, PRIOR_ERROR)
    return np.asarray(np.divide(scaled, response.scale, out=found, where=response.scale > 0))


def _dispersion(cells: _Cells, others: Floats, spread: Spread, own: Floats) -> Floats:
    """Variance beyond Poisson's over the squared mean of each product, (products,); 0 where demand is Poisson.

    `others` are means given the demand of the other periods: the log likelihood around them is a held-out one.
    """
    seen = cells.exposure > 0
    if cells.integer:
        demand, mean, censored = cells.demand[seen], others[seen], cells.censored[seen]
        known = np.ones(len(mean), dtype=bool)
        by_spread, poisson = (
            log_scores(demand, mean, variance, known, censored, True).sum()
            for variance in (spread.variance(others, own)[seen], mean)
        )
        if by_spread < poisson + EVIDENCE:
            return np.zeros(len(seen))
    mean = (cells.demand * seen).sum(axis=1) / np.maximum(seen.sum(axis=1), 1)
    return np.asarray(own[:, 0] * (spread.linear / np.maximum(mean, 1.0) + spread.quadratic))
