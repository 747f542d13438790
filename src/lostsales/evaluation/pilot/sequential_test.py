"""A randomisation test that may be looked at after every period, and the confidence sequence that inverts it.

The estimate of a pilot is compared with what it would be under other assignments that the same lottery could have
drawn. Each look may spend a further part of the error: of the assignments that have not crossed yet, so many may cross
as the part allows, those with the largest estimates. The observed assignment is one of them. Where the policy changes
nothing, every assignment is as likely to be the observed one, so that the chance that it ever crosses is at most the
error: exact for any number of series, any law of profit and any dependence over time (Fisher's sharp null; error
spending of Lan and DeMets, 1983).

For an effect of `gain` on every unit, outcomes less `gain` times the observed assignment follow the null. Estimates are
linear in outcomes: under assignment r the estimate is `effect[r] - gain * overlap[r]`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from lostsales.types import Floats, Ints

ERROR = 0.05  # that any look ever errs, on either side
PLANNED = 0.9  # share of the error that is spent by the planned end; the rest later, so that a pilot may go on
# Harm is tested early on; for success most of the error is kept for the planned end, where it costs no power.
EXPONENT = {"harm": 1.0, "success": 2.0}
GRID = 80  # gains at which the confidence sequence is drawn
BISECTIONS = 30
ROUNDING = 1e-9  # of the range of estimates, within which they count as equal

Side = Literal["success", "harm"]


@dataclass(frozen=True, eq=False)
class Randomised:
    """Estimates under every drawn assignment at every look; the first assignment is the observed one."""

    effect: Floats  # (looks, draws) estimates from the outcomes as observed
    overlap: Floats  # (looks, draws) estimates from the observed assignment as the outcome; 1 of the observed one
    progress: Floats  # (looks,) share of the planned units that are closed; above 1 after the planned end

    @property
    def estimate(self) -> Floats:
        """The gain at every look, (looks,)."""
        return self.effect[:, 0]


def spent(progress: Floats, side: Side, error: float = ERROR / 2) -> Floats:
    """Error spent up to each look.

    >>> spent(np.array([0.5, 1.0, 2.0]), "harm", 0.1).round(4).tolist()
    [0.045, 0.09, 0.095]
    """
    planned = PLANNED * np.minimum(progress, 1.0) ** EXPONENT[side]
    return np.asarray(error * (planned + (1 - PLANNED) * (1 - 1 / np.maximum(progress, 1.0))))


def first_crossing(found: Randomised, side: Side, gain: float = 0.0) -> int | None:
    """The look at which a gain is refuted: by a larger one (success) or a smaller one (harm); None where it is not."""
    sign = 1.0 if side == "success" else -1.0
    estimates = sign * (found.effect - gain * found.overlap)
    crossed = crossings(estimates, spent(found.progress, side))
    return int(crossed[0]) if crossed[0] >= 0 else None


def crossings(estimates: Floats, error: Floats) -> Ints:
    """The look at which each of exchangeable paths crosses, (paths,), -1 where it never does.

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
    """A gain with 95 % bounds that hold at all looks together; infinite where nothing is refuted yet."""

    value: Floats  # (looks,)
    low: Floats  # (looks,)
    high: Floats  # (looks,)


def confidence_sequence(found: Randomised) -> ConfidenceSequence:
    """All gains that no look so far refutes."""
    low = _bounds(found, "success")
    high = -_bounds(Randomised(-found.effect, found.overlap, found.progress), "harm")
    return ConfidenceSequence(found.estimate, low, high)


def _bounds(found: Randomised, side: Side) -> Floats:
    """Greatest gain that is refuted from above up to each look, (looks,): estimates are compared by their size."""
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
    for at in range(GRID - 1, -1, -1):  # from the greatest gain down: each is refuted at some look or not at all
        look = refuted_at(float(grid[at]))
        if look < best:
            inside, outside = float(grid[at]), float(grid[min(at + 1, GRID - 1)])
            bounds[look:best] = _bisected(refuted_at, inside, outside, best) if best == looks else inside
            best = look
        if best == 0:
            break
    return bounds


def _bisected(refuted_at: Callable[[float], int], inside: float, outside: float, looks: int) -> float:
    """The greatest gain between two that is refuted by the last look."""
    for _ in range(BISECTIONS):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if refuted_at(middle) < looks else (inside, middle)
    return inside
