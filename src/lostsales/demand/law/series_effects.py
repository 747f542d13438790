"""Mixed model with partial pooling: levels, slopes and spreads of series around those of their group.

A mixed model: the latent demand of a series is the shared mean, plus a level and slopes of its own on the inputs of the
mean (season and other features, price, last demand), plus residuals of a spread of its own. Levels and slopes are
normal around what the attributes of the series say, with variances that are estimated (empirical Bayes): a series of a
few rows has the effects of its group, one of thousands its own. If series do not differ beyond chance there are
none; series of one price and one scale, parts of one product's history, differ in their level at most.
"""

from dataclasses import dataclass, replace

import numpy as np

from lostsales.types import Floats, Ints

BEYOND_CHANCE = 3.0  # standard deviations of a sum of squares above which series differ
USUAL_VARIANCE = 0.25  # prior variance of elasticities between products, with the weight of ...
PSEUDO_PRODUCTS = 4  # ... this many products
INNER_STEPS = 20  # of the expectation-maximisation of variances, within each iteration of the law
LEAST_SPREAD = 0.1  # of a series, as a share of the common one


@dataclass(frozen=True, eq=False)
class GroupPrior:
    """Prior of the effects of a series, given its attributes; columns are the level and the slopes."""

    centre: Floats  # (attributes,) and ...
    scale: Floats  # (attributes,) ... by which attributes are standardised
    coefficients: Floats  # (1 + attributes, 1 + inputs)
    variance: Floats  # (1 + inputs,) of the effects of a series around the prior, 0 where series do not differ
    log_spread: (
        Floats  # (2,) of the logarithm of the squared spread: at a scale of 1, and by the logarithm of the scale
    )

    def mean(self, attributes: Floats) -> Floats:
        """Expected level and slopes of series with such attributes, (series, 1 + inputs)."""
        return _with_ones((attributes - self.centre) / self.scale) @ self.coefficients


@dataclass(frozen=True, eq=False)
class SeriesEffects:
    """Effects of each series: its additions to the shared mean, and the factor of its residuals."""

    level: Floats  # (series,)
    slopes: Floats  # (series, inputs) on the inputs less their centre
    centre: Floats  # (inputs,)
    spread: Floats  # (series,)
    prior: GroupPrior | None = None  # None where series do not differ

    @classmethod
    def none(cls, series: int, inputs: int) -> "SeriesEffects":
        """Effects of series that do not differ."""
        return cls(np.zeros(series), np.zeros((series, inputs)), np.zeros(inputs), np.ones(series))

    def of(self, inputs: Floats, series: Ints) -> Floats:
        """Addition to the mean of each row, (rows,)."""
        if not self.slopes.any():
            return self.level[series]
        varied = np.flatnonzero(self.slopes.any(axis=0))
        own = self.slopes[:, varied][series]
        return np.asarray(self.level[series] + np.einsum("ij,ij->i", inputs[:, varied] - self.centre[varied], own))

    def take(self, series: Ints) -> "SeriesEffects":
        """Effects of some series."""
        return replace(self, level=self.level[series], slopes=self.slopes[series], spread=self.spread[series])

    def extrapolate(self, other: "SeriesEffects", step: float) -> "SeriesEffects":
        """These plus `step` times the difference from others."""
        level = self.level + step * (other.level - self.level)
        return replace(other, level=level, slopes=self.slopes + step * (other.slopes - self.slopes))

    @property
    def any(self) -> bool:
        """True if series differ."""
        return bool(self.level.any() or self.slopes.any() or (self.spread != 1).any())


@dataclass(frozen=True, eq=False)
class Units:
    """The series of a log as units of a mixed model."""

    product: Ints  # (series,) the product that a series is a part of: parts share their effects
    attributes: Floats  # (products, columns)
    log_scale: Floats  # (products,)
    are_products: bool  # series differ in price or scale: they may differ in more than their level
    own_spread: bool = True  # products have spreads of their own; those of counts follow from their means
    held: Ints | tuple[()] = ()  # inputs in which they do not differ


def fit_effects(
    units: Units,
    left: Floats,
    inputs: Floats,
    series: Ints,
    weights: Floats,
    factor: Floats,
    before: SeriesEffects,
) -> SeriesEffects:
    """One iteration: effects given the spreads before, then spreads given the effects.

    `left` is what the shared mean leaves of the latent of each draw, (draws,), `weights` count draws, and `factor` is
    what their spread is multiplied by besides that of their series.
    """
    product, count = units.product[series], len(units.attributes)
    spread = np.ones(count)
    spread[units.product] = before.spread
    total = np.asarray(np.bincount(product, weights, count), dtype=np.float64)
    centre = weights @ inputs / weights.sum()
    moved, own_spread = left - before.of(inputs, series), factor * spread[product]
    variance = float(weights @ (moved / own_spread) ** 2 / weights.sum())
    if np.count_nonzero(total) < 2 or variance <= 0:
        return SeriesEffects.none(len(units.product), inputs.shape[1])
    design, columns = np.ones((len(left), 1)), 1 + inputs.shape[1]
    if units.are_products:
        design = np.column_stack([design, inputs - centre])
    own = np.zeros((count, columns))
    own[units.product] = np.column_stack([before.level, before.slopes])
    precision = weights / (variance * own_spread**2)
    start, pseudo = np.zeros(columns), np.zeros(columns)
    start[: design.shape[1]] = _differing(design, moved, precision, product, own)
    if units.are_products:  # whose responses to the price are known to differ
        pseudo[-2] = USUAL_VARIANCE
        start[-2] = max(start[-2], USUAL_VARIANCE)
    start[1:][list(units.held)] = 0.0
    effects = np.zeros((count, columns))
    prior = _no_prior(units.attributes, columns)
    active = np.flatnonzero(start)
    if len(active):
        found = mixed_model(
            design[:, active], left, precision, product, units.attributes, _warm(start, before)[active], pseudo[active]
        )
        effects[:, active], prior.coefficients[:, active], prior.variance[active] = found
    fitted, trend = np.ones(count), np.zeros(2)
    if units.are_products and units.own_spread:
        left = (left - np.einsum("ij,ij->i", design, effects[product])) / factor
        fitted, trend = _spreads(left, product, weights, total, units.log_scale)
    return SeriesEffects(
        level=effects[units.product, 0],
        slopes=effects[units.product, 1:],
        centre=centre,
        spread=fitted[units.product],
        prior=replace(prior, log_spread=trend) if len(active) or trend.any() else None,
    )


def _warm(start: Floats, before: SeriesEffects) -> Floats:
    """Variances to start from: those of the iteration before, where there were any."""
    if before.prior is None:
        return start
    return np.where(before.prior.variance > 0, before.prior.variance, start)


def _no_prior(attributes: Floats, effects: int) -> GroupPrior:
    scale = attributes.std(axis=0)
    return GroupPrior(
        centre=attributes.mean(axis=0),
        scale=np.where(scale > 0, scale, 1.0),
        coefficients=np.zeros((1 + attributes.shape[1], effects)),
        variance=np.zeros(effects),
        log_spread=np.zeros(2),
    )


def _differing(design: Floats, moved: Floats, precision: Floats, product: Ints, own: Floats) -> Floats:
    """A first variance of each column of effects, 0 where products do not differ beyond chance, (columns,).

    Under equal products the squared t statistics of their effects sum to a chi-squared variable.
    """
    count = len(own)
    total = np.bincount(product, precision, count)
    safe = np.maximum(total, 1e-300)
    found = np.zeros(design.shape[1])
    for column in range(design.shape[1]):
        weighted, information = precision, total
        if column:  # what a level explains is not the slope's
            varied = design[:, column]
            varied = varied - (np.bincount(product, precision * varied, count) / safe)[product]
            weighted = precision * varied
            information = np.bincount(product, weighted * varied, count)
        known = information > 1e-9 * total * float(np.mean(design[:, column] ** 2))
        if np.count_nonzero(known) < 2:
            continue
        score = np.bincount(product, weighted * moved, count)[known] / information[known] + own[known, column]
        information = information[known]
        score -= information @ score / information.sum()
        excess = float(information @ score**2) - (len(score) - 1)
        if excess > BEYOND_CHANCE * np.sqrt(2 * (len(score) - 1)):
            found[column] = excess / float(information.sum() - (information**2).sum() / information.sum())
    return found


def mixed_model(
    design: Floats,
    left: Floats,
    precision: Floats,
    product: Ints,
    attributes: Floats,
    variance: Floats,
    pseudo: Floats,
    steps: int = INNER_STEPS,
) -> tuple[Floats, Floats, Floats]:
    """Effects (products, columns), coefficients (1 + attributes, columns) and variances (columns,) of the prior.

    `pseudo` (columns,) are variances of some pseudo-products, so that those of a few products do not collapse to 0.
    """
    count, columns = len(attributes), design.shape[1]
    gram, right = np.empty((count, columns, columns)), np.empty((count, columns))
    for row in range(columns):
        right[:, row] = np.bincount(product, precision * design[:, row] * left, count)
        for column in range(row + 1):
            gram[:, row, column] = np.bincount(product, precision * design[:, row] * design[:, column], count)
            gram[:, column, row] = gram[:, row, column]
    present = np.bincount(product, minlength=count) > 0
    scale = attributes.std(axis=0)
    known = _with_ones((attributes - attributes.mean(axis=0)) / np.where(scale > 0, scale, 1.0))
    seen = known[present]
    coefficients, between = np.zeros((known.shape[1], columns)), variance.copy()
    for _ in range(steps):
        inverse = np.linalg.inv(gram + np.diag(1 / variance))
        expected = known @ coefficients
        effects = np.einsum("sij,sj->si", inverse, right + expected / variance)
        for column in range(columns):
            # Attributes have coefficients that are normal around 0: groups share strength as products do.
            penalty = np.r_[1e-9, np.full(known.shape[1] - 1, variance[column] / between[column])]
            covariance = np.linalg.inv(seen.T @ seen + np.diag(penalty))
            coefficients[:, column] = covariance @ (seen.T @ effects[present, column])
            if known.shape[1] > 1:
                uncertain = variance[column] * np.trace(covariance[1:, 1:])
                between[column] = (float((coefficients[1:, column] ** 2).sum()) + uncertain) / (known.shape[1] - 1)
        spread = effects[present] - seen @ coefficients
        squares = (spread**2 + inverse[present][:, range(columns), range(columns)]).sum(axis=0)
        counted = len(spread) + PSEUDO_PRODUCTS * (pseudo > 0)
        variance = np.maximum((squares + PSEUDO_PRODUCTS * pseudo) / counted, 1e-12)
    return effects, coefficients, variance


def _spreads(left: Floats, product: Ints, weights: Floats, total: Floats, log_scale: Floats) -> tuple[Floats, Floats]:
    """Spread of the residuals of each product relative to the common one, and its trend in the scale.

    The logarithm of the variance of a product is normal around a line in the logarithm of its scale: counts of small
    products vary more. Without differences beyond chance all are 1.
    """
    count = len(total)
    common = float(weights @ left**2 / weights.sum())
    present = total > 2
    none = np.ones(count), np.zeros(2)
    if np.count_nonzero(present) < 3 or common <= 0:
        return none
    rows = total[present]
    own = np.bincount(product, weights * left**2, count)[present] / rows
    value = np.log(np.maximum(own / common, LEAST_SPREAD**2))
    standard = (
        left**2 / np.maximum(np.bincount(product, weights * left**2, count) / np.maximum(total, 1e-9), 1e-300)[product]
    )
    tails = float(weights @ standard**2 / weights.sum()) - 1  # 2 of a normal law
    information = rows / np.clip(tails, 1.0, 10.0)
    middle = information @ value / information.sum()
    excess = float(information @ (value - middle) ** 2) - (len(value) - 1)
    if excess < BEYOND_CHANCE * np.sqrt(2 * (len(value) - 1)):
        return none
    trend = _line(log_scale[present], value, information)
    beyond = value - trend[0] - trend[1] * log_scale[present]
    excess = float(information @ beyond**2) - (len(value) - 2)
    between = max(excess / float(information.sum() - (information**2).sum() / information.sum()), 1e-12)
    line = trend[0] + trend[1] * log_scale
    line[present] += beyond * information / (information + 1 / between)
    squared = np.exp(np.clip(line, 2 * np.log(LEAST_SPREAD), -2 * np.log(LEAST_SPREAD)))
    # Spreads are relative: those of the rows have the mean square 1.
    usual = float(total @ squared / total.sum())
    return np.sqrt(squared / usual), np.array([trend[0] - np.log(usual), trend[1]])


def _line(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Intercept and slope of weighted least squares, the slope 0 where x never varies."""
    centre, middle = weights @ x / weights.sum(), weights @ y / weights.sum()
    square = float(weights @ (x - centre) ** 2)
    slope = float(weights @ ((x - centre) * (y - middle))) / square if square > 1e-12 else 0.0
    return np.array([middle - slope * centre, slope])


def _with_ones(columns: Floats) -> Floats:
    return np.column_stack([np.ones(len(columns)), columns])
