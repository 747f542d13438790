"""The law of the residuals of a mean: a smooth distribution on a fine grid."""

from dataclasses import dataclass

import numpy as np

from lostsales._jit import compiled
from lostsales.errors import LostSalesError
from lostsales.types import Floats

POINTS = 513  # of the grid of a distribution
REACH = 9.0  # standard deviations to either side of the middle
NORMAL_ROWS = 300  # pseudo-rows of a normal law: few rows do not identify a shape
FLOOR = 0.005  # share of a wider normal law, so that nothing near the data is impossible


@dataclass(frozen=True, eq=False)
class Residuals:
    """P(e <= x) on an even grid, linear in between."""

    grid: Floats  # (points,)
    cdf: Floats  # (points,) from 0 to 1

    @classmethod
    def normal(cls, spread: float) -> "Residuals":
        """Centred normal."""
        from scipy.special import ndtr

        grid = np.linspace(-REACH, REACH, POINTS)
        return cls(spread * grid, _ends(ndtr(grid)))

    @classmethod
    def of_normal(cls, values: Floats, weights: Floats) -> "Residuals":
        """The centred normal law of drawn residuals."""
        return cls.normal(max(float(np.sqrt(weights @ values**2 / weights.sum())), 1e-9))

    @classmethod
    def of(cls, values: Floats, weights: Floats) -> "Residuals":
        """Estimate from drawn residuals: smoothed, and the fewer rows (the sum of the weights) the nearer to normal."""
        from scipy.ndimage import gaussian_filter1d
        from scipy.special import ndtr

        total = float(weights.sum())
        middle = float(weights @ values / total)
        spread = max(float(np.sqrt(weights @ (values - middle) ** 2 / total)), 1e-9)
        if not np.isfinite(spread):
            raise LostSalesError(
                "demand cannot be modelled: numbers of the log are too far apart in size; look for a wrong unit or a "
                "mistyped number in sales, prices and features"
            )
        edges = middle + spread * np.linspace(-REACH, REACH, POINTS)
        mass = np.zeros(POINTS - 1)
        _count(values, weights, edges, mass)
        mass /= total
        low, high = np.interp([0.25, 0.75], np.cumsum(mass), edges[1:])
        width = 0.9 * min(spread, (high - low) / 1.34 or spread) * max(total, 2) ** -0.2
        # Half of Silverman's rule: the rows of the tails are drawn from a law that is smooth already.
        mass = gaussian_filter1d(mass, 0.5 * width / (edges[1] - edges[0]), mode="constant")
        own = (1 - FLOOR) * total / (total + NORMAL_ROWS)
        cdf = own * _ends(np.r_[0.0, np.cumsum(mass)]) + (1 - FLOOR - own) * _ends(ndtr((edges - middle) / spread))
        return cls(edges, cdf + FLOOR * _ends(ndtr((edges - middle) / (1.5 * spread))))

    def below(self, value: Floats) -> Floats:
        """P(e <= value)."""
        return np.asarray(np.interp(value, self.grid, self.cdf))

    def quantile(self, share: Floats) -> Floats:
        """The value that a share of the law lies below."""
        return np.asarray(np.interp(share, self.cdf, self.grid))

    @property
    def mean(self) -> float:
        """E[e]."""
        return float(np.diff(self.cdf) @ (self.grid[1:] + self.grid[:-1]) / 2)

    @property
    def spread(self) -> float:
        """Standard deviation."""
        middle = (self.grid[1:] + self.grid[:-1]) / 2
        return float(np.sqrt(np.diff(self.cdf) @ (middle - self.mean) ** 2))

    def atoms(self, count: int) -> Floats:
        """Means of `count` equally likely intervals, rising: (count,)."""
        fine = self.quantile((np.arange(64 * count) + 0.5) / (64 * count))
        return np.asarray(fine.reshape(count, 64).mean(axis=1))


@compiled
def _count(values: Floats, weights: Floats, edges: Floats, counts: Floats) -> None:
    """Add the weight of each value to its bin, (bins,), of even edges; values beyond are in the first and the last."""
    last = len(counts) - 1
    step = (edges[last + 1] - edges[0]) / (last + 1)
    for at in range(len(values)):
        place = (values[at] - edges[0]) / step
        cell = int(place) if 0 < place < last else (0 if place < last else last)
        while cell > 0 and values[at] < edges[cell]:
            cell -= 1
        while cell < last and values[at] >= edges[cell + 1]:
            cell += 1
        counts[cell] += weights[at]


def _ends(cdf: Floats) -> Floats:
    return np.asarray((cdf - cdf[0]) / (cdf[-1] - cdf[0]))
