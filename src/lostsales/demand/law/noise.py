"""Spread of demand as a function of its mean, learned from drawn residuals."""

import numpy as np

from lostsales.demand.law.demand_law import NoisePower
from lostsales.types import Floats

POWERS = np.linspace(0.0, 1.0, 21)  # candidates: constant spread to spread in proportion to the mean
LEAST_GAIN = 4.0  # of the log-likelihood, by which a spread must change with the mean


def fit_noise(left: Floats, mean: Floats, weights: Floats) -> NoisePower:
    """The power of the mean that explains the spread of residuals best; 0 where none does beyond chance.

    By the likelihood of a normal law, whose spread at the reference is the best for each power.
    """
    reference = float(weights @ mean / weights.sum())
    total, likelihoods = weights.sum(), []
    for power in POWERS:
        factor = NoisePower(power, reference).factor(mean)
        variance = max(float(weights @ (left / factor) ** 2) / total, 1e-300)
        likelihoods.append(-float(weights @ np.log(factor)) - total * np.log(variance) / 2)
    best = int(np.argmax(likelihoods))
    if likelihoods[best] - likelihoods[0] < LEAST_GAIN:
        return NoisePower()
    return NoisePower(float(POWERS[best]), reference)
