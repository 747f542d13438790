"""The dispersion of counts by maximum likelihood, given their means."""

import numpy as np

from lostsales.types import Floats

FIRST_DISPERSION = 0.2  # at which iterations start
RANGE = -12.0, 3.0  # of its logarithm
TOLERANCE = 1e-7


def fit_dispersion(count: Floats, mean: Floats, weights: Floats) -> float:
    """Dispersion of negative binomial counts of given means; variance mean + dispersion * mean^2.

    With s = 1 / dispersion the log-likelihood of a count k, up to what does not depend on s, is
    lgamma(k + s) - lgamma(s) + s log s - (k + s) log(s + mean).
    """
    from scipy.optimize import minimize_scalar
    from scipy.special import gammaln

    value, which = np.unique(count, return_inverse=True)
    by_value, total = np.bincount(which, weights), float(weights.sum())
    weighted = weights * count

    def loss(log_dispersion: float) -> float:
        size = float(np.exp(-log_dispersion))
        own = float(by_value @ (gammaln(value + size) - gammaln(size)))
        # In terms of mean / size, as (k + s) log(s + mean) - s log s loses digits where s is large.
        grows = np.log1p(mean / size)
        rest = float(weighted @ grows) + float(weighted.sum()) * np.log(size) + size * float(weights @ grows)
        return (rest - own) / total

    return float(np.exp(minimize_scalar(loss, bounds=RANGE, method="bounded", options={"xatol": TOLERANCE}).x))
