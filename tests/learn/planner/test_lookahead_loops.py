"""Compiled interpolation stays within its arrays, whatever the position."""

import numpy as np
import pytest

from lostsales.learn.planner.lookahead_loops import interpolate, interpolate_2d, within

VALUES = np.array([1.0, 2.0, 4.0])


@pytest.mark.parametrize(
    ("position", "expected"),
    [(np.nan, 0.0), (-np.inf, 0.0), (-1.0, 0.0), (0.5, 0.5), (2.0, 2.0), (1e300, 2.0), (np.inf, 2.0)],
)
def test_a_position_is_bounded_before_it_is_an_index(position: float, expected: float) -> None:
    assert within(position, 2.0) == expected


@pytest.mark.parametrize(
    ("position", "expected"), [(np.nan, 1.0), (-5.0, 1.0), (0.5, 1.5), (1.5, 3.0), (2.0, 4.0), (np.inf, 4.0)]
)
def test_a_function_on_a_grid_is_constant_beyond_its_ends(position: float, expected: float) -> None:
    assert interpolate(VALUES, position) == expected
    assert interpolate_2d(np.stack([VALUES, VALUES + 1]), 0.0, position) == expected
    assert interpolate_2d(np.stack([VALUES, VALUES + 1]), np.inf, position) == expected + 1
