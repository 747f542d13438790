"""Confidence intervals from standard errors: Student's t, or the normal distribution where the error is known."""

from typing import overload

import numpy as np

from lostsales.types import Floats


def quantile(chance: float, degrees: float = np.inf) -> float:
    """Quantile of Student's t distribution; of the normal distribution with infinitely many degrees of freedom.

    >>> round(quantile(0.975), 3), round(quantile(0.975, 9), 3)
    (1.96, 2.262)
    """
    from scipy.special import ndtri, stdtrit  # slow to import, and not needed to read a log

    return float(ndtri(chance) if np.isinf(degrees) else stdtrit(degrees, chance))


def standard_error(values: Floats) -> float:
    """Standard error of the mean of independent values; NaN below two of them.

    >>> standard_error(np.array([1.0, 3.0]))
    1.0
    """
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.nan


@overload
def margin(std_error: float, degrees: float = np.inf, coverage: float = 0.95) -> float: ...


@overload
def margin(std_error: Floats, degrees: float = np.inf, coverage: float = 0.95) -> Floats: ...


def margin(std_error: float | Floats, degrees: float = np.inf, coverage: float = 0.95) -> float | Floats:
    """Half the width of a two-sided confidence interval.

    >>> round(margin(2.0), 2), round(margin(2.0, degrees=3, coverage=0.9), 2)
    (3.92, 4.71)
    """
    return quantile((1 + coverage) / 2, degrees) * std_error
