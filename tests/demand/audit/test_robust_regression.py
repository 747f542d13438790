"""Coefficients with errors that are robust within units."""

import numpy as np
import pytest

from lostsales.demand.audit.robust_regression import coefficient, residualised


def test_the_coefficient_is_that_of_least_squares_on_all_columns() -> None:
    rng = np.random.default_rng(1)
    columns = rng.standard_normal((200, 4)) @ rng.standard_normal((4, 4))
    y = columns @ [1.0, -2.0, 0.5, 3.0] + rng.standard_normal(200)
    found = coefficient(y, columns[:, 0], columns[:, 1:], np.arange(200) // 10)
    whole = np.linalg.lstsq(np.column_stack([columns, np.ones(200)]), y, rcond=None)[0]
    assert found is not None
    assert found.value == pytest.approx(whole[0], rel=1e-9)


def test_the_error_is_the_jackknife_over_units() -> None:
    rng = np.random.default_rng(2)
    z, control, unit = rng.standard_normal(60), rng.standard_normal((60, 1)), np.arange(60) // 6
    y = z + rng.standard_normal(60)
    found = coefficient(y, z, control, unit)
    assert found is not None
    design = np.column_stack([z, control, np.ones(60)])
    without = [np.linalg.lstsq(design[unit != u], y[unit != u], rcond=None)[0][0] for u in range(10)]
    expected = np.sqrt(0.9 * np.sum((np.array(without) - found.value) ** 2))
    assert found.error == pytest.approx(expected, rel=1e-9)


def test_a_true_null_is_rejected_about_as_often_as_the_level_says() -> None:
    rng, rejected = np.random.default_rng(3), 0
    unit = np.repeat(np.arange(12), 20)
    for _ in range(300):
        z, y = (np.repeat(rng.standard_normal(12), 20) + rng.standard_normal(240) for _ in range(2))
        found = coefficient(y, z, np.zeros((240, 0)), unit)
        assert found is not None
        rejected += found.p_value < 0.05
    assert rejected / 300 < 0.08


def test_it_refuses_what_the_rows_cannot_tell() -> None:
    z = np.arange(40.0)
    nothing = np.zeros((40, 0))
    assert coefficient(z, z, nothing, np.zeros(40, dtype=np.int64)) is None  # one unit
    assert coefficient(z, z, np.column_stack([2 * z]), np.arange(40) // 4) is None  # collinear
    assert coefficient(np.full(40, np.nan), z, nothing, np.arange(40) // 4) is None  # no rows


def test_residuals_are_orthogonal_to_the_controls() -> None:
    rng = np.random.default_rng(4)
    controls = rng.standard_normal((50, 3))
    left = residualised(rng.standard_normal(50), controls)
    np.testing.assert_allclose(controls.T @ left, 0, atol=1e-9)
    assert abs(left.sum()) < 1e-9


@pytest.mark.parametrize("constant", [1.0, 0.7])
def test_a_constant_has_no_coefficient(constant: float) -> None:
    rng = np.random.default_rng(4)
    controls, y = rng.standard_normal((240, 3)), rng.standard_normal(240)
    assert coefficient(y, np.full(240, constant), controls, np.arange(240) // 20) is None
