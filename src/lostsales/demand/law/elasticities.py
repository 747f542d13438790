"""Elasticity of demand by product, with standard errors, and which products say little about it themselves.

The elasticity of a product is drawn towards that of its group (`series_effects`). Its variance is that of the mixed
model given drawn demands, plus what the draws of hidden demands add (Rubin's rule for multiple imputation), plus the
error of the group's own elasticity by as much as the product relies on it.
"""

from dataclasses import dataclass

import numpy as np

from lostsales.data.confidence import margin
from lostsales.data.encoding import attribute_levels
from lostsales.data.log import SalesLog
from lostsales.demand.censoring.evidence import Evidence
from lostsales.demand.law.demand_law import DemandLaw
from lostsales.demand.law.demand_model import DemandModel
from lostsales.demand.law.estimation import working_draws
from lostsales.demand.law.latents import complete_latents
from lostsales.demand.law.memory import observed_lag
from lostsales.demand.law.series_effects import GroupPrior
from lostsales.types import Array, Bools, Floats, Ints

MOST_EVALUATED = 20_000  # rows over which expected demand is averaged, of all products together ...
ROWS_OF_PRODUCT = 5, 60  # ... and of each, at least and at most
ATOMS = 16  # of the distribution of residuals in an expectation
LEAST_MOVE = 0.02  # relative change of price below which a product's price never moved
MOST_LEVELS = 20  # of an attribute whose groups are shown
STEP = 0.05  # of the slope, over which the derivative of the elasticity is taken


@dataclass(frozen=True)
class GroupElasticity:
    """Elasticity of the products of one level of an attribute whose prices moved."""

    attribute: str
    level: str
    products: int
    elasticity: float  # mean
    error: float  # standard error


@dataclass(frozen=True, eq=False)
class ProductElasticities:
    """Between the prices that each product had; every array has one entry a product."""

    names: Array  # text
    elasticity: Floats
    error: Floats  # standard error
    own_share: Floats  # from 0 to 1: how much the product's own rows count against its group
    moved: Bools  # its price moved
    rows: Ints
    groups: tuple["GroupElasticity", ...]  # by attributes with text

    @property
    def low(self) -> Floats:
        """Lower end of the 95 % band."""
        return self.elasticity - margin(self.error)

    @property
    def high(self) -> Floats:
        """Upper end of the 95 % band."""
        return self.elasticity + margin(self.error)


def product_elasticities(
    log: SalesLog, model: DemandModel, shared_error: float = 0.0, seed: int = 0
) -> ProductElasticities:
    """Elasticities of the products of a log; `shared_error` is the standard error where they share one."""
    evidence, law = model.evidence, model.law
    products = len(evidence.attributes)
    product = evidence.product[evidence.series]
    rows = np.bincount(product, minlength=products)
    low, high = _own_prices(evidence.price, product, products)
    moved = (high > low * (1 + LEAST_MOVE)) & (low > 0)
    # If a product's price never moved, the elasticity of its group, between the usual prices of the log.
    usual = np.quantile(evidence.price[evidence.price > 0], [0.05, 0.95]) if (evidence.price > 0).any() else np.ones(2)
    ends = np.where(moved, low, usual[0]), np.where(moved, high, usual[1])
    at = _some_rows(product, rows)
    elasticity = _arc(evidence, law, at, product, *ends, 0.0)
    by_slope = (_arc(evidence, law, at, product, *ends, STEP) - elasticity) / STEP
    variance, own_share = _slope_variance(evidence, law, seed)
    error = np.abs(by_slope) * np.sqrt(variance) if own_share.any() else np.full(products, shared_error)
    names = np.unique(log.names.astype(str)).astype(object)
    groups = _groups(log, elasticity, error, moved)
    return ProductElasticities(names, elasticity, error, own_share, moved, rows, groups)


def _groups(log: SalesLog, elasticity: Floats, error: Floats, moved: Bools) -> tuple[GroupElasticity, ...]:
    """Mean elasticity of the products of each level of each attribute with text, where levels are few."""
    first = np.unique(log.names.astype(str), return_index=True)[1]
    found = []
    for attribute, levels in attribute_levels(log).items():
        if not 2 <= len(levels) <= MOST_LEVELS:
            continue
        for level in levels:
            own = (log.attributes[attribute][first] == level) & moved
            if (count := int(own.sum())) > 0:
                between = float(elasticity[own].var(ddof=1)) / count if count > 1 else 0.0
                spread = np.sqrt(between + float((error[own] ** 2).sum()) / count**2)
                found.append(
                    GroupElasticity(attribute, str(level), count, float(elasticity[own].mean()), float(spread))
                )
    return tuple(found)


def _own_prices(price: Floats, product: Ints, products: int) -> tuple[Floats, Floats]:
    """The 5 % and 95 % quantiles of the prices of each product, each (products,)."""
    order = np.lexsort((price, product))
    rows = np.bincount(product, minlength=products)
    first = np.cumsum(rows) - rows
    found = []
    for share in (0.05, 0.95):
        at = first + np.rint(share * np.maximum(rows - 1, 0)).astype(np.int64)
        found.append(np.where(rows > 0, price[order][np.minimum(at, len(price) - 1)], np.nan))
    return found[0], found[1]


def _some_rows(product: Ints, rows: Ints) -> Ints:
    """Rows spread evenly over each product."""
    most = int(np.clip(MOST_EVALUATED // max(len(rows), 1), *ROWS_OF_PRODUCT))
    order = np.argsort(product, kind="stable")
    place = np.arange(len(product)) - np.repeat(np.cumsum(rows) - rows, rows)
    of_product = np.repeat(rows, rows)
    kept = (place * most // of_product) != ((place - 1) * most // of_product)
    return np.sort(order[kept | (of_product <= most)])


def _arc(
    evidence: Evidence, law: DemandLaw, at: Ints, product: Ints, low: Floats, high: Floats, shift: float
) -> Floats:
    """Elasticity between two prices of each product, with its slope on the price moved by `shift`, (products,)."""
    series, own = evidence.series[at], product[at]
    scale = law.scale[series]
    observed = observed_lag(evidence, law.lag_weights) / law.scale[evidence.series]
    lag = np.where(np.isnan(observed[at]), np.nanmedian(observed), observed[at])
    totals = []
    for price in (low, high):
        inputs = law.inputs(evidence.market[at], price[own], lag)
        moved = shift * (inputs[:, -2] - law.effects.centre[-2])
        mean = law.linked(law.mean(inputs) + law.effects.of(inputs, series) + moved)
        atoms = law.atoms(mean, law.effects.spread[series], scale, ATOMS)
        expected = law.expected(atoms, scale[:, None]).mean(axis=1)
        totals.append(np.bincount(own, expected, len(low)))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log(totals[1] / totals[0]) / np.log(high / low))


def _slope_variance(evidence: Evidence, law: DemandLaw, seed: int) -> tuple[Floats, Floats]:
    """Variance of each product's slope on the price, and the share of its own rows in it, each (products,)."""
    products, prior = len(evidence.attributes), law.effects.prior
    if prior is None or prior.variance[-2] == 0:  # products do not differ: they have the slope of all
        return np.zeros(products), np.zeros(products)
    draws = working_draws(evidence, law, complete_latents(evidence, law, seed))
    product = evidence.product[draws.series]
    # Level and price: other effects hardly move with the price.
    columns = np.stack([np.ones(draws.response.shape), draws.price - law.effects.centre[-2]])
    precision = draws.precision
    gram = np.empty((products, 2, 2))
    for row in range(2):
        for column in range(2):
            each = (precision * columns[row] * columns[column]).mean(axis=1)
            gram[:, row, column] = np.bincount(product, each, products)
    inverse = np.linalg.inv(gram + np.diag(1 / np.maximum(prior.variance[[0, -2]], 1e-6)))
    by_draw = np.stack(
        [
            np.stack([np.bincount(product, each, products) for each in (precision * column * draws.left).T], axis=-1)
            for column in columns
        ],
        axis=1,
    )  # (products, 2, draws)
    effects = np.einsum("sij,sjd->sid", inverse, by_draw)
    imputed = effects[:, 1].var(axis=1, ddof=1) if effects.shape[2] > 1 else np.zeros(products)
    relied = np.clip(inverse[:, 1, 1] / prior.variance[-2], 0.0, 1.0)
    variance = inverse[:, 1, 1] + (1 + 1 / effects.shape[2]) * imputed
    return variance + relied**2 * _group_variance(evidence.attributes, prior, 1 - relied), 1 - relied


def _group_variance(attributes: Floats, prior: GroupPrior, own_share: Floats) -> Floats:
    """Estimation variance of the slope that the attributes of each product predict, (products,)."""
    known = np.column_stack([np.ones(len(attributes)), (attributes - prior.centre) / prior.scale])
    counted = known * own_share[:, None]
    within = float(prior.variance[-2])
    groups = np.maximum(float(np.mean(prior.coefficients[1:, -2] ** 2)) if len(prior.centre) else within, 0.1 * within)
    penalty = np.r_[1e-9, np.full(known.shape[1] - 1, within / groups)]
    covariance = within * np.linalg.inv(known.T @ counted + np.diag(penalty))
    return np.asarray(np.einsum("ij,jk,ik->i", known, covariance, known))
