"""The dispersion of counts by maximum likelihood of what rows show, given their means."""

import math

import numpy as np

from lostsales._jit import compiled
from lostsales.demand.law.count_loops import chance_between
from lostsales.types import Floats

FIRST_DISPERSION = 0.2  # at which iterations start
RANGE = -12.0, 3.0  # of its logarithm
TOLERANCE = 1e-5  # of the logarithm of the dispersion
LEAST_CHANCE = 1e-300  # against the logarithm of 0


@compiled
def _log_likelihood(first: Floats, last: Floats, mean: Floats, weights: Floats, dispersion: float) -> float:
    """Weighted sum of log P(first <= K <= last) over rows."""
    total = 0.0
    for row in range(len(first)):
        total += weights[row] * math.log(
            max(chance_between(first[row], last[row], mean[row], dispersion), LEAST_CHANCE)
        )
    return total


def fit_dispersion(low: Floats, high: Floats, mean: Floats, weights: Floats) -> float:
    """Dispersion of negative binomial counts above `low` and up to `high`, of given means; all (rows,).

    The likelihood of the intervals themselves: drawn counts would follow the dispersion that they were drawn with, and
    move from it in steps that are small where much is hidden.
    """
    from scipy.optimize import minimize_scalar

    first, last = np.maximum(np.floor(low) + 1, 0.0), np.floor(high)

    def loss(log_dispersion: float) -> float:
        return -float(_log_likelihood(first, last, mean, weights, math.exp(log_dispersion)))

    return math.exp(minimize_scalar(loss, bounds=RANGE, method="bounded", options={"xatol": TOLERANCE}).x)
