"""Laws of residuals that change with market, price and last demand, of any shape: kernel-weighted means over rows."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from lostsales.types import Array, Floats, Ints

CHUNK = 512  # points at once, as each has a weight for every row
CACHED = 32  # points whose distances from all rows stay in the cache
TINY = 1e-12  # against division by 0
PRIOR_ROWS = 6.0  # that the law of all residuals counts for at every point: nothing near the data is impossible


class Points(NamedTuple):
    """Points at which residual distributions are evaluated, every array (points,)."""

    z: Floats  # what the market adds to the mean
    price: Floats
    lag: Floats  # last demand in units of scale
    mean: Floats  # of the latent

    def columns(self) -> Floats:
        """The coordinates, (points, 4)."""
        return np.column_stack(self)


@dataclass(frozen=True, eq=False)
class LocalResiduals:
    """P(e | point) = sum over rows of w_t(point) P_t(e), with weights that are not negative and sum to one.

    P_t is the law of the residual of row t given what the row shows: a point where its demand is observed, and a law
    above what was available where it is hidden. The weights fall with the distance of a row in each coordinate that has
    a bandwidth; with none all rows count alike.
    """

    edges: Floats  # (bins + 1,) of residuals, even
    coordinates: Floats  # (rows, 4) of `Points`, in standard deviations
    scale: Floats  # (4,) these; infinite where a coordinate does not vary
    mass: Floats  # (rows, bins) law of the residual of each row
    weight: Floats  # (rows,) of a row; draws of the same row share one
    base: Floats  # (bins,) the law of all residuals
    bandwidth: Floats  # (4,) in standard deviations, infinite where a coordinate does not matter
    prior: float = PRIOR_ROWS

    def of_rows(self, rows: Ints) -> "LocalResiduals":
        """Restrict to some of the rows."""
        return replace(self, coordinates=self.coordinates[rows], mass=self.mass[rows], weight=self.weight[rows])

    def weights(self, standard: Floats) -> Array:
        """Weight of each row at each point in standard coordinates, (points, rows), in single precision."""
        near = _kernel(standard, self.coordinates, self.bandwidth)
        near *= self.weight.astype(np.float32)
        return near

    def average(self, weights: Array, mass: Floats) -> Floats:
        """The law at points from the weights of the rows and their laws, (points, bins)."""
        total = weights.sum(axis=1, dtype=np.float64) + self.prior
        return np.asarray((weights @ mass.astype(np.float32) + self.prior * self.base) / total[:, None])

    def at(self, points: Points) -> Floats:
        """The law of the residual at each point, (points, bins)."""
        standard = points.columns() / self.scale
        parts = [standard[start : start + CHUNK] for start in range(0, len(standard), CHUNK)]
        return np.concatenate([self.average(self.weights(part), self.mass) for part in parts])

    def quantile(self, points: Points, share: Floats) -> Floats:
        """The residual that a share of the law at each point lies below, (points,)."""
        one_law = np.isinf(self.bandwidth).all()
        mass = self.at(Points(*(each[:1] for each in points)) if one_law else points)
        cdf = np.cumsum(mass, axis=1) / mass.sum(axis=1, keepdims=True)
        cdf = np.broadcast_to(cdf, (len(share), len(self.edges) - 1))
        at = (cdf[:, :-1] < share[:, None]).sum(axis=1)
        rows = np.arange(len(share))
        below = np.where(at > 0, cdf[rows, at - 1], 0.0)
        part = (share - below) / np.maximum(cdf[rows, at] - below, TINY)
        return np.asarray(self.edges[at] + np.clip(part, 0.0, 1.0) * (self.edges[1] - self.edges[0]))

    def atoms(self, points: Points, count: int) -> Floats:
        """Means of equally likely shares of the residual at each point, rising, (points, count)."""
        return share_means(self.edges, self.at(points), count)


def share_means(edges: Floats, mass: Floats, count: int) -> Floats:
    """Means of `count` equally likely shares of laws that are even within bins, (laws, count).

    `mass` is (laws, bins). They are differences of the integral of the quantile function.

    >>> share_means(np.array([0.0, 1.0, 2.0]), np.array([[0.5, 0.5], [0.75, 0.25]]), 2)
    array([[0.5       , 1.5       ],
           [0.33333333, 1.16666667]])
    """
    laws, bins = mass.shape
    start = np.zeros((laws, 1))
    cdf = np.concatenate([start, np.cumsum(mass, axis=1)], axis=1)
    cdf /= cdf[:, -1:]
    rise = np.diff(cdf, axis=1)
    integral = np.concatenate([start, np.cumsum(rise * (edges[1:] + edges[:-1]) / 2, axis=1)], axis=1)
    levels = np.arange(count + 1) / count
    # One search for all laws: those of the next are all above those of the one before.
    apart = 2.0 * np.arange(laws)[:, None]
    found = np.searchsorted((cdf[:, 1:] + apart).reshape(-1), (levels + apart).reshape(-1)).reshape(laws, count + 1)
    at = np.clip(found - bins * np.arange(laws)[:, None], 0, bins - 1)
    below, own_rise = np.take_along_axis(cdf, at, axis=1), np.take_along_axis(rise, at, axis=1)
    part = np.where(own_rise > 0, (levels - below) / np.where(own_rise > 0, own_rise, 1.0), 0.0)
    middle = edges[at] + part * (edges[1] - edges[0]) / 2
    reached = np.take_along_axis(integral, at, axis=1) + (levels - below) * middle
    return np.maximum.accumulate(np.diff(reached, axis=1) * count, axis=1)


def _kernel(points: Floats, rows: Floats, bandwidth: Floats) -> Array:
    """Gaussian product kernel of each pair, 1 where they are equal, (points, rows), in single precision."""
    local = np.flatnonzero(np.isfinite(bandwidth))
    left, right = ((each[:, local] / bandwidth[local]).T for each in (points, rows))
    near = np.ones((len(points), len(rows)), dtype=np.float32)
    for start in range(0, len(points) if len(local) else 0, CACHED):
        part = slice(start, start + CACHED)
        power = sum(np.subtract.outer(x[part], y) ** 2 for x, y in zip(left, right, strict=True))
        power *= -0.5
        np.exp(power, out=near[part], casting="same_kind")
    return near
