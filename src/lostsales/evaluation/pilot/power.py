"""Detectable gain, in standard errors at the planned end, for a given power."""

from functools import lru_cache

import numpy as np
from scipy.special import ndtr, stdtrit

from lostsales.evaluation.pilot.sequential_test import crossings, spent
from lostsales.types import Floats

POWER = 0.8  # by default
PATHS = 10_000  # simulated, docs/decisions/pilot.md
LOOKS = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 60)  # numbers of looks that are simulated: more change nothing
MOST_DRIFT = 50.0  # standard errors, beyond which a gain is not detectable
MANY = 1e9  # cap on the number of assignments
# A randomisation test of few units asks for a little more than Student's: the gain itself spreads the estimates under
# other assignments. Simulated, docs/decisions/pilot.md.
FEW_UNITS = 0.5


@lru_cache(maxsize=256)
def needed_drift(looks: int, degrees: int, assignments: float, power: float = POWER) -> float:
    """Gain in standard errors at the planned end that the sequential test detects with this power; inf if none.

    Estimates are a Brownian motion over the information, whose paths are simulated. A randomisation test of few units
    is as demanding as Student's: its thresholds are in units of a standard error that has as many degrees of freedom.
    With few assignments it can spend its error in steps only.
    """
    simulated = max(each for each in LOOKS if each <= max(looks, 1))
    if simulated != looks:
        return needed_drift(simulated, degrees, assignments, power)
    rng = np.random.default_rng(0)
    progress = np.arange(1, looks + 1)[:, None] / looks
    steps, degrees = min(float(assignments), MANY), max(degrees, 1)
    noise = np.cumsum(rng.standard_normal((looks, PATHS)) / np.sqrt(looks), axis=0)
    thresholds = _thresholds(noise, np.floor(spent(progress[:, 0], "success") * steps + 1e-9) / steps)[:, None]
    wanted = stdtrit(float(degrees), ndtr(thresholds / np.sqrt(progress))) * np.sqrt(progress)
    error = np.sqrt(rng.chisquare(degrees, PATHS) / degrees)
    least = ((error * wanted - noise) / progress).min(axis=0)  # drift with which each path crosses
    found = float(np.quantile(least, power)) * (1 + FEW_UNITS / degrees) if np.isfinite(least).all() else np.inf
    return found if found < MOST_DRIFT else float("inf")


def _thresholds(paths: Floats, error: Floats) -> Floats:
    """Threshold that a path must exceed to cross at each look, (looks,)."""
    crossed = crossings(paths, error)
    own = [paths[look, crossed == look] for look in range(len(paths))]
    return np.array([each.min() if len(each) else np.inf for each in own])
