"""One coefficient of a linear regression, with a standard error that is robust to dependence within units."""

from typing import NamedTuple

import numpy as np
from scipy.special import stdtr

from lostsales.types import Floats, Ints

LEAST_UNITS = 6
LEAST_ROWS_PER_COLUMN = 3
LEFT_OVER = 1e-6  # share of its variance that the tested column must keep beside the controls


class Coefficient(NamedTuple):
    """A coefficient with its standard error, on so many rows."""

    value: float
    error: float
    p_value: float  # two-sided, Student's t over units
    rows: int

    @property
    def t(self) -> float:
        """The coefficient in units of its standard error."""
        return self.value / self.error


def residualised(column: Floats, controls: Floats) -> Floats:
    """What least squares on the controls and a constant leaves of a column.

    >>> residualised(np.array([1.0, 2.0, 4.0]), np.array([[0.0], [1.0], [2.0]])).round(3).tolist()
    [0.167, -0.333, 0.167]
    """
    design = np.column_stack([np.ones(len(column)), controls])
    spread = design.std(axis=0)
    spread[0] = 1.0
    design = design[:, spread > 1e-9] / spread[spread > 1e-9]
    return np.asarray(column - design @ np.linalg.lstsq(design, column, rcond=1e-10)[0])


def coefficient(outcome: Floats, tested: Floats, controls: Floats, unit: Ints) -> Coefficient | None:
    """Of the tested column on the outcome beside the controls; None where the rows cannot tell.

    Rows with a NaN are left out. By the theorem of Frisch, Waugh and Lovell it is the coefficient of the tested column
    in the regression on all columns; its error is clustered by `unit`.

    >>> rng = np.random.default_rng(0)
    >>> z = rng.standard_normal(400)
    >>> found = coefficient(2 * z + rng.standard_normal(400), z, np.zeros((400, 0)), np.arange(400) // 10)
    >>> round(found.value, 1), found.p_value < 1e-9
    (2.0, True)
    """
    kept = np.isfinite(outcome) & np.isfinite(tested) & np.isfinite(controls).all(axis=1)
    if np.count_nonzero(kept) < LEAST_ROWS_PER_COLUMN * (controls.shape[1] + 2):
        return None
    free, left = residualised(tested[kept], controls[kept]), residualised(outcome[kept], controls[kept])
    total = float(free @ free)
    units, at = np.unique(unit[kept], return_inverse=True)
    if len(units) < LEAST_UNITS or not total > LEFT_OVER * kept.sum() * float(np.var(tested[kept])):
        return None
    value = float(free @ left) / total
    scores = np.bincount(at.reshape(-1), free * (left - value * free))
    rows, columns = int(kept.sum()), controls.shape[1] + 2
    few = len(units) / (len(units) - 1) * (rows - 1) / (rows - columns)  # the usual correction for few units
    error = float(np.sqrt(few * (scores @ scores))) / total
    if not error > 0:
        return None
    p_value = 2 * float(stdtr(len(units) - 1, -abs(value / error)))
    return Coefficient(value, error, p_value, rows)
