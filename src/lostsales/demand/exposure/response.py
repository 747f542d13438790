"""PooledResponse of demand to prices, promotions and features, with levels that move and seasons of groups.

log E[demand] = level of the product + season of its group + inputs' theta of the product

The level is a random walk. The coefficients theta of a product are drawn towards those of its group, and those of
groups towards a common one (partial pooling): their variances are estimated. Counts are negative binomial, other
quantities have a variance in proportion to the squared mean. A stock-out is a lower bound and enters by its conditional
expectation (EM). Estimation is penalised quasi-likelihood: the log-linear model is linearised around the current means,
and what is linear is solved by a Kalman filter and generalised least squares (Breslow and Clayton, 1993).
"""

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from lostsales.demand.exposure.response_loops import expected_demands, smoothed_levels, whitened_products
from lostsales.saved_fields import NonNegative, numbers
from lostsales.types import Array, Bools, Floats, Ints

ROUNDS = 12  # of linearisation; coefficients change by less than 0.01 from the tenth on in shops with a known truth
# Variances of the level per period among which the likelihood chooses: up to a tenth of demand from period to period.
DRIFTS = np.array([1e-7, 1e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2])
DRIFT_ROUNDS = (2, 5, 8)  # rounds in which the drift is chosen anew
PRIOR_VARIANCE = 0.25  # of coefficients between products before they have been seen to differ
COMMON = 0.25  # prior precision of the coefficients of all: standard deviation 2
PRIOR_WEIGHT = 1.0  # products by which that prior counts
LEAST_VARIANCE = 1e-4  # of coefficients between products or groups
SEASON_PRECISION = 20.0  # prior precision of a seasonal effect: standard deviation 0.22
DISPERSION_ROWS = 30.0  # rows by which the pooled dispersion counts for a product
DISPERSIONS = 1e-3, 2.0  # bounds
LOGS = -9.0, 16.0  # bounds of the logarithm of a mean
LEAST_KNOWN = 0.02  # share of information below which a stock-out is left out
STEPS = -1.0, 4.0  # bounds of a relative residual in one round of linearisation


class ResponseRows(NamedTuple):
    """Rows to learn from, those of a product one after the other in time."""

    start: Ints  # (products + 1,) first row of each product, and the number of rows
    demand: Floats  # (rows,) demand, or the least that it was
    is_censored: Bools  # (rows,)
    share: Floats  # (rows,) of the period on sale; 0: the row shows nothing
    gap: Floats  # (rows,) periods since the row before
    inputs: Floats  # (rows, inputs)
    place: Ints  # (rows,) position in the seasonal cycle
    group: Ints  # (products,)

    @property
    def product(self) -> Ints:
        """Product of each row, (rows,)."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))


@dataclass(frozen=True, eq=False)
class PooledResponse:
    """Coefficients of products and groups, seasons of groups, and the noise."""

    coefficients: Annotated[Floats, numbers("series", "inputs")]
    errors: Annotated[Floats, numbers("series", "inputs", least=0)]  # standard errors
    group_coefficients: Annotated[Floats, numbers("groups", "inputs")]
    season: Annotated[Floats, numbers("groups", "places")]  # effects on the logarithm of demand
    dispersion: Annotated[Floats, numbers("series", least=0)]  # variance beyond Poisson's over the squared mean
    drift: NonNegative  # variance of the change of a level per period


class FittedResponse(NamedTuple):
    """A response and what it makes of the rows that it was learned from, each (rows,)."""

    response: PooledResponse
    level: Floats  # logarithm
    mean: Floats  # expected demand of the whole period
    demand: Floats  # demand where it is observed, else its expectation given the stock-out


def fit_response(
    rows: ResponseRows, counted: bool, places: int = 1, prior: Floats | None = None, rounds: int = ROUNDS
) -> FittedResponse:
    """Learn levels, seasons and coefficients from rows whose stock-outs are lower bounds.

    `prior` (inputs,) is the mean of the coefficients before anything is seen, 0 by default.
    """
    product, (count, width) = rows.product, (len(rows.start) - 1, rows.inputs.shape[1])
    shows = rows.share > 0
    on_sale = np.log(np.where(shows, rows.share, 1.0))
    usual = _ratios(np.bincount(product, rows.demand * shows, count), np.bincount(product, rows.share, count))
    level = np.log(np.maximum(usual, 1e-6))[product]
    season, group = np.zeros((int(rows.group.max(initial=0)) + 1, places)), rows.group[product]
    pooled = PooledCoefficients.start(count, rows.group, np.zeros(width) if prior is None else prior)
    dispersion, drift = np.full(count, 0.1), float(DRIFTS[len(DRIFTS) // 2])
    demand, known = np.empty(len(product)), np.empty(len(product))
    for step in range(rounds):
        fixed = on_sale + season[group, rows.place]
        effects = np.einsum("ri,ri->r", rows.inputs, pooled.coefficients[product])
        logs = np.clip(level + fixed + effects, *LOGS)
        mean = np.exp(logs)
        expected_demands(rows.demand, rows.is_censored, mean, dispersion[product], counted, demand, known)
        # Newton's step: a stock-out has the score of its expected demand, and a part of its information.
        is_known = shows & (known > LEAST_KNOWN)
        information = np.where(is_known, known, 1.0)
        working = logs + np.clip((demand - mean) / mean / information, *STEPS) - fixed
        variance = (1.0 / mean if counted else 0.0) + dispersion[product]
        variance = np.where(is_known, variance / information, np.inf)
        if step in DRIFT_ROUNDS:
            residual, none = working - effects, np.empty((len(working), 0))
            scores = [whitened_products(rows.start, residual, variance, none, rows.gap, each)[1] for each in DRIFTS]
            drift = float(DRIFTS[int(np.argmax(scores))])
        if width:
            products, _ = whitened_products(rows.start, working, variance, rows.inputs, rows.gap, drift)
            pooled = pooled.updated(products[:, :width, :width], products[:, :width, width], learns=step > 1)
            effects = np.einsum("ri,ri->r", rows.inputs, pooled.coefficients[product])
        level = smoothed_levels(rows.start, working - effects, variance, rows.gap, drift)
        precision = np.where(np.isinf(variance), 0.0, 1.0 / np.where(np.isinf(variance), 1.0, variance))
        season = _season(working - effects - level, precision, group, rows.place, season)
        mean = np.exp(np.clip(level + on_sale + season[group, rows.place] + effects, *LOGS))
        dispersion = _dispersion(demand, mean, known, dispersion, shows, product, counted)
    response = PooledResponse(
        coefficients=pooled.coefficients,
        errors=pooled.errors,
        group_coefficients=pooled.groups,
        season=season,
        dispersion=dispersion,
        drift=drift,
    )
    mean = mean / np.exp(on_sale)
    return FittedResponse(response, level, mean, np.where(shows, demand, mean))


@dataclass(frozen=True, eq=False)
class PooledCoefficients:
    """Coefficients of products, drawn towards those of groups, drawn towards those of all."""

    group: Ints  # (products,)
    prior: Floats  # (inputs,) mean of the coefficients of all before anything is seen
    coefficients: Floats  # (products, inputs)
    errors: Floats  # (products, inputs) standard errors, with those of the group
    groups: Floats  # (groups, inputs)
    between_products: Floats  # (inputs,) variance within a group
    between_groups: Floats  # (inputs,)

    @classmethod
    def start(cls, products: int, group: Ints, prior: Floats) -> "PooledCoefficients":
        """Nothing known but the prior."""
        groups, variance = int(group.max(initial=0)) + 1, np.full(len(prior), PRIOR_VARIANCE)
        usual = np.tile(prior, (products, 1))
        return cls(group, prior, usual, np.zeros(usual.shape), np.tile(prior, (groups, 1)), variance, variance)

    def updated(self, squares: Floats, products: Floats, learns: bool) -> "PooledCoefficients":
        """Solve for the coefficients given the normal equations (products, inputs, inputs) and (products, inputs).

        With T and B the variances between products and between groups, a product tells its group about as much as
        inv(inv(squares) + T), and a group tells all of them as much as inv(inv(that of its products) + B). Variances
        are updated where it `learns` them (EM).
        """
        apart, groups_apart = np.diag(1 / self.between_products), np.diag(1 / self.between_groups)
        own = np.linalg.inv(squares + apart)
        shown = np.einsum("pij,pj->pi", own, products)
        told, score = np.zeros((len(self.groups), *apart.shape)), np.zeros(self.groups.shape)
        np.add.at(told, self.group, apart - apart @ own @ apart)
        np.add.at(score, self.group, shown @ apart)
        of_group = np.linalg.inv(told + groups_apart)
        common_error = np.linalg.inv(
            (groups_apart - groups_apart @ of_group @ groups_apart).sum(axis=0) + COMMON * np.eye(len(self.prior))
        )
        common = common_error @ (
            (of_group @ score[:, :, None])[:, :, 0].sum(axis=0) @ groups_apart + COMMON * self.prior
        )
        groups = (of_group @ (score + groups_apart @ common)[:, :, None])[:, :, 0]
        pull = of_group @ groups_apart
        group_error = of_group + pull @ common_error @ pull.transpose(0, 2, 1)
        coefficients = shown + np.einsum("pij,pj->pi", own @ apart, groups[self.group])
        pull = own @ apart
        error = own + pull @ group_error[self.group] @ pull.transpose(0, 2, 1)
        between_products, between_groups = self.between_products, self.between_groups
        if learns:
            between_products = _spread(coefficients - groups[self.group], own)
            between_groups = _spread(groups - common, of_group)
        errors = np.sqrt(np.einsum("pii->pi", error))
        return PooledCoefficients(
            self.group, self.prior, coefficients, errors, groups, between_products, between_groups
        )


def _spread(deviations: Floats, error: Array) -> Floats:
    """Variance of coefficients (members, inputs) around their centre, given their posterior covariances."""
    total = (deviations**2 + np.einsum("pii->pi", error)).sum(axis=0)
    found = (total + PRIOR_WEIGHT * PRIOR_VARIANCE) / (len(deviations) + PRIOR_WEIGHT)
    return np.asarray(np.maximum(found, LEAST_VARIANCE))


def _season(residual: Floats, precision: Floats, group: Ints, place: Ints, season: Floats) -> Floats:
    """Seasonal effects of groups after a round: zero on average, and drawn towards no effect."""
    groups, places = season.shape
    if places < 2:
        return season
    cell = group * places + place
    weight = np.bincount(cell, precision, groups * places).reshape(season.shape)
    total = np.bincount(cell, precision * residual, groups * places).reshape(season.shape) + weight * season
    found = total / (weight + SEASON_PRECISION)
    return np.asarray(found - found.mean(axis=1, keepdims=True))


def _dispersion(
    demand: Floats, mean: Floats, known: Floats, last: Floats, shows: Bools, product: Ints, counted: bool
) -> Floats:
    """Variance beyond Poisson's relative to the squared mean of each product, by moments, (products,).

    A stock-out has the conditional second moment of its demand under the last dispersion: without it, the rows that
    are left are those of small demand.
    """
    count = len(last)
    hidden = (1.0 - known) * (last[product] * mean**2 + counted * mean)
    squares = np.bincount(product, np.where(shows, mean**2, 0.0), count)
    beyond = np.bincount(product, np.where(shows, (demand - mean) ** 2 + hidden - counted * mean, 0.0), count)
    pooled = max(float(beyond.sum()) / max(float(squares.sum()), 1e-12), DISPERSIONS[0])
    prior = DISPERSION_ROWS * _ratios(squares, np.bincount(product, shows, count))
    return np.clip(_ratios(beyond + pooled * prior, squares + prior), *DISPERSIONS)


def _ratios(above: Array, below: Array) -> Floats:
    return np.divide(above, below, out=np.zeros(len(above)), where=below > 0)
