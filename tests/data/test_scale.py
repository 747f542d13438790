"""Sizes of series."""

import numpy as np

from lostsales.data.scale import (
    STEP,
    rounded_scale,
    series_scale,
    size_range,
)
from tests.demand.logs import log_of_draws


def test_series_that_differ_by_little_or_by_chance_have_scale_one() -> None:
    available, rng = np.full((3, 40), 100.0), np.random.default_rng(0)
    noise = rng.integers(-4, 5, (3, 40)).astype(np.float64)
    near = log_of_draws(np.array([19.0, 20.0, 22.0])[:, None] + 0 * noise, available)
    np.testing.assert_array_equal(series_scale(near), 1)
    wild = log_of_draws(rng.choice([0.0, 90.0], (3, 40), p=[0.9, 0.1]), available)
    assert wild.sales.reshape(3, 40).mean(axis=1).max() > 1.3 * wild.sales.reshape(3, 40).mean(axis=1).min()
    np.testing.assert_array_equal(series_scale(wild), 1)
    demand = np.array([10.0, 15.0, 60.0])[:, None] + noise
    different = log_of_draws(demand, available)
    np.testing.assert_allclose(series_scale(different), demand.mean(axis=1))


def test_the_mean_of_a_series_that_depends_on_its_past_varies_by_more_than_its_rows_show() -> None:
    """Autoregressive demand of one law: means of series of 60 rows differ, but not beyond chance."""
    alarms = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        demand = np.empty((12, 60))
        demand[:, 0] = 20
        for period in range(1, 60):
            demand[:, period] = 4 + 0.8 * demand[:, period - 1] + rng.normal(0, 4, 12)
        log = log_of_draws(np.maximum(np.rint(demand), 0), np.full(demand.shape, 1e3))
        alarms += bool((series_scale(log) != 1).any())
    assert alarms <= 2


def test_one_series_has_no_range_of_sizes() -> None:
    assert size_range(np.array([7.0])) is None
    assert size_range(np.zeros(4)) is None


def test_scales_are_rounded_to_powers_of_the_step() -> None:
    sizes = np.array([0.3, 1.0, 17.0, np.nan])
    rounded = rounded_scale(sizes)
    powers = np.log(rounded) / np.log(STEP)
    np.testing.assert_allclose(powers, np.rint(powers))
    assert (np.abs(np.log(rounded[:3] / sizes[:3])) <= np.log(STEP) / 2 + 1e-12).all()
