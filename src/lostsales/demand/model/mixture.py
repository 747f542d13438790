"""Weights of the members of a bank by their forecasts from earlier origins, first common, then of each series."""

import numpy as np

from lostsales._jit import compiled
from lostsales.demand.model.counts import expected_at_least, log_scores
from lostsales.demand.model.held_out import HeldOut
from lostsales.demand.model.spread import Spread
from lostsales.types import Bools, Floats

STEPS = 200  # of the quadratic program
ROUNDS = 4  # of imputing the demand of stock-outs
# Discount of the scores of a series from one origin to the next. With the next constant tuned on orange juice before
# week 135: 34.1 %, and 34.4 % with 0.9 and 0.02.
FORGETTING = 0.5
LEAST_MEAN = 0.1  # added to a forecast in its variance; 0.5 was 0.6 % worse on ten origins of VN2
LEAST = 0.3  # share of the common weights that is spread equally, so that a series can move to any member


def mixture_weights(held_out: HeldOut, spread: Spread) -> Floats:
    """Weights of the members, (series, horizons, members), that sum to 1.

    The common weights minimise the squared error of the weighted mean, relative to the expected variance; stock-outs
    enter by their conditional mean demand. A series departs from them by the likelihood of its last demands under
    each member (dynamic model averaging).
    """
    horizons, members = held_out.mean.shape[2:]
    common = (1 - LEAST) * common_weights(held_out, spread) + LEAST / members
    parts = [
        (held_out.mean[:, :, h], held_out.demand[:, :, h], held_out.seen[:, :, h], held_out.censored[:, :, h])
        for h in range(horizons)
    ]
    return np.stack([_own_weights(*part, spread, common) for part in parts], axis=1)


def common_weights(held_out: HeldOut, spread: Spread) -> Floats:
    """Weights common to all series and horizons, (members,)."""
    members = held_out.mean.shape[3]
    rows, hidden = held_out.mean[held_out.seen], held_out.censored[held_out.seen]
    weights, value = np.full(members, 1.0 / members), held_out.demand[held_out.seen]
    least = value[hidden]
    for _ in range(ROUNDS if hidden.any() else 1):
        centre = rows[hidden] @ weights
        value[hidden] = expected_at_least(least, centre, spread.variance(centre, 1.0), spread.integer)
        # With weights that sum to 1 the error of the mean is the mean of the errors. The least mean keeps series that
        # have not sold for long from deciding alone when they sell again.
        error = (rows - value[:, None]) / np.sqrt(spread.variance(rows.mean(axis=1) + LEAST_MEAN, 1.0))[:, None]
        weights = least_error_weights(error.T @ error, STEPS)
    return weights


def _own_weights(mean: Floats, demand: Floats, seen: Bools, censored: Bools, spread: Spread, common: Floats) -> Floats:
    """Common weights times the discounted likelihood of each member, (series, members)."""
    origins, n, members = mean.shape
    score = np.empty((origins, n, members))
    flat = demand.reshape(-1), seen.reshape(-1), censored.reshape(-1)
    for k in range(members):
        centre = mean[:, :, k].reshape(-1)
        found = log_scores(flat[0], centre, spread.variance(centre, 1.0), flat[1], flat[2], spread.integer)
        score[:, :, k] = found.reshape(origins, n)
    recent = FORGETTING ** np.arange(origins - 1, -1, -1.0)
    total = np.tensordot(recent, score, axes=1) + np.log(common)
    weights = np.exp(total - total.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


@compiled
def least_error_weights(products: Floats, steps: int) -> Floats:
    """Weights w >= 0 with sum 1 that minimise w' P w, (members,).

    Starting from equal weights, each step moves the optimal weight from the worst member that has any to the best.
    """
    members = len(products)
    w = np.full(members, 1.0 / members)
    for _ in range(steps):
        slope = products @ w
        best, worst = int(np.argmin(slope)), -1
        for k in range(members):
            if w[k] > 0.0 and (worst < 0 or slope[k] > slope[worst]):
                worst = k
        fall = slope[worst] - slope[best]
        curve = products[best, best] - 2.0 * products[best, worst] + products[worst, worst]
        if fall <= 1e-9 * (abs(slope[best]) + 1e-12) or curve <= 0.0:
            break
        moved = min(fall / curve, w[worst])
        w[best] += moved
        w[worst] -= moved
    return w
