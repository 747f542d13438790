"""One coefficient of a linear regression, with a standard error that is robust to dependence within units."""

from typing import NamedTuple

import numpy as np
from scipy.special import stdtr

from lostsales.types import Floats, Ints

LEAST_UNITS = 6  # below, the jackknife is not trusted
MOST_UNITS = 100  # further units are joined
LEAST_ROWS_PER_COLUMN = 6  # below, nothing is tested
LEAST_SPREAD = 1e-9  # of a column that varies, relative to its size
# A partial correlation below this is no link that matters: a regression that lacks a little of what a manager knows
# (each product's own week) leaves that much, and in a large log it would be certain.
LEAST_CORRELATION = 0.025
LEFT_OVER = 1e-6  # share of its variance that the tested column must keep beside the controls


class Coefficient(NamedTuple):
    """Coefficient with its standard error and number of rows."""

    value: float
    error: float
    p_value: float  # that it is no stronger than one that does not matter, two-sided, Student's t over units
    rows: int

    @property
    def t(self) -> float:
        """The coefficient in units of its standard error."""
        return self.value / self.error


def residualised(column: Floats, controls: Floats) -> Floats:
    """Residuals of a column after least squares on the controls and a constant.

    >>> residualised(np.array([1.0, 2.0, 4.0]), np.array([[0.0], [1.0], [2.0]])).round(3).tolist()
    [0.167, -0.333, 0.167]
    """
    design = np.column_stack([np.ones(len(column)), controls])
    spread = design.std(axis=0)
    spread[0] = 1.0
    design = design[:, spread > 1e-9] / spread[spread > 1e-9]
    return np.asarray(column - design @ np.linalg.lstsq(design, column, rcond=1e-10)[0])


def coefficient(outcome: Floats, tested: Floats, controls: Floats, unit: Ints) -> Coefficient | None:
    """Coefficient of the tested column given the controls; None if it is not identified.

    Rows with a NaN are left out. The error is a jackknife over units, which few units do not make too small
    (MacKinnon, Nielsen and Webb, 2023, Cluster-robust inference).

    >>> rng = np.random.default_rng(0)
    >>> z = rng.standard_normal(400)
    >>> found = coefficient(2 * z + rng.standard_normal(400), z, np.zeros((400, 0)), np.arange(400) // 10)
    >>> round(found.value), found.p_value < 1e-9
    (2, True)
    """
    kept = np.isfinite(outcome) & np.isfinite(tested) & np.isfinite(controls).all(axis=1)
    rows = int(kept.sum())
    if rows < LEAST_ROWS_PER_COLUMN * (controls.shape[1] + 2):
        return None
    free = residualised(tested[kept], controls[kept])
    units, at = np.unique(unit[kept], return_inverse=True)
    spread = float(np.std(tested[kept]))
    # A constant leaves rounding errors, which are more than a share of no variance.
    varies = spread > LEAST_SPREAD * (1 + abs(float(np.mean(tested[kept]))))
    if len(units) < LEAST_UNITS or not varies or not free @ free > LEFT_OVER * rows * spread**2:
        return None
    at = at.reshape(-1) % MOST_UNITS
    count = int(at.max()) + 1
    design = _standardised(np.column_stack([tested, controls])[kept])
    left = residualised(outcome[kept], np.zeros((rows, 0)))
    gram = np.zeros((count, design.shape[1], design.shape[1]))
    right = np.zeros((count, design.shape[1]))
    for each in range(count):
        own = design[at == each]
        gram[each], right[each] = own.T @ own, own.T @ left[at == each]
    value = _first(gram.sum(axis=0), right.sum(axis=0))
    without = np.array(
        [_first(gram.sum(axis=0) - own, right.sum(axis=0) - y) for own, y in zip(gram, right, strict=True)]
    )
    error = float(np.sqrt((count - 1) / count * np.sum((without - value) ** 2)))
    if not error > 0:
        return None
    least = LEAST_CORRELATION * float(np.std(left) / np.std(free)) * spread
    p_value = 2 * float(stdtr(count - 1, -max(abs(value) - least, 0.0) / error))
    return Coefficient(value / spread, error / spread, p_value, rows)


def _standardised(columns: Floats) -> Floats:
    """Columns with mean 0 and standard deviation 1, those that vary, and a constant last."""
    spread = columns.std(axis=0)
    varies = spread > LEAST_SPREAD * (1 + np.abs(columns.mean(axis=0)))
    return np.column_stack([(columns - columns.mean(axis=0))[:, varies] / spread[varies], np.ones(len(columns))])


def _first(gram: Floats, right: Floats) -> float:
    """The first coefficient of least squares from its normal equations; collinear columns share their effect."""
    return float(np.linalg.lstsq(gram, right, rcond=1e-10)[0][0])
