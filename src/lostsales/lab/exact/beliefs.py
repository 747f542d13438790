"""Beliefs (posterior laws) of censored demand: a grid of them, interpolation on it, and conditioning."""

from dataclasses import dataclass
from math import ceil, floor

import numpy as np

from lostsales.types import Bools, Floats, Ints


@dataclass(frozen=True)
class BeliefGrid:
    """Discrete normal laws on 0, ..., M by their mean and width.

    A belief enters the value only through the law of the next demand, which the shock smooths: two moments are nearly
    sufficient (docs/decisions/references.md). An integer mean of width 0 is an observed demand, so that a grid of
    integer means contains the oracle's states.
    """

    mean: Floats  # (means,) rising from 0 to M
    variance: Floats  # (means, widths) rising along a row
    pmf: Floats  # (means * widths, M + 1), mean outermost

    @classmethod
    def of(cls, maximum: int, widths: Floats, step: float) -> "BeliefGrid":
        """A grid with the given widths (about standard deviations), the first of them 0, and means about `step` apart.

        The step is rounded to an integer, or to the inverse of one.
        """
        demand = np.arange(maximum + 1.0)
        mean = np.append(np.arange(0, maximum, floor(step) if step >= 1 else 1 / ceil(1 / step)), maximum)
        laws = np.stack([_discrete_normal(mean, demand, width) for width in widths], axis=1)  # (means, widths, D)
        variance = np.sum(laws * (demand - mean[:, None, None]) ** 2, axis=-1)
        return cls(mean, np.maximum.accumulate(variance, axis=1), laws.reshape(-1, maximum + 1))

    def locate(self, mean: Floats, variance: Floats) -> tuple[Ints, Floats]:
        """Four positions and weights, each (..., 4), whose mixture has this mean and, in the grid's range, variance."""
        lower = np.clip(np.searchsorted(self.mean, mean, side="right") - 1, 0, len(self.mean) - 2)
        gap = self.mean[lower + 1] - self.mean[lower]
        share = (mean - self.mean[lower]) / gap
        within = variance - share * (1 - share) * gap**2  # less the variance between the two means
        positions, weights = [], []
        for row, mass in ((lower, 1 - share), (lower + 1, share)):
            widths = self.variance[row]  # (..., widths)
            column = np.clip((widths <= within[..., None]).sum(axis=-1) - 1, 0, widths.shape[-1] - 2)
            low, high = (np.take_along_axis(widths, (column + k)[..., None], axis=-1)[..., 0] for k in (0, 1))
            along = np.clip((within - low) / np.where(high > low, high - low, 1.0), 0.0, 1.0)
            first = row * widths.shape[-1] + column
            positions += [first, first + 1]
            weights += [mass * (1 - along), mass * along]
        return np.stack(positions, axis=-1), np.stack(weights, axis=-1)


def _discrete_normal(mean: Floats, demand: Floats, width: float) -> Floats:
    """The laws proportional to exp(tilt D - D^2 / (2 width^2)) that have these means, (means, D)."""
    between: Floats = np.maximum(1 - np.abs(demand - mean[:, None]), 0.0)
    if width == 0:
        return between
    inner = mean[1:-1]
    reach = (demand[-1] + 50 * width) / width**2
    low, high = np.full(len(inner), -reach), np.full(len(inner), 2 * reach)
    for _ in range(100):
        tilt = (low + high) / 2
        exponent = tilt[:, None] * demand - demand**2 / (2 * width**2)
        law = np.exp(exponent - exponent.max(axis=1, keepdims=True))
        law /= law.sum(axis=1, keepdims=True)
        below = law @ demand < inner
        low, high = np.where(below, tilt, low), np.where(below, high, tilt)
    return np.concatenate([between[:1], law, between[-1:]])


def tail_moments(law: Floats) -> tuple[Floats, Floats, Floats]:
    """P(D > c), E[D | D > c] and Var[D | D > c] for c = 0, ..., M, each (..., M + 1)."""
    demand = np.arange(law.shape[-1], dtype=np.float64)
    chance, first, second = (_above(law * demand**power) for power in range(3))
    safe = np.where(chance > 0, chance, 1.0)
    mean = np.where(chance > 0, first / safe, np.minimum(demand + 1, demand[-1]))
    return chance, mean, np.maximum(np.where(chance > 0, second / safe - mean**2, 0.0), 0.0)


def _above(weights: Floats) -> Floats:
    sums = np.cumsum(weights[..., ::-1], axis=-1)[..., ::-1]
    return np.concatenate([sums[..., 1:], np.zeros((*sums.shape[:-1], 1))], axis=-1)


def conditioned(law: Floats, possible: Bools) -> Floats:
    """The law of D given that D is `possible`, row by row; a point mass at the least of them where P(possible) = 0."""
    rest = np.where(possible, law, 0.0)
    total = rest.sum(axis=-1, keepdims=True)
    least = np.arange(law.shape[-1]) == np.argmax(possible, axis=-1)[..., None]
    return np.where(total > 0, rest / np.where(total > 0, total, 1.0), least)


def widest_belief(pmf: Floats, periods: int) -> float:
    """Standard deviation of the belief that an observed demand reaches over the longest run; `pmf` is (f, p, d, D)."""
    demands = pmf.shape[3]
    law = np.eye(demands)[demands // 2]
    demand = np.arange(demands)
    for _ in range(periods):
        law = np.einsum("d,fpdD->fpD", law, pmf).reshape(-1, len(law))
        spread = np.sqrt(np.maximum(law @ demand**2 - (law @ demand) ** 2, 0.0))
        law = law[np.argmax(spread)]
    return max(float(spread.max()), 0.5)
