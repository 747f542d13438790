"""Ridge regression from factors against refitting."""

import numpy as np

from lostsales.learn.function.ridge import CrossValidation, RidgeFactor

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
    residuals = CrossValidation.of(PHI, folds, RIDGES).residuals(TARGETS)
    expected = []
    for test, train in folds[:3]:
        inside, each = PHI[train], []
        for ridge in RIDGES:
            weights = np.linalg.solve(inside.T @ inside + ridge * np.eye(5), inside.T @ TARGETS[train])
            each.append(TARGETS[test] - PHI[test] @ weights)
        expected.append(np.column_stack(each))
    assert residuals.shape == (30, 3)
    np.testing.assert_allclose(residuals, np.concatenate(expected), rtol=1e-9, atol=1e-12)


def test_a_ridge_too_small_to_solve_is_never_the_best() -> None:
    twice = np.hstack([PHI, PHI])
    half = np.arange(60) % 2 == 0
    trial = CrossValidation.of(twice, [(half, ~half), (~half, half)], (0.0, 1.0))
    errors = np.abs(trial.residuals(TARGETS)).mean(axis=0)
    assert np.isfinite(errors[1])
    assert not errors[0] < errors[1]
