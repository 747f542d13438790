"""Counts in compiled code against SciPy and against sums."""

import numpy as np
import pytest
from scipy.stats import gamma, nbinom, norm, poisson

from lostsales.demand.model.counts import (
    chance_at_least,
    count_quantile,
    demand_at_least,
    drawn_at_least,
    gamma_quantile,
    log_scores,
    quantiles,
)


def test_quantiles_are_those_of_the_negative_binomial_law() -> None:
    rng = np.random.default_rng(0)
    mean = rng.gamma(1, 8, 500)
    variance = mean * (1 + rng.gamma(1, 1, 500))
    for level in (0.05, 0.5, 0.833, 0.99):
        expected = nbinom.ppf(level, mean**2 / (variance - mean), mean / variance)
        np.testing.assert_array_equal(quantiles(level, mean, variance, True), expected)


def test_without_excess_the_law_is_poissons() -> None:
    for mean in (0.1, 3.0, 50.0):
        assert count_quantile(0.9, mean, mean) == poisson.ppf(0.9, mean)
    assert count_quantile(0.9, 0.0, 0.0) == 0


@pytest.mark.parametrize("level", [0.1, 0.5, 0.9])
def test_large_means_and_weights_have_gamma_quantiles(level: float) -> None:
    assert count_quantile(level, 3000.0, 9000.0) == pytest.approx(nbinom.ppf(level, 1500, 1 / 3), rel=2e-3)
    assert gamma_quantile(norm.ppf(level), 2.0, 1.0) == pytest.approx(gamma.ppf(level, 4, scale=0.5), rel=0.01)


@pytest.mark.parametrize(
    ("least", "mean", "variance"), [(1, 0.5, 0.8), (3, 2.0, 3.0), (10, 5.0, 20.0), (60, 40.0, 90.0)]
)
def test_a_bound_is_read_as_the_sum_over_counts_says(least: int, mean: float, variance: float) -> None:
    counts = np.arange(5000)
    chance = nbinom.pmf(counts, mean**2 / (variance - mean), mean / variance)
    above = counts >= least
    expected = (counts * chance)[above].sum() / chance[above].sum()
    left = ((counts - expected) ** 2 * chance)[above].sum() / chance[above].sum()
    found, known = demand_at_least(float(least), mean, variance, True)
    assert found == pytest.approx(expected, rel=1e-9)
    assert known == pytest.approx(max(1 - left / variance, 0), rel=1e-6)
    assert chance_at_least(float(least), mean, variance, True) == pytest.approx(chance[above].sum(), rel=1e-9)


def test_no_bound_tells_nothing_and_a_far_one_all() -> None:
    assert demand_at_least(0.0, 5.0, 8.0, True) == (5.0, 0.0)
    assert demand_at_least(2.0, 6.0, 60.0, True) == (6.0, 0.0)  # a third of the mean
    found, known = demand_at_least(2000.0, 1000.0, 1500.0, True)
    assert 2000 <= found < 2010
    assert known == pytest.approx(1.0, abs=0.02)


def test_weights_are_read_by_a_normal_law() -> None:
    found, _ = demand_at_least(3.0, 2.0, 1.0, False)
    assert found == pytest.approx(2 + norm.pdf(1) / norm.sf(1), rel=1e-9)


def test_scores_are_log_likelihoods_up_to_a_constant() -> None:
    demand, seen = np.array([3.0, 3.0, 4.0, 9.0]), np.array([True, True, True, False])
    mean, variance = np.array([2.0, 4.0, 4.0, 4.0]), np.array([3.0, 8.0, 8.0, 8.0])
    censored = np.array([False, False, True, False])
    found = log_scores(demand, mean, variance, seen, censored, True)
    size, p = mean**2 / (variance - mean), mean / variance
    expected = nbinom.logpmf(demand, size, p)
    assert found[1] - found[0] == pytest.approx(expected[1] - expected[0])
    assert found[2] == pytest.approx(nbinom.logsf(3, size[2], p[2]))
    assert found[3] == 0


def test_drawn_demands_follow_the_law_above_the_bound() -> None:
    rng, n = np.random.default_rng(1), 20_000
    least, mean, variance = np.full(n, 6.0), np.full(n, 5.0), np.full(n, 9.0)
    drawn = drawn_at_least(least, mean, variance, rng.uniform(size=n), True)
    assert drawn.min() == 6
    assert drawn.mean() == pytest.approx(demand_at_least(6.0, 5.0, 9.0, True)[0], abs=0.05)
