"""Kernel averages over time in compiled code."""

import numpy as np

from lostsales._jit import compiled
from lostsales.types import Floats


@compiled
def local_means(values: Floats, weight: Floats, decay: float) -> Floats:
    """Weighted means of columns (series, periods, columns) around every period, with weights decay^|distance|.

    `weight` is (series, periods). A decay of 1 gives the mean of the whole series.
    """
    n, periods, columns = values.shape
    found = np.zeros((n, periods, columns))
    total = np.empty(columns)
    for i in range(n):
        sums = np.zeros(periods)
        for backward in range(2):
            total[:] = 0.0
            mass = 0.0
            for step in range(periods):
                t = periods - 1 - step if backward else step
                w = weight[i, t]
                if backward:  # the period itself is counted once, forward
                    sums[t] += decay * mass
                    for k in range(columns):
                        found[i, t, k] += decay * total[k]
                mass = decay * mass + w
                for k in range(columns):
                    total[k] = decay * total[k] + w * values[i, t, k]
                if not backward:
                    sums[t] += mass
                    for k in range(columns):
                        found[i, t, k] += total[k]
        for t in range(periods):
            scale = 1.0 / sums[t] if sums[t] > 1e-12 else 0.0
            for k in range(columns):
                found[i, t, k] *= scale
    return found


@compiled
def own_shares(weight: Floats, decay: float) -> Floats:
    """Share of the weight of each period in its own kernel mean, see `local_means`, (series, periods)."""
    n, periods = weight.shape
    found = np.zeros((n, periods))
    for i in range(n):
        mass = 0.0
        for t in range(periods):
            mass = decay * mass + weight[i, t]
            found[i, t] = mass
        mass = 0.0
        for t in range(periods - 1, -1, -1):
            found[i, t] = weight[i, t] / max(found[i, t] + decay * mass, 1e-12)
            mass = decay * mass + weight[i, t]
    return found
