"""Seasonal indices: recovered where there is a season, 1 where there is none."""

import numpy as np
import pytest

from lostsales.demand.model.periods import Cycle
from lostsales.demand.model.season import centred_level, own_index, seasonal_index, shared_index


def test_a_shared_season_is_recovered_over_series_of_different_size() -> None:
    rng = np.random.default_rng(0)
    true = np.array([0.5, 0.7, 0.9, 1.0, 1.1, 1.3, 1.5])
    size = rng.lognormal(1, 1, (200, 1))
    demand = rng.poisson(size * true[np.arange(140) % 7]).astype(float)
    index, own = seasonal_index(demand, np.ones_like(demand), (Cycle(7, 7, 0),), 147, np.inf)
    assert index.shape == (1, 147)
    assert own.tolist() == [0] * 200
    np.testing.assert_allclose(index[0, 140:], true, atol=0.05)


def test_noise_is_no_season() -> None:
    demand = np.random.default_rng(1).poisson(3.0, (30, 104)).astype(float)
    index, _ = seasonal_index(demand, np.ones_like(demand), (Cycle(52, 52, 0),), 107, np.inf)
    assert np.abs(index - 1).max() < 0.08


def test_a_cycle_that_was_not_seen_once_has_no_index() -> None:
    demand = np.full((3, 40), 5.0)
    index, _ = seasonal_index(demand, np.ones_like(demand), (Cycle(52, 52, 0),), 43, np.inf)
    assert (index == 1).all()


def test_levels_of_a_window_by_hand() -> None:
    level = centred_level(np.array([[2.0, 4.0, 6.0, 8.0]]), np.ones((1, 4)), 2)
    # Half a period at the mean of the series, 5, is added to each window of two.
    np.testing.assert_allclose(level, [[(6 + 2.5) / 2.5, (6 + 2.5) / 2.5, (10 + 2.5) / 2.5, (14 + 2.5) / 2.5]])


def test_own_indices_are_drawn_to_the_shared_ones() -> None:
    shared, position = np.array([0.5, 1.5]), np.array([0, 1, 0, 1])
    demand = np.array([[1.0, 9.0, 1.0, 9.0]])
    expected = np.array([[2.5, 7.5, 2.5, 7.5]])
    assert own_index(demand, expected, shared, position, np.inf).tolist() == [[0.5, 1.5]]
    np.testing.assert_allclose(own_index(demand, expected, shared, position, 5.0), [[0.5 * 7 / 10, 1.5 * 23 / 20]])


def test_one_cycle_alone_is_judged_by_its_neighbours() -> None:
    smooth = 1 + 0.5 * np.sin(2 * np.pi * np.arange(52) / 52)
    demand = np.random.default_rng(2).poisson(np.tile(10 * smooth, (50, 1))).astype(float)
    found = shared_index(demand, np.ones_like(demand), np.full_like(demand, 10.0), np.arange(52), 52)
    np.testing.assert_allclose(found, smooth, atol=0.15)
    assert np.corrcoef(found, smooth)[0, 1] == pytest.approx(1, abs=0.02)


def test_growth_is_no_season() -> None:
    demand = np.tile(20 * 1.004 ** np.arange(104), (5, 1))
    index, _ = seasonal_index(demand, np.ones(demand.shape), (Cycle(52, 52, 0),), 104, np.inf)
    np.testing.assert_allclose(index / index.mean(), 1.0, atol=0.02)
