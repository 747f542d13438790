"""Randomisation: balanced in every stratum and pair, reproducible, and equally likely for every series."""

import numpy as np
import pytest

from lostsales.evaluation.pilot.assignment import (
    assignments_of,
    draw_series,
    draw_switches,
    strata_of,
    stratum_size,
    switches_of,
)


@pytest.mark.parametrize("series", [8, 10, 11, 20, 37, 100])
def test_half_of_every_stratum_tries_the_new_policy(series: int) -> None:
    strata = strata_of(np.random.default_rng(series).normal(size=series))
    draws = draw_series(strata, 300, np.random.default_rng(0))
    sizes = np.bincount(strata)
    new = np.stack([np.bincount(strata, each) for each in draws.astype(np.float64)])
    assert (np.abs(new - sizes / 2) <= 0.5).all()
    np.testing.assert_allclose(draws.mean(axis=0), 0.5, atol=0.13)


def test_strata_hold_series_of_like_profit() -> None:
    profit = np.random.default_rng(0).permutation(40).astype(np.float64)
    strata = strata_of(profit)
    assert all(np.ptp(profit[strata == each]) == stratum_size(40) - 1 for each in range(strata.max() + 1))


def test_the_same_seed_draws_the_same_and_another_does_not() -> None:
    strata = strata_of(np.arange(20.0))
    first, second, other = (draw_series(strata, 5, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert (first == second).all()
    assert (first != other).any()


def test_every_assignment_of_a_small_pilot_is_drawn_equally_often() -> None:
    draws = draw_series(np.array([0, 0, 0, 0, 1, 1]), 12_000, np.random.default_rng(0))
    _, counts = np.unique(draws, axis=0, return_counts=True)
    assert len(counts) == assignments_of(np.array([0, 0, 0, 0, 1, 1])) == 12
    np.testing.assert_allclose(counts, 1_000, atol=4 * np.sqrt(1_000))


def test_in_every_pair_of_blocks_half_of_the_series_begin_with_the_new_policy() -> None:
    assert (draw_switches(6, 10, 50, np.random.default_rng(0)).sum(axis=1) == 3).all()
    odd = draw_switches(5, 10, 50, np.random.default_rng(0)).sum(axis=1)
    assert set(np.unique(odd)) == {2, 3}
    assert switches_of(2, 3) == pytest.approx(8)
