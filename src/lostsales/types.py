"""Names for the array types that the packages exchange."""

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Units = TypeVar("Units", int, float, Array)  # one number in compiled code, arrays elsewhere

# Stock and sales are counts or weights; sums of decimals must not turn into findings.
RELATIVE_TOLERANCE = 1e-9


def exceeds(left: Floats, right: Floats | float) -> Bools:
    """Mask of `left > right` by more than rounding; NaN never exceeds.

    >>> exceeds(np.array([0.1 + 0.2, 0.31, np.nan]), 0.3)
    array([False,  True, False])
    """
    return np.asarray(left - right > RELATIVE_TOLERANCE * (1.0 + np.abs(right)))


def smaller(left: Units, right: Units | float) -> Units:
    """The smaller of two, entry by entry; in compiled code `min`, which is quicker as it does not look for NaN."""
    found: Units = np.minimum(left, right)
    return found


def larger(left: Units, right: Units | float) -> Units:
    """The larger of two, entry by entry; in compiled code `max`."""
    found: Units = np.maximum(left, right)
    return found


def paid_once(cost: float, units: Units) -> Units | float:
    """A cost where there are any units, entry by entry; without work where there is no such cost."""
    return cost * (units > 0) if cost else 0.0
