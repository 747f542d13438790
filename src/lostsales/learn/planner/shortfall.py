"""Moments of the stock left after a demand, both uncertain, in units of the spread of their difference."""

import numpy as np

from lostsales.types import Floats

SHARES = 9  # nodes of the share of the variance that is the noise of demand
REACH, STEPS_A_UNIT = 6, 20
POSITIONS = 2 * REACH * STEPS_A_UNIT + 1
ROUGHEST = 0.05  # spread of a normal part that is always there, so that the table is smooth


def shortfall_table(noise: Floats) -> Floats:
    """P(W > 0), E[W^+] and E[(W^+)^2] of W = z + sqrt(1 - share) N - sqrt(share) e, (shares, positions of z, 3).

    N is standard normal, e the noise of demand, given by equally likely atoms, and standardised here.
    """
    from scipy.special import ndtr

    spread = float(noise.std())
    e = (noise - noise.mean()) / spread if spread > 0 else np.zeros(1)
    z = np.arange(-REACH * STEPS_A_UNIT, REACH * STEPS_A_UNIT + 1) / STEPS_A_UNIT
    table = np.empty((SHARES, len(z), 3))
    for index, share in enumerate(np.linspace(0, 1, SHARES)):
        sd = np.sqrt(max(1 - share, ROUGHEST**2))
        mean = z[:, None] - np.sqrt(share) * e
        chance, density = ndtr(mean / sd), np.exp(-0.5 * (mean / sd) ** 2) / np.sqrt(2 * np.pi)
        first = mean * chance + sd * density
        second = (mean**2 + sd**2) * chance + mean * sd * density
        table[index] = np.stack([each.mean(axis=1) for each in (chance, first, second)], axis=1)
    return np.maximum(table, 0.0)  # far below 0 the terms cancel, and rounding may leave less than nothing
