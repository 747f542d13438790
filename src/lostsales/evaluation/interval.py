"""Figures with their 95 % intervals, from contributions of resampled units."""

from dataclasses import dataclass

import numpy as np

from lostsales.data.confidence import margin, quantile, standard_error
from lostsales.types import Floats

# Contributions are skewed, so that more degrees of freedom would make intervals too narrow.
MOST_DEGREES = 9


@dataclass(frozen=True)
class Interval:
    """A figure with its 95 % interval."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, contributions: Floats, model_uncertainty: float = 0.0, present: int | None = None) -> "Interval":
        """Mean of contributions, one a unit, with Student's interval; model uncertainty adds in quadrature.

        Degrees of freedom follow the units that have rows of the figure: all, unless fewer are `present`.

        >>> Interval.of(np.array([1.0, 2.0, 3.0])).value
        2.0
        """
        units = len(contributions)
        value = float(contributions.mean())
        error = standard_error(contributions) if units > 1 else np.inf
        degrees = degrees_of_freedom(units if present is None else present)
        return cls.around(value, margin(float(np.hypot(error, model_uncertainty)), degrees))

    @classmethod
    def around(cls, value: float, reach: float) -> "Interval":
        """A figure with an interval of this reach to either side."""
        return cls(value, value - reach, value + reach)

    @property
    def reach(self) -> float:
        """Half the width."""
        return (self.high - self.low) / 2

    def times(self, factor: float) -> "Interval":
        """The figure in another unit, or of several such parts."""
        return Interval(self.value * factor, self.low * factor, self.high * factor)

    def floor(self, units: int) -> float:
        """One-sided 95 % bound from below, for an interval over a number of units.

        >>> round(Interval.of(np.array([1.0, 2.0, 3.0])).floor(3), 3)
        0.314
        """
        degrees = degrees_of_freedom(units)
        return self.value - (self.value - self.low) * quantile(0.95, degrees) / quantile(0.975, degrees)

    @property
    def proven(self) -> bool:
        """True where all of the interval is above zero."""
        return self.low > 0


def degrees_of_freedom(units: int) -> int:
    """Degrees of freedom of an interval over units."""
    return min(max(units - 1, 1), MOST_DEGREES)
