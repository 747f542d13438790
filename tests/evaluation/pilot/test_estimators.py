"""Estimates of a pilot: identities with least squares, and exact small cases."""

import numpy as np

from lostsales.evaluation.pilot.assignment import draw_series, draw_switches
from lostsales.evaluation.pilot.estimators import by_series, by_switches, centred, mean_so_far


def test_the_split_is_least_squares_with_the_past_as_covariate() -> None:
    rng = np.random.default_rng(0)
    series, periods = 14, 6
    past, profit = rng.normal(10, 3, series), rng.normal(10, 2, (series, periods))
    draws = draw_series(np.zeros(series, dtype=np.int64), 30, rng)
    found = by_series(profit, past, draws, np.arange(1, periods + 1) / periods)
    for look in range(periods):
        for draw in range(30):
            design = np.column_stack([np.ones(series), past, draws[draw]])
            wanted = np.linalg.lstsq(design, profit[:, : look + 1].mean(axis=1), rcond=None)[0][2]
            np.testing.assert_allclose(found.effect[look, draw], wanted, atol=1e-9)


def test_without_a_past_that_differs_it_is_the_difference_of_means() -> None:
    profit = np.array([[1.0], [2.0], [3.0], [10.0], [20.0], [30.0]])
    draws = np.array([[False, False, False, True, True, True], [True, False, False, False, True, True]])
    found = by_series(profit, np.full(6, 4.0), draws, np.ones(1))
    np.testing.assert_allclose(found.effect, [[18.0, (1 + 20 + 30 - 2 - 3 - 10) / 3]])
    np.testing.assert_allclose(found.overlap, [[1.0, 1 / 3]])


def test_a_constant_gain_is_found_exactly_where_there_is_no_noise() -> None:
    rng = np.random.default_rng(1)
    level, day = rng.normal(10, 3, 12), rng.normal(0, 5, 8)
    draws = draw_series(np.zeros(12, dtype=np.int64), 5, rng)
    profit = level[:, None] + day + 2.5 * draws[0][:, None]
    found = by_series(profit, level, draws, np.arange(1, 9) / 8)
    np.testing.assert_allclose(found.estimate, 2.5)
    np.testing.assert_allclose(found.effect, 2.5 * found.overlap)  # the gain taken off leaves nothing


def test_missing_rows_leave_the_gain_as_it_is() -> None:
    """Shocks that all series share do not bias series that lack a period."""
    rng = np.random.default_rng(2)
    draws = draw_series(np.zeros(12, dtype=np.int64), 5, rng)
    profit = rng.normal(0, 50, 10) + 2.5 * draws[0][:, None]
    profit[3, :6] = profit[7, 2] = np.nan
    found = by_series(profit, np.zeros(12), draws, np.arange(1, 11) / 10)
    np.testing.assert_allclose(found.estimate, 2.5)


def test_the_switchback_is_the_mean_of_signed_contrasts_of_one_series() -> None:
    contrast = np.array([[4.0, -2.0, 6.0]])
    draws = np.array([[[True, False, True]], [[True, True, True]]])
    found = by_switches(contrast, draws, 3)
    np.testing.assert_allclose(found.effect, [[4.0, 4.0], [3.0, 1.0], [4.0, 8 / 3]])
    np.testing.assert_allclose(found.overlap, [[1.0, 1.0], [1.0, 0.0], [1.0, 1 / 3]])
    assert found.progress.round(3).tolist() == [0.333, 0.667, 1.0]


def test_shocks_that_all_series_share_cancel_in_a_switchback() -> None:
    rng = np.random.default_rng(3)
    draws = draw_switches(6, 5, 4, rng)
    contrast = rng.normal(0, 100, 5) + 1.5 * np.where(draws[0], 1.0, -1.0)
    np.testing.assert_allclose(by_switches(contrast, draws, 5).estimate, 1.5)


def test_a_pair_without_rows_is_no_look() -> None:
    draws = np.ones((2, 1, 3), dtype=bool)
    found = by_switches(np.array([[1.0, np.nan, 3.0]]), draws, 3)
    np.testing.assert_allclose(found.estimate, [1.0, 2.0])


def test_means_so_far_and_centring() -> None:
    values = np.array([[2.0, 4.0, np.nan], [0.0, np.nan, 6.0]])
    np.testing.assert_allclose(centred(values), [[1.0, 0.0, np.nan], [-1.0, np.nan, 0.0]])
    np.testing.assert_allclose(mean_so_far(values), [[2.0, 0.0], [3.0, 0.0], [3.0, 3.0]])
