"""The randomisation test with error spending: exact on small lotteries, and valid whoever peeks when."""

from functools import cache
from itertools import combinations

import numpy as np
import pytest

from lostsales.evaluation.pilot.sequential_test import (
    ERROR,
    Randomised,
    confidence_sequence,
    crossings,
    first_crossing,
    spent,
)
from lostsales.types import Bools, Floats


@cache
def halves(units: int) -> Bools:
    """All assignments of half of the units, the first half first."""
    return np.array([np.isin(np.arange(units), own) for own in combinations(range(units), units // 2)])


def two_arms(outcomes: Floats) -> Randomised:
    """All assignments of half of the units, the observed one first; the plain difference of means at every look."""
    looks, units = outcomes.shape
    chosen = halves(units)
    signs = np.where(chosen, 2.0, -2.0) / units
    overlap = np.repeat((signs @ chosen[0])[None], looks, axis=0)
    return Randomised(outcomes @ signs.T, overlap, np.arange(1, looks + 1) / looks)


def test_the_error_is_spent_by_the_planned_end_but_for_a_tenth() -> None:
    progress = np.array([0.25, 0.5, 1.0, 1e9])
    assert spent(progress, "harm", 1.0).round(6).tolist() == [0.225, 0.45, 0.9, 1.0]
    assert spent(progress, "success", 1.0).round(6).tolist() == [0.05625, 0.225, 0.9, 1.0]
    assert (np.diff(spent(np.linspace(0.01, 5, 200), "success")) > 0).all()


def test_exactly_the_spent_share_of_paths_crosses() -> None:
    rng = np.random.default_rng(0)
    paths = np.cumsum(rng.standard_normal((20, 1_000)), axis=0)
    error = spent(np.arange(1, 21) / 20, "success")
    crossed = crossings(paths, error)
    by_look = np.array([(crossed >= 0) & (crossed <= look) for look in range(20)]).mean(axis=1)
    assert (by_look <= error + 1e-12).all()
    assert by_look[-1] == pytest.approx(error[-1], abs=1e-3)


def test_equal_estimates_cross_together_or_not_at_all() -> None:
    assert crossings(np.array([[3.0, 3.0, 1.0, 0.0]]), np.array([0.25])).tolist() == [-1, -1, -1, -1]
    assert crossings(np.array([[3.0, 3.0, 1.0, 0.0]]), np.array([0.5])).tolist() == [0, 0, -1, -1]


def test_peeking_errs_at_most_as_often_as_said_under_every_assignment() -> None:
    """Exact, without simulation: of all assignments that could have been drawn, how many would ever stop."""
    rng = np.random.default_rng(1)
    units, looks = 10, 25
    trend = rng.standard_normal((1, units)) * np.linspace(0, 8, looks)[:, None]  # series drift apart
    outcomes = trend + np.cumsum(rng.standard_cauchy((looks, units)), axis=0)
    found = two_arms(outcomes)
    success = crossings(found.effect, spent(found.progress, "success")) >= 0
    harm = crossings(-found.effect, spent(found.progress, "harm")) >= 0
    assert (success | harm).mean() <= ERROR


def test_the_worst_peeker_errs_at_most_as_often_as_said() -> None:
    """Simulated pilots without effect, stopped at the first chance; a plain interval errs several times as often."""
    rng = np.random.default_rng(2)
    pilots, units, looks = 400, 10, 30
    stopped = naive = 0
    for _ in range(pilots):
        noise = rng.standard_t(3, (looks, units)) * np.exp(rng.normal(0, 0.5, units))
        outcomes = np.cumsum(noise, axis=0) / np.arange(1, looks + 1)[:, None] + rng.normal(0, 0.2, units)
        order = rng.permutation(units)
        found = two_arms(outcomes[:, order])
        stopped += any(first_crossing(found, side) is not None for side in ("success", "harm"))
        spread = np.sqrt(4 * outcomes.var(axis=1, ddof=1) / units)
        naive += bool((np.abs(found.estimate) > 1.96 * spread).any())
    assert stopped / pilots <= ERROR + 2 * np.sqrt(ERROR * (1 - ERROR) / pilots)
    assert naive / pilots > 2 * ERROR


def test_bounds_hold_the_gain_at_all_looks_together() -> None:
    rng = np.random.default_rng(3)
    pilots, units, looks, gain = 60, 10, 10, 0.7
    missed = 0
    for _ in range(pilots):
        outcomes = np.cumsum(rng.standard_normal((looks, units)), axis=0) / np.arange(1, looks + 1)[:, None]
        found = two_arms(outcomes)
        treated = np.isin(np.arange(units), np.arange(units // 2)).astype(np.float64)
        shifted = two_arms(outcomes + gain * treated)
        np.testing.assert_allclose(shifted.effect - gain * shifted.overlap, found.effect, atol=1e-9)
        bounds = confidence_sequence(shifted)
        missed += bool((bounds.low > gain).any() or (bounds.high < gain).any())
        assert (bounds.low[1:] >= bounds.low[:-1]).all()
        assert (bounds.high[1:] <= bounds.high[:-1]).all()
    assert missed / pilots <= ERROR + 2 * np.sqrt(ERROR * (1 - ERROR) / pilots)


def test_a_bound_above_zero_and_a_stop_for_success_are_the_same() -> None:
    rng = np.random.default_rng(4)
    for gain in (0.0, 0.6, 1.2, -1.2):
        outcomes = rng.normal(0, 0.5, (12, 12))
        outcomes[:, :6] += gain
        found = two_arms(outcomes)
        bounds = confidence_sequence(found)
        assert (bounds.low[-1] > 0) == (first_crossing(found, "success") is not None)
        assert (bounds.high[-1] < 0) == (first_crossing(found, "harm") is not None)


def test_one_look_is_the_classical_randomisation_test() -> None:
    """Fisher's test at one look: the rank of the observed difference among all assignments."""
    outcomes = np.array([[5.0, 6.0, 7.0, 8.0, 9.0, 0.0, 1.0, 2.0, 3.0, 4.0]])
    found = two_arms(outcomes)
    assert (found.effect[0] >= found.effect[0, 0]).sum() == 1  # of 252
    assert first_crossing(found, "success") == 0
    outcomes[0, [0, 5]] = outcomes[0, [5, 0]]  # now many assignments do better
    assert first_crossing(two_arms(outcomes), "success") is None
