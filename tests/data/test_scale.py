"""Sizes of series."""

import numpy as np

from lostsales.data.scale import (
    GROUP_RATIO,
    MOST_GROUPS,
    STEP,
    like_groups,
    mean_observed_demand,
    rounded_scale,
    series_scale,
    size_range,
)
from tests.demand.logs import log_of_draws, log_of_flags


def test_series_that_differ_less_than_threefold_have_scale_one() -> None:
    available = np.full((3, 4), 100.0)
    similar = log_of_draws(np.array([10.0, 15.0, 20.0])[:, None] + np.zeros((3, 4)), available)
    np.testing.assert_array_equal(series_scale(similar), 1)
    different = log_of_draws(np.array([1.0, 15.0, 60.0])[:, None] + np.zeros((3, 4)), available)
    np.testing.assert_array_equal(series_scale(different), [1, 15, 60])


def test_the_mean_of_a_series_without_observed_demand_is_the_overall_mean() -> None:
    log = log_of_flags("46", "xx", "8")
    mean = mean_observed_demand(log, log.sales, ~log.censored)
    np.testing.assert_array_equal(mean, [5, 6, 8])


def test_one_series_has_no_range_of_sizes() -> None:
    assert size_range(np.array([7.0])) is None
    assert size_range(np.zeros(4)) is None


def test_scales_are_rounded_to_powers_of_the_step() -> None:
    sizes = np.array([0.3, 1.0, 17.0, np.nan])
    rounded = rounded_scale(sizes)
    powers = np.log(rounded) / np.log(STEP)
    np.testing.assert_allclose(powers, np.rint(powers))
    assert (np.abs(np.log(rounded[:3] / sizes[:3])) <= np.log(STEP) / 2 + 1e-12).all()


def test_groups_hold_rows_that_are_alike_in_every_column() -> None:
    scale = np.array([1.0, 1.1, 8.0, 9.0, 100.0])
    group = like_groups(np.column_stack([scale, np.full(5, 3.0)]))
    np.testing.assert_array_equal(group, [0, 0, 1, 1, 2])
    cost = np.array([3.0, 3.0, 3.0, 6.0, 3.0])
    np.testing.assert_array_equal(like_groups(np.column_stack([scale, cost])), [0, 0, 1, 2, 3])
    for each in range(3):
        assert scale[group == each].max() / scale[group == each].min() <= GROUP_RATIO


def test_a_range_of_scales_without_end_makes_a_limited_number_of_groups() -> None:
    scale = np.logspace(-9, 15, 5_000)
    group = like_groups(scale[:, None])
    assert group.max() < MOST_GROUPS
    assert (np.diff(group) >= 0).all()
