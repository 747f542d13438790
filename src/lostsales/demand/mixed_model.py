"""Mixed models with partial pooling: effects of series around common ones, by variances that are estimated.

Effects are normal around a common mean (empirical Bayes): a series of a few rows has nearly that of all, one of
thousands its own.
"""

import numpy as np

from lostsales.types import Floats, Ints

BEYOND_CHANCE = 3.0  # standard deviations of a sum of squares above which levels differ
PSEUDO_SERIES = 4  # that have a variance given beforehand
STEPS = 20  # of the expectation-maximisation of variances


def mixed_model(
    design: Floats,
    left: Floats,
    precision: Floats,
    series: Ints,
    variance: Floats,
    pseudo: Floats,
    steps: int = STEPS,
    count: int | None = None,
) -> tuple[Floats, Floats]:
    """Effects (series, columns) of a design (rows, columns) on `left` (rows,), and their variances (columns,).

    `variance` is where iterations start. `pseudo` (columns,) are variances of some pseudo-series, 0 where there are
    none, so that those of a few series do not collapse to 0.
    """
    columns = design.shape[1]
    rows = np.bincount(series, minlength=count or 0)
    gram, right = np.empty((len(rows), columns, columns)), np.empty((len(rows), columns))
    for row in range(columns):
        right[:, row] = np.bincount(series, precision * design[:, row] * left, len(rows))
        for column in range(row + 1):
            gram[:, row, column] = np.bincount(series, precision * design[:, row] * design[:, column], len(rows))
            gram[:, column, row] = gram[:, row, column]
    present, common = rows > 0, np.zeros(columns)
    for _ in range(steps):
        inverse = np.linalg.inv(gram + np.diag(1 / variance))
        effects = np.einsum("sij,sj->si", inverse, right + common / variance)
        common = effects[present].mean(axis=0)
        spread = effects[present] - common
        squares = (spread**2 + inverse[present][:, range(columns), range(columns)]).sum(axis=0)
        counted = len(spread) + PSEUDO_SERIES * (pseudo > 0)
        variance = np.maximum((squares + PSEUDO_SERIES * pseudo) / counted, 1e-12)
    return effects, variance


def fit_levels(
    left: Floats, factor: Floats, weights: Floats, series: Ints, product: Ints, level: Floats, variance: float
) -> tuple[Floats, float]:
    """Levels of series (series,) around a shared mean, and their variance: 0 where they do not differ beyond chance.

    `left` is what the mean leaves of each row, `factor` multiplies its spread, and `weights` count it; `product` is
    that of each series: parts of its history share a level. `level` and `variance` are those of the iteration before.
    """
    own, before = product[series], np.zeros(int(product.max()) + 1)
    before[product] = level
    moved = left - before[own]
    noise = float(weights @ (moved / factor) ** 2 / weights.sum())
    if noise <= 0:
        return np.zeros(len(product)), 0.0
    precision = weights / (noise * factor**2)
    first = _beyond_chance(moved, precision, own, before)
    if first == 0:
        return np.zeros(len(product)), 0.0
    start, none = np.array([variance or first]), np.zeros(1)
    found, between = mixed_model(np.ones((len(left), 1)), left, precision, own, start, none, count=len(before))
    return found[product, 0], float(between[0])


def _beyond_chance(moved: Floats, precision: Floats, series: Ints, level: Floats) -> float:
    """Variance of the levels of series, 0 where they do not differ beyond chance.

    Of equal series the squared t statistics of their levels sum to a chi-squared variable.
    """
    information = np.bincount(series, precision, len(level))
    seen = information > 0
    freedom = np.count_nonzero(seen) - 1
    if freedom < 1:
        return 0.0
    score = np.bincount(series, precision * moved, len(level))[seen] / information[seen] + level[seen]
    information = information[seen]
    score -= information @ score / information.sum()
    excess = float(information @ score**2) - freedom
    if excess <= BEYOND_CHANCE * np.sqrt(2 * freedom):
        return 0.0
    return excess / float(information.sum() - (information**2).sum() / information.sum())
