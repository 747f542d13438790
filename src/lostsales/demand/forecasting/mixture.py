"""Weights of the members of a bank: a mixture by predictive score, common to all series and then of each its own."""

import numpy as np

from lostsales.demand.forecasting.counts import log_scores
from lostsales.demand.forecasting.held_out import HeldOut
from lostsales.demand.forecasting.spread import Spread
from lostsales.types import Floats

STEPS = 30  # of expectation and maximisation
OWN_STEPS = 5
COMMON = 60.0  # forecasts of a series that the common weights count for


def mixture_weights(held_out: HeldOut, spread: Spread) -> Floats:
    """Weights of the members, (series, horizons, members).

    The common weights maximise the likelihood of the mixture; those of a series have them as a Dirichlet prior.
    """
    origins, n, horizons, members = held_out.mean.shape
    weights = np.empty((n, horizons, members))
    for h in range(horizons):
        seen = held_out.seen[:, :, h]
        likelihood = np.empty((origins, n, members))
        for k in range(members):
            mean = held_out.mean[:, :, h, k].reshape(-1)
            score = log_scores(held_out.demand[:, :, h].reshape(-1), mean, spread.variance(mean, 1.0), seen.reshape(-1))
            likelihood[:, :, k] = score.reshape(origins, n)
        likelihood = np.exp(likelihood - likelihood.max(axis=2, keepdims=True)) * seen[:, :, None]
        common = np.full(members, 1.0 / members)
        for _ in range(STEPS):
            common = _responsibilities(likelihood, common).sum(axis=(0, 1)) + 1.0 / members
            common /= common.sum()
        own = np.tile(common, (n, 1))
        for _ in range(OWN_STEPS):
            own = COMMON * common + _responsibilities(likelihood, own).sum(axis=0)
            own /= own.sum(axis=1, keepdims=True)
        weights[:, h] = own
    return weights


def _responsibilities(likelihood: Floats, weights: Floats) -> Floats:
    """How much each member explains of each demand; nothing where none is seen."""
    joint = likelihood * weights
    return np.asarray(joint / np.maximum(joint.sum(axis=2, keepdims=True), 1e-300))
