"""Seasonal indices: recovered where there is a season, 1 where there is none."""

import numpy as np
import pytest

from lostsales.demand.model.periods import Cycle
from lostsales.demand.model.season import centred_level, season_basis, seasonal_index, shared_index
from lostsales.types import Floats, Ints


def test_a_shared_season_is_recovered_over_series_of_different_size() -> None:
    rng = np.random.default_rng(0)
    true = np.array([0.5, 0.7, 0.9, 1.0, 1.1, 1.3, 1.5])
    size = rng.lognormal(1, 1, (200, 1))
    demand = rng.poisson(size * true[np.arange(140) % 7]).astype(float)
    index, own, _ = seasonal_index(demand, np.ones_like(demand), (Cycle(7, 7, 0),), 147)
    assert index.shape == (1, 147)
    assert own.tolist() == [0] * 200
    np.testing.assert_allclose(index[0, 140:], true, atol=0.05)


def test_noise_is_no_season() -> None:
    demand = np.random.default_rng(1).poisson(3.0, (30, 104)).astype(float)
    index, *_ = seasonal_index(demand, np.ones_like(demand), (Cycle(52, 52, 0),), 107)
    assert np.abs(index - 1).max() < 0.08


def test_a_cycle_that_was_not_seen_once_has_no_index() -> None:
    demand = np.full((3, 40), 5.0)
    index, *_ = seasonal_index(demand, np.ones_like(demand), (Cycle(52, 52, 0),), 43)
    assert (index == 1).all()


def test_levels_of_a_window_by_hand() -> None:
    level = centred_level(np.array([[2.0, 4.0, 6.0, 8.0]]), np.ones((1, 4)), 2)
    # Half a period at the mean of the series, 5, is added to each window of two.
    np.testing.assert_allclose(level, [[(6 + 2.5) / 2.5, (6 + 2.5) / 2.5, (10 + 2.5) / 2.5, (14 + 2.5) / 2.5]])


def seasons(groups: float, series: float, length: int, periods: int) -> tuple[Floats, Floats, Ints]:
    """Index of 120 series by column whose groups and series differ by these standard deviations, and Poisson demand."""
    rng = np.random.default_rng(3)
    group, basis = np.arange(120) % 6, season_basis(length)
    effects = groups * rng.normal(size=(6, basis.shape[1]))[group] + series * rng.normal(size=(120, basis.shape[1]))
    index = np.exp(effects @ basis.T)[:, np.arange(periods) % length]
    return index, rng.poisson(8 * index).astype(float), group


@pytest.mark.parametrize(("length", "periods"), [(7, 140), (52, 156)])
@pytest.mark.parametrize("series", [0.0, 0.1])
def test_seasons_of_groups_and_series_are_drawn_together_by_their_spread(
    length: int, periods: int, series: float
) -> None:
    true, demand, group = seasons(0.25, series, length, periods)
    cycles, ones = (Cycle(length, length, 0),), np.ones_like(demand)
    found, row, (prior,) = seasonal_index(demand, ones, cycles, periods, group)
    assert prior is not None
    np.testing.assert_allclose(np.sqrt(prior.variances.groups.mean()), 0.25, atol=0.08)
    np.testing.assert_allclose(np.sqrt(prior.variances.series.mean()), series, atol=0.04)
    errors = np.abs(np.log(found[row] / found[row].mean(axis=1, keepdims=True) / true * true.mean(axis=1)[:, None]))
    shared, *_ = seasonal_index(demand, ones, cycles, periods)
    assert errors.mean() < 0.4 * np.abs(np.log(shared / true)).mean()
    again, *_ = seasonal_index(demand, ones, cycles, periods, group, (prior,))
    np.testing.assert_allclose(again, found)


def test_noise_is_no_season_of_a_series() -> None:
    _, demand, group = seasons(0.0, 0.0, 52, 156)
    found, *_ = seasonal_index(demand, np.ones_like(demand), (Cycle(52, 52, 0),), 156, group)
    assert np.abs(found - found.mean(axis=0)).mean() < 0.02


def test_one_cycle_alone_is_judged_by_its_neighbours() -> None:
    smooth = 1 + 0.5 * np.sin(2 * np.pi * np.arange(52) / 52)
    demand = np.random.default_rng(2).poisson(np.tile(10 * smooth, (50, 1))).astype(float)
    found = shared_index(demand, np.ones_like(demand), np.full_like(demand, 10.0), np.arange(52), 52)
    np.testing.assert_allclose(found, smooth, atol=0.15)
    assert np.corrcoef(found, smooth)[0, 1] == pytest.approx(1, abs=0.02)


def test_growth_is_no_season() -> None:
    demand = np.tile(20 * 1.004 ** np.arange(104), (5, 1))
    index, *_ = seasonal_index(demand, np.ones(demand.shape), (Cycle(52, 52, 0),), 104)
    np.testing.assert_allclose(index / index.mean(), 1.0, atol=0.02)
