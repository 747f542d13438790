"""Ridge regression from factors against refitting."""

import numpy as np

from lostsales.learn.ridge import RidgeFactor, cross_validate

RNG = np.random.default_rng(4)
PHI = RNG.normal(size=(60, 5))
TARGETS = PHI @ np.array([1.0, -2.0, 0.5, 0.0, 3.0]) + RNG.normal(size=60)
RIDGES = (0.01, 1.0, 30.0)


def test_weights_solve_the_normal_equations() -> None:
    factor = RidgeFactor.of(PHI.T @ PHI, 0.7)
    weights = factor.solve(PHI.T @ TARGETS)
    np.testing.assert_allclose(PHI.T @ (TARGETS - PHI @ weights), 0.7 * weights, atol=1e-10)


def test_effective_dimension_sums_the_leverages() -> None:
    factor = RidgeFactor.of(PHI.T @ PHI, 0.7)
    hat = PHI @ np.linalg.inv(PHI.T @ PHI + 0.7 * np.eye(5)) @ PHI.T
    np.testing.assert_allclose(factor.leverage(PHI), np.diag(hat), rtol=1e-10)
    np.testing.assert_allclose(factor.effective_dimension(), np.trace(hat), rtol=1e-10)


def test_fast_cross_validation_equals_refitting_fold_by_fold() -> None:
    """With a gap around a fold that belongs to neither side, a fold without test rows, and rows never tested."""
    place = np.arange(60)
    folds = [((place >= low) & (place < low + 10), (place < low - 3) | (place >= low + 13)) for low in (0, 20, 40)]
    folds.append((np.zeros(60, dtype=bool), place < 30))
    errors, rows = cross_validate(PHI, TARGETS, folds, RIDGES)
    expected = np.zeros(3)
    for test, train in folds[:3]:
        for index, ridge in enumerate(RIDGES):
            inside = PHI[train]
            weights = np.linalg.solve(inside.T @ inside + ridge * np.eye(5), inside.T @ TARGETS[train])
            expected[index] += np.sum((TARGETS[test] - PHI[test] @ weights) ** 2)
    np.testing.assert_allclose(errors, expected, rtol=1e-9)
    np.testing.assert_array_equal(rows, 30)
