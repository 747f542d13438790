"""Demand model of shops as covariates of curves, for series that differ in size or price.

Demand of a row has mean exp(level + slopes'x), with x the logarithm of the price relative to the usual price of the
series and the features, and a variance with a Poisson and a proportional part, as `demand/model` estimates them: slopes
and dispersions are drawn to those of all series. A season of its own matters: a manager who stocks up for it makes
stock-outs depend on what a common season leaves unexplained. The model is equivariant: multiplying the quantities or
prices of one series by a number scales its distribution and leaves the others unchanged.
"""

from dataclasses import dataclass

import numpy as np

from lostsales.data.encoding import feature_columns
from lostsales.data.log import SalesLog
from lostsales.data.relative import in_units
from lostsales.data.scale import TINY, series_scale, usual_price
from lostsales.data.units import product_units
from lostsales.demand.censoring.runs import Runs, find_runs
from lostsales.demand.model.product_response import ResponseRows, fit_rows
from lostsales.demand.survival.curve import kaplan_meier
from lostsales.types import Bools, Floats, Ints

OWN_COLUMNS = 5  # width of `SeriesLaw.columns`
RIDGE = 1e-3  # penalty on common coefficients, relative to the total weight
MOST_LOG = 4.0  # bound of the logarithm of a mean relative to the level
BINS, LEAST_IN_BIN = 6, 200  # bins of residuals by dispersion (those of intermittent demand are skewed), rows in each
MOST_ROWS = 1_000_000  # rows to learn from: bounds time and memory
LEAST_SCALE = 0.5  # added to a relative quantity before its logarithm, which is then finite at 0


@dataclass(frozen=True, eq=False)
class SeriesLaw:
    """Scale, usual price and demand model of each series; arrays are (series,)."""

    scale: Floats
    usual_price: Floats
    log_level: Floats  # log of the mean, with price and features at their mean
    slopes: Floats  # (series, inputs) own less common slopes on the log relative price and the features
    centre: Floats  # (inputs,) means of the inputs
    poisson: Floats  # variance of demand at its level, relative to the squared level: Poisson part ...
    proportional: Floats  # ... and proportional part
    most: Floats  # largest possible demand

    def log_price(self, log: SalesLog, rows: Ints) -> Floats:
        """Logarithm of the relative price; the relative price itself if some price is not positive."""
        return relative_price(log.price[rows], self.usual_price[log.series[rows]], bool((log.price > 0).all()))

    def log_quantity(self, log: SalesLog, rows: Ints, quantity: Floats) -> Floats:
        """Logarithm of a quantity relative to the scale, finite at 0."""
        return np.asarray(np.log(LEAST_SCALE + quantity / self.scale[log.series[rows]]))

    def columns(self, log: SalesLog, rows: Ints) -> Floats:
        """Covariates of rows that depend on their series, (rows, OWN_COLUMNS)."""
        series = log.series[rows]
        return np.column_stack(
            [
                self.log_level[series],
                np.einsum("ij,ij->i", own_inputs(log, rows, self.usual_price) - self.centre, self.slopes[series]),
                self.poisson[series],
                self.proportional[series],
                self.most[series],
            ]
        )


def own_inputs(log: SalesLog, rows: Ints, usual: Floats) -> Floats:
    """Inputs with slopes by series: relative price and features, (rows, inputs)."""
    price = relative_price(log.price[rows], usual[log.series[rows]], bool((log.price > 0).all()))
    return np.column_stack([price, *feature_columns(log.problem.features, log.features[rows].T)])


def relative_price(price: Floats, usual: Floats, positive: bool) -> Floats:
    """Logarithm of prices relative to the usual ones; the ratio itself if some price is not positive."""
    return np.log(price / usual) if positive else price / usual


def series_differ(log: SalesLog) -> bool:
    """Return True if series differ in size or price, so that each has a demand model of its own."""
    return any(bool((each != each[:1]).any()) for each in (series_scale(log), usual_price(log)))


@dataclass(frozen=True, eq=False)
class ProductCounts:
    """Log in counts of each series; unchanged if series do not differ or have no unit."""

    log: SalesLog
    runs: Runs
    unit: Floats | float  # (rows,) quantity of one count in the original log
    differ: bool  # series differ in size or price

    @classmethod
    def of(cls, log: SalesLog, runs: Runs) -> "ProductCounts":
        """Count the quantities of a log in the unit of each series."""
        if not series_differ(log):
            return cls(log, runs, 1.0, False)
        units = product_units(log)
        if (units == 1).all() or (units == 0).any():
            return cls(log, runs, 1.0, True)
        counts = in_units(log, 1.0, units)
        return cls(counts, find_runs(counts, runs.cap), units[log.products.of_row], True)

    def law(self, demand_max: float | None, seed: int) -> SeriesLaw | None:
        """Demand model of each series, None if series do not differ.

        The largest demand of a series is its largest sale, or more in proportion if `demand_max` exceeds the largest
        sale of the log.
        """
        if not self.differ:
            return None
        observed, log = self.runs.observed, self.log
        least = np.where(observed.is_observed, observed.demand, observed.available)
        most = np.zeros(len(log.products))
        np.maximum.at(most, log.products.of_row, least)
        headroom = 1.0 if demand_max is None else demand_max / max(float((least * self.unit).max()), 1e-300)
        return fit_series_law(log, self.runs, headroom * most[log.products.of_segment], headroom, seed)


def fit_series_law(log: SalesLog, runs: Runs, most: Floats, headroom: float = 1.0, seed: int = 0) -> SeriesLaw:
    """Fit the demand model of each series to all learnable rows; `most` is the largest demand of each, (series,)."""
    part, scale, usual = log.products.of_segment, series_scale(log), usual_price(log)
    rows = _some_rows(np.flatnonzero(runs.observed.is_learnable), seed)
    own, count = part[log.series[rows]], len(log.products)
    demand, is_event = runs.observed.sample[0][rows], runs.observed.sample[1][rows]
    design, centre, width, varies = standardised(own_inputs(log, rows, usual))
    counted = bool((product_units(log) == 1).all())
    by_scale = 1.0 if counted else scale[log.series[rows]]
    every, prior = np.ones(len(rows)), np.zeros(len(width))
    of_rows = ResponseRows(
        own, _places(own), demand / by_scale, ~is_event, every, every, design[:, 1:], np.zeros_like(own)
    )
    fitted = fit_rows(of_rows, np.zeros(count, dtype=np.int64), counted, 1, prior)
    response, mean = fitted.response, fitted.mean * by_scale
    level = np.bincount(own, fitted.level + np.log(by_scale), count) / np.maximum(np.bincount(own, minlength=count), 1)
    spread = np.sqrt(response.dispersion[own] * mean**2 + counted * mean + TINY)
    largest = np.zeros(count)  # if a product had the largest residual of all
    np.maximum.at(largest, own, mean + spread * ((demand - mean) / spread).max())
    slopes = (response.coefficients - response.group_coefficients[0]) / width
    return SeriesLaw(
        scale,
        usual,
        level[part],
        np.where(varies, slopes, 0.0)[part],
        centre,
        counted * np.exp(-level)[part],
        response.dispersion[part],
        np.maximum(most, headroom * (np.ceil(largest) if counted else largest)[part]),
    )


def _places(own: Ints) -> Ints:
    """Place of each row among those of its product, which are in order of time."""
    rows = np.bincount(own)
    order = np.argsort(own, kind="stable")
    found = np.empty(len(own), dtype=np.int64)
    found[order] = np.arange(len(own)) - np.repeat(np.cumsum(rows) - rows, rows)
    return found


def _some_rows(rows: Ints, seed: int) -> Ints:
    """All rows, or a uniform sample if there are very many."""
    if len(rows) <= MOST_ROWS:
        return rows
    return np.sort(np.random.default_rng(seed).choice(rows, MOST_ROWS, replace=False))


def standardised(columns: Floats) -> tuple[Floats, Floats, Floats, Bools]:
    """Standardised columns with an intercept; also mean and standard deviation, and a mask of columns that vary."""
    centre, scale = columns.mean(axis=0), columns.std(axis=0)
    varies = scale > 1e-12 * (1 + np.abs(centre))
    design = np.where(varies, (columns - centre) / np.where(varies, scale, 1.0), 0.0)
    return np.column_stack([np.ones(len(design)), design]), centre, np.where(varies, scale, 1.0), varies


def bounded_exp(values: Floats) -> Floats:
    """Exponential of bounded values: means relative to the level from their logarithms."""
    return np.asarray(np.exp(np.clip(values, -MOST_LOG, MOST_LOG)))


def ridge_step(design: Floats, weight: Floats, score: Floats) -> Floats:
    """Newton step of the coefficients of a log-linear mean, with a ridge penalty."""
    gram = design.T @ (design * weight[:, None])
    gram += RIDGE * weight.sum() * np.eye(len(gram)) + 1e-12 * np.eye(len(gram))
    return np.asarray(np.clip(np.linalg.solve(gram, design.T @ score), -1, 1))


@dataclass(frozen=True, eq=False)
class CensoredFit:
    """Right-censored demands relative to the scale of their series."""

    demand: Floats  # (rows,)
    is_event: Bools  # (rows,)
    unit: Floats  # (rows,) unit of quantity, relative to the scale

    @classmethod
    def of(cls, demand: Floats, is_event: Bools, unit: Floats) -> "CensoredFit":
        """Wrap demands."""
        return cls(demand, is_event, unit)

    def filled(self, mean: Floats, variance: Floats, order: Floats) -> tuple[Floats, Floats]:
        """Demands with censored ones at their conditional mean (Buckley and James), and squared residuals.

        Residuals are standardised; censored ones follow the Kaplan-Meier curve of residuals with a similar `order`.
        """
        spread = np.sqrt(variance)
        residual = (self.demand - mean) / spread
        first, second = residual.copy(), residual**2
        for rows in _bins(order):
            first[rows], second[rows] = moments_above(residual[rows], self.is_event[rows])
        filled = np.where(self.is_event, self.demand, np.maximum(self.demand, mean + spread * first))
        return filled, np.where(self.is_event, residual**2, second) * variance


def _bins(order: Floats) -> list[Ints]:
    """Rows in quantile bins of `order`, ties together."""
    count = int(np.clip(len(order) // LEAST_IN_BIN, 1, BINS))
    edges = np.unique(np.quantile(order, np.linspace(0, 1, count + 1)[1:-1])) if count > 1 else np.zeros(0)
    place = np.searchsorted(edges, order, side="right")
    return [rows for each in range(len(edges) + 1) if len(rows := np.flatnonzero(place == each))]


def moments_above(residual: Floats, is_event: Bools) -> tuple[Floats, Floats]:
    """Moments E[e | e > own value] and E[e^2 | e > own value] under the Kaplan-Meier curve; the largest is an event."""
    is_event = is_event | (residual == residual.max())
    curve = kaplan_meier(residual, is_event, integer=False)
    mass = -np.diff(np.r_[1.0, curve.survival])
    at = np.searchsorted(curve.times, residual, side="right")
    above = np.r_[np.cumsum(mass[::-1])[::-1], 0.0][at]
    found = []
    for power in (1, 2):
        total = np.r_[np.cumsum((mass * curve.times**power)[::-1])[::-1], 0.0][at]
        found.append(np.where(above > 1e-12, total / np.maximum(above, 1e-12), residual**power))
    return found[0], found[1]
