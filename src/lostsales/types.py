"""Names for the array types that the rooms exchange."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

# Stock and sales are counts or weights; sums of decimals must not turn into findings.
RELATIVE_TOLERANCE = 1e-9


def exceeds(left: Floats, right: Floats | float) -> Bools:
    """Where `left > right` by more than rounding; NaN never exceeds.

    >>> exceeds(np.array([0.1 + 0.2, 0.31, np.nan]), 0.3)
    array([False,  True, False])
    """
    return np.asarray(left - right > RELATIVE_TOLERANCE * (1.0 + np.abs(right)))
