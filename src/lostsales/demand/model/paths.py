"""Common random numbers of sample paths, correlated between periods."""

from dataclasses import dataclass

import numpy as np

from lostsales.types import Floats


@dataclass(frozen=True, eq=False)
class PathNumbers:
    """Uniform numbers of paths, the same for all products and plans: a plan changes nothing but its own effect.

    A common normal factor of all periods of a path stands for the level, which is uncertain for all of them at once
    (Gaussian copula). In every period the numbers are the midpoints of equal parts of [0, 1], each once, so that the
    distribution of paths in a period is that of the forecast.

    Examples
    --------
    >>> numbers = PathNumbers.drawn(100, 3, 0.5, np.random.default_rng(0))
    >>> numbers.chances.shape, round(float(numbers.chances.mean()), 3)
    ((3, 100), 0.5)

    """

    chances: Floats  # (periods, paths)

    @classmethod
    def drawn(cls, paths: int, periods: int, correlation: float, rng: np.random.Generator) -> "PathNumbers":
        """Draw numbers whose normal scores have this correlation between periods."""
        shared, own = rng.normal(size=paths), rng.normal(size=(periods, paths))
        scores = np.sqrt(correlation) * shared + np.sqrt(1.0 - correlation) * own
        ranks = scores.argsort(axis=1).argsort(axis=1)
        return cls((ranks + 0.5) / paths)
