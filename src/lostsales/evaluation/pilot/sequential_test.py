"""Sequential randomisation test with a look after every period, and the confidence sequence that inverts it.

The estimate of a pilot is compared with those under other assignments that the same randomisation could have drawn.
Each look may spend a further part of the error: among the assignments that have not crossed yet, those with the
largest estimates cross, up to that part. The observed assignment is one of them. If the policy has no effect, every
assignment is equally likely to be the observed one, so that the probability that it ever crosses is at most the error:
exact for any number of series, any distribution of profit and any dependence over time (Fisher's sharp null; error
spending of Lan and DeMets, 1983).

For an effect of `gain` on every unit, outcomes less `gain` times the observed assignment follow the null. Estimates are
linear in outcomes: under assignment r the estimate is `effect[r] - gain * overlap[r]`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from lostsales.types import Floats, Ints

ERROR = 0.05  # probability that any look ever errs, on either side
PLANNED = 0.9  # share of the error that is spent by the planned end; the rest later, so that a pilot may go on
# Power of time in error spending: harm is tested early; for success most error is kept for the end, for power.
EXPONENT = {"harm": 1.0, "success": 2.0}
GRID = 80  # gains at which the confidence sequence is evaluated
BISECTIONS = 30  # between two of them
ROUNDING = 1e-9  # share of the range of estimates, within which they are treated as equal

Side = Literal["success", "harm"]


@dataclass(frozen=True, eq=False)
class Randomised:
    """Estimates under every drawn assignment at every look; the first assignment is the observed one."""

    effect: Floats  # (looks, draws) estimates from the outcomes as observed
    overlap: Floats  # (looks, draws) estimates from the observed assignment as the outcome; 1 of the observed one
    progress: Floats  # (looks,) share of the planned units that are closed; above 1 after the planned end

    @property
    def estimate(self) -> Floats:
        """Gain at every look, (looks,)."""
        return self.effect[:, 0]


def spent(progress: Floats, side: Side, error: float = ERROR / 2) -> Floats:
    """Error spent up to each look.

    >>> spent(np.array([0.5, 1.0, 2.0]), "harm", 0.1).round(4).tolist()
    [0.045, 0.09, 0.095]
    """
    planned = PLANNED * np.minimum(progress, 1.0) ** EXPONENT[side]
    return np.asarray(error * (planned + (1 - PLANNED) * (1 - 1 / np.maximum(progress, 1.0))))


def first_crossing(found: Randomised, side: Side, gain: float = 0.0) -> int | None:
    """Look at which a gain is rejected, as too small (success) or too large (harm); None if it is not."""
    sign = 1.0 if side == "success" else -1.0
    estimates = sign * (found.effect - gain * found.overlap)
    crossed = crossings(estimates, spent(found.progress, side))
    return int(crossed[0]) if crossed[0] >= 0 else None


def crossings(estimates: Floats, error: Floats) -> Ints:
    """Look at which each of the exchangeable paths crosses, (paths,), -1 if it never does.

    Up to each look at most a share `error` of the paths crosses: the largest estimates of those that have not yet.
    Equal estimates cross together or not at all.

    >>> crossings(np.array([[1.0, 2.0, 3.0, 4.0], [9.0, 2.0, 3.0, 4.0]]), np.array([0.25, 0.5])).tolist()
    [1, -1, -1, 0]
    """
    paths = estimates.shape[1]
    crossed, left = np.full(paths, -1), np.arange(paths)
    for look, values in enumerate(estimates):
        may = int(error[look] * paths + 1e-9) - (paths - len(left))
        if may < 1 or len(left) <= may:
            continue
        own = values[left]
        threshold = np.partition(own, -may - 1)[-may - 1]
        crosses = own > threshold + ROUNDING * np.ptp(own)
        crossed[left[crosses]] = look
        left = left[~crosses]
    return crossed


@dataclass(frozen=True, eq=False)
class ConfidenceSequence:
    """Gain with 95 % bounds that hold at all looks simultaneously; infinite if no gain is rejected yet."""

    value: Floats  # (looks,)
    low: Floats  # (looks,)
    high: Floats  # (looks,)


def confidence_sequence(found: Randomised) -> ConfidenceSequence:
    """Confidence sequence: all gains that no look so far rejects."""
    low = _bounds(found, "success")
    high = -_bounds(Randomised(-found.effect, found.overlap, found.progress), "harm")
    return ConfidenceSequence(found.estimate, low, high)


def _bounds(found: Randomised, side: Side) -> Floats:
    """Lower bound at each look, (looks,): greatest gain that is rejected as too small up to it."""
    error = spent(found.progress, side)
    looks = len(error)

    def refuted_at(gain: float) -> int:
        crossed = int(crossings(found.effect - gain * found.overlap, error)[0])
        return looks if crossed < 0 else crossed

    spread = float(np.ptp(found.effect[-1])) or 1.0
    top = float(found.estimate.max())
    bottom = float(found.estimate[-1]) - 3 * spread
    grid = np.linspace(bottom, top, GRID)
    bounds, best = np.full(looks, -np.inf), looks
    for at in range(GRID - 1, -1, -1):  # from the greatest gain down: each is rejected at some look or not at all
        look = refuted_at(float(grid[at]))
        if look < best:
            inside, outside = float(grid[at]), float(grid[min(at + 1, GRID - 1)])
            bounds[look:best] = _bisected(refuted_at, inside, outside, best) if best == looks else inside
            best = look
        if best == 0:
            break
    return bounds


def _bisected(refuted_at: Callable[[float], int], inside: float, outside: float, looks: int) -> float:
    """Greatest gain between two that is rejected by the last look."""
    for _ in range(BISECTIONS):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if refuted_at(middle) < looks else (inside, middle)
    return inside
