"""The law of what a mean leaves open: Kaplan-Meier's where rows are censored, smooth, and near normal where few."""

import numpy as np
import pytest
from scipy.stats import gamma, norm

from lostsales.demand.censoring.evidence import gather_evidence
from lostsales.demand.law.demand_law import Family
from lostsales.demand.law.estimation import fit_family
from lostsales.demand.law.residuals import FLOOR, NORMAL_ROWS, Residuals, _count
from lostsales.demand.survival.curve import kaplan_meier
from lostsales.errors import LostSalesError
from tests.demand.logs import log_of_draws


@pytest.mark.parametrize("seed", [0, 1])
def test_with_observed_lags_it_is_kaplan_meier_of_the_censored_residuals(seed: int) -> None:
    """Self-consistency: completing by draws from a law ends at the product-limit estimator, here smoothed.

    Two periods a series, so that every lag is known; half of the second demands are hidden. Smoothing by half the rule
    of thumb, h, moves a distribution by at most 0.4 h times its highest density.
    """
    rows, rng = 20_000, np.random.default_rng(seed)
    noise = gamma(1.5, scale=2.0)  # skewed: 0.1 from the normal law of its spread
    first, price = rng.uniform(5, 25, rows), rng.choice([3.0, 4.0, 5.0], (rows, 2))
    second = 8 + 0.4 * first - 1.5 * price[:, 1] + noise.rvs(rows, random_state=rng)
    available = np.column_stack([np.full(rows, 1e3), rng.uniform(0, 22, rows)])
    evidence = gather_evidence(log_of_draws(np.column_stack([first, second]), available, price=price))
    assert evidence.is_censored.mean() > 0.45
    law = fit_family(evidence, Family("linear", False), np.ones(rows))

    shown = np.where(evidence.is_censored, evidence.low, (evidence.low + evidence.high) / 2)
    left = shown - law.mean(law.inputs(evidence.market, evidence.price, evidence.lag))
    grid = law.residuals.grid
    grid = grid[grid < np.quantile(left[~evidence.is_censored], 0.99)]
    shift = 100.0  # survival curves start at 0
    product_limit = 1 - kaplan_meier(left + shift, ~evidence.is_censored, integer=False)(grid + shift)
    normal = norm.cdf(grid / law.residuals.spread)
    own = (1 - FLOOR) * rows / (rows + NORMAL_ROWS)  # the rest is normal by design
    smoothing = 0.5 * 0.9 * law.residuals.spread * rows**-0.2
    allowed = 0.4 * smoothing * noise.pdf(np.linspace(0.01, 10, 1000)).max()
    assert np.abs(law.residuals.below(grid) - own * product_limit - (1 - own) * normal).max() < allowed
    assert allowed < 0.016
    assert np.abs(product_limit - normal).max() > 0.1


def test_a_weight_is_a_count_and_0_is_absence() -> None:
    rng = np.random.default_rng(2)
    values, counts = rng.gamma(2.0, size=300), rng.integers(0, 3, 300)
    weighed = Residuals.of(values, counts.astype(np.float64))
    repeated = Residuals.of(np.repeat(values, counts), np.ones(counts.sum()))
    np.testing.assert_allclose(weighed.grid, repeated.grid)
    np.testing.assert_allclose(weighed.cdf, repeated.cdf, atol=1e-12)


def test_few_rows_are_nearly_normal_and_many_keep_their_shape() -> None:
    noise = gamma(1.5, loc=-1.5)
    off = []
    for rows in (30, 30_000):
        law = Residuals.of(noise.ppf((np.arange(rows) + 0.5) / rows), np.ones(rows))
        off.append(np.abs(law.below(law.grid) - norm.cdf(law.grid, law.mean, law.spread)).max())
    assert off[0] < 0.02
    assert off[1] > 0.08


def test_quantiles_moments_and_atoms_agree() -> None:
    law = Residuals.of(np.random.default_rng(3).normal(1.0, 2.0, 5_000), np.ones(5_000))
    shares = np.linspace(0.01, 0.99, 50)
    np.testing.assert_allclose(law.below(law.quantile(shares)), shares, atol=1e-9)
    assert law.cdf[0] == 0.0
    assert law.cdf[-1] == pytest.approx(1.0)
    assert (np.diff(law.cdf) > 0).all()  # nothing near the data is impossible
    assert law.mean == pytest.approx(1.0, abs=0.1)
    assert law.spread == pytest.approx(2.0, rel=0.03)
    assert law.atoms(32).mean() == pytest.approx(law.mean, abs=0.01)
    assert (np.diff(law.atoms(32)) > 0).all()
    normal = Residuals.normal(3.0)
    assert normal.mean == pytest.approx(0.0, abs=1e-9)
    assert normal.spread == pytest.approx(3.0, rel=1e-3)


def test_numbers_beyond_reckoning_are_one_clear_error() -> None:
    with pytest.raises(LostSalesError, match="too far apart in size"):
        Residuals.of(np.array([1.0, np.nan]), np.ones(2))


def test_bins_are_those_of_numpy_and_take_what_lies_beyond() -> None:
    rng = np.random.default_rng(4)
    edges = 0.3 + 1.7 * np.linspace(-9, 9, 65)
    values = np.r_[edges, np.nextafter(edges, np.inf), np.nextafter(edges, -np.inf), rng.normal(0, 8, 2_000), -1e9, 1e9]
    weights, counts = rng.random(len(values)), np.zeros(64)
    _count(values, weights, edges, counts)
    expected = np.histogram(np.clip(values, edges[0], edges[-1]), edges, weights=weights)[0]
    np.testing.assert_allclose(counts, expected, rtol=1e-9)
