"""Kalman filter of moving levels in compiled code, product by product, in the rows of a log.

The working demand of a row is a logarithm: z_t = level_t + x_t' theta + error with variance r_t, and the level is a
random walk with variance q per period (Durbin and Koopman, 2012).
"""

import math

import numpy as np

from lostsales._jit import compiled
from lostsales.demand.model.counts import demand_at_least
from lostsales.types import Bools, Floats, Ints

DIFFUSE = 1e6  # variance of a level before its first row


@compiled
def whitened_products(
    start: Ints, working: Floats, variance: Floats, inputs: Floats, gap: Floats, drift: float
) -> tuple[Floats, float]:
    """Cross products of the innovations of inputs and working demand, (products, inputs + 1, inputs + 1).

    The same filter runs over the working demand and over every input, so that regressing the innovations of the one on
    those of the others is generalised least squares under a level that moves. The second result is the log likelihood
    of the working demand as it is, without inputs. Rows of infinite variance show nothing.
    """
    count, width = len(start) - 1, inputs.shape[1]
    found, likelihood = np.zeros((count, width + 1, width + 1)), 0.0
    level, error = np.empty(width + 1), np.empty(width + 1)
    for i in range(count):
        level[:], uncertain, is_first = 0.0, DIFFUSE, True
        for row in range(start[i], start[i + 1]):
            uncertain += drift * gap[row]
            if math.isinf(variance[row]):
                continue
            for j in range(width):
                error[j] = inputs[row, j] - level[j]
            error[width] = working[row] - level[width]
            total = uncertain + variance[row]
            if not is_first:
                for j in range(width + 1):
                    for k in range(width + 1):
                        found[i, j, k] += error[j] * error[k] / total
                likelihood -= 0.5 * (math.log(total) + error[width] * error[width] / total)
            level += uncertain / total * error
            uncertain *= variance[row] / total
            is_first = False
    return found, likelihood


@compiled
def smoothed_levels(start: Ints, working: Floats, variance: Floats, gap: Floats, drift: float) -> Floats:
    """Level of each row given all rows of its product (Kalman smoother), (rows,)."""
    level, before = np.zeros(len(working)), np.empty(len(working))
    for i in range(len(start) - 1):
        now, uncertain = 0.0, DIFFUSE
        for row in range(start[i], start[i + 1]):
            uncertain += drift * gap[row]
            if not math.isinf(variance[row]):
                total = uncertain + variance[row]
                now += uncertain / total * (working[row] - now)
                uncertain *= variance[row] / total
            level[row], before[row] = now, uncertain
        for row in range(start[i + 1] - 2, start[i] - 1, -1):
            ahead = before[row] + drift * gap[row + 1]
            if ahead > 0.0:
                level[row] += before[row] / ahead * (level[row + 1] - level[row])
    return level


@compiled
def expected_demands(
    demand: Floats, is_censored: Bools, mean: Floats, dispersion: Floats, counted: bool, found: Floats, known: Floats
) -> None:
    """Fill `found` with expected demands given their bounds, and `known` with the share of information in a row."""
    for row in range(len(demand)):
        found[row], known[row] = demand[row], 1.0
        if is_censored[row]:
            variance = dispersion[row] * mean[row] * mean[row] + (mean[row] if counted else 0.0)
            found[row], known[row] = demand_at_least(demand[row], mean[row], variance * (1.0 + 1e-6), counted)
