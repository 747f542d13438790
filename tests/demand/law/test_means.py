"""Linear, kernel and boosted means behind one protocol."""

import sys

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from lostsales.demand.censoring.evidence import gather_evidence
from lostsales.demand.law.demand_law import Family
from lostsales.demand.law.estimation import fit_family
from lostsales.demand.law.means import (
    MEANS,
    BoostedMean,
    FitMean,
    LinearMean,
    fit_boosted,
    fit_kernel,
    fit_linear,
)
from lostsales.errors import SettingError
from lostsales.types import Floats
from tests.learn.small import small_log

ROWS = 600


def nonlinear_data(seed: int, rows: int = ROWS) -> tuple[Floats, Floats, Floats]:
    """Inputs of which the third never varies, a latent that bends in the first, and its true mean."""
    rng = np.random.default_rng(seed)
    inputs = np.column_stack([rng.uniform(-2, 2, rows), rng.normal(size=rows), np.full(rows, 4.0)])
    truth = 2 * inputs[:, 0] ** 2 + inputs[:, 1]
    return inputs, truth + rng.normal(0, 0.3, rows), truth


@pytest.fixture(params=MEANS.first)
def fit_mean(request: pytest.FixtureRequest) -> FitMean:
    return MEANS.get(str(request.param))


def test_a_mean_for_every_row_and_the_same_again(fit_mean: FitMean) -> None:
    inputs, latent, _ = nonlinear_data(0)
    mean = fit_mean(inputs, latent, np.ones(ROWS))
    found = mean(inputs)
    assert found.shape == (ROWS,)
    assert found.dtype == np.float64
    assert mean(inputs[:1]) == pytest.approx(found[:1])
    np.testing.assert_allclose(mean(inputs + np.array([0.0, 0.0, 3.0])), found)  # a constant column has no effect
    np.testing.assert_array_equal(fit_mean(inputs, latent, np.ones(ROWS))(inputs), found)


def test_a_weight_of_0_is_absence_and_2_is_a_row_twice(fit_mean: FitMean) -> None:
    """Settings and landmarks are found once and kept over refits, where weights decide all else."""
    inputs, latent, _ = nonlinear_data(1)
    mean = fit_mean(inputs, latent, np.ones(ROWS))
    counts = np.random.default_rng(1).integers(0, 3, ROWS)
    again = np.repeat(np.arange(ROWS), counts)
    weighed = mean.refit(inputs, np.where(counts > 0, latent, 1e3), counts.astype(np.float64))
    repeated = mean.refit(inputs[again], latent[again], np.ones(len(again)))
    off = np.sqrt(np.mean((weighed(inputs) - repeated(inputs)) ** 2))
    # Trees count rows in a leaf whatever they weigh, so they may be off by a part of the noise of 0.3.
    assert off < (0.1 if isinstance(weighed, BoostedMean) else 1e-8)


def test_an_extrapolated_step_is_linear_in_the_means(fit_mean: FitMean) -> None:
    inputs, latent, _ = nonlinear_data(2)
    first = fit_mean(inputs, latent, np.ones(ROWS))
    second = first.refit(inputs, latent + 0.1 * inputs[:, 0] ** 3, np.ones(ROWS))
    wanted = first(inputs) + 3 * (second(inputs) - first(inputs))
    if isinstance(second, BoostedMean):  # trees cannot be extrapolated
        wanted = second(inputs)
    np.testing.assert_allclose(first.extrapolate(second, 3.0)(inputs), wanted, atol=1e-9)


def test_kernel_and_boosted_means_bend_and_a_linear_one_does_not() -> None:
    inputs, latent, _ = nonlinear_data(3)
    fresh, _, truth = nonlinear_data(4)
    errors = [
        float(np.sqrt(np.mean((fit(inputs, latent, np.ones(ROWS))(fresh) - truth) ** 2)))
        for fit in (fit_linear, fit_kernel, fit_boosted)
    ]
    assert errors[0] > 2.0  # the standard deviation of 2 x^2 is 2.4
    assert errors[1] < 0.15
    assert errors[2] < 0.4


def test_kernel_and_boosted_means_of_a_linear_law_are_near_linear() -> None:
    inputs, _, _ = nonlinear_data(5)
    latent = inputs @ [1.0, -2.0, 0.0] + np.random.default_rng(5).normal(0, 0.3, ROWS)
    line = fit_linear(inputs, latent, np.ones(ROWS))(inputs)
    for fit in (fit_kernel, fit_boosted):
        assert np.sqrt(np.mean((fit(inputs, latent, np.ones(ROWS))(inputs) - line) ** 2)) < 0.15


def test_a_mean_of_no_rows_is_empty() -> None:
    inputs, latent, _ = nonlinear_data(5)
    for fit in (fit_linear, fit_kernel, fit_boosted):
        assert fit(inputs, latent, np.ones(ROWS))(inputs[:0]).shape == (0,)


def test_collinear_levels_of_a_category_give_the_least_squares_fit() -> None:
    """Indicators of all levels add up to the intercept: the answer is that of least squares all the same."""
    rng = np.random.default_rng(6)
    level = rng.integers(0, 3, 300)
    inputs = np.column_stack([level[:, None] == np.arange(3), rng.normal(size=300)]).astype(np.float64)
    latent = np.array([1.0, 5.0, 2.0])[level] + inputs[:, 3] + rng.normal(0, 0.1, 300)
    mean = fit_linear(inputs, latent, np.ones(300))
    expected = inputs @ np.linalg.lstsq(inputs, latent, rcond=None)[0]
    np.testing.assert_allclose(mean(inputs), expected, atol=1e-9)


@pytest.mark.parametrize(("mean", "episodes", "off"), [("kernel", 8, 0.04), ("boosted", 100, 0.02)])
def test_richer_means_start_from_the_linear_one_on_censored_rows(mean: str, episodes: int, off: float) -> None:
    """Noise of 0.3, standard error 0.012 from 400 rows; trees are tried from 5,000, as they overfit few."""
    evidence = gather_evidence(small_log("nonlinear", episodes))
    law = fit_family(evidence, Family(mean, True), np.ones(episodes))
    assert not isinstance(law.mean, LinearMean)
    assert law.residuals.spread == pytest.approx(0.3, abs=off)


def test_without_scikit_learn_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    inputs, latent, _ = nonlinear_data(7)
    with pytest.raises(SettingError, match=r"need scikit-learn: pip install 'lostsales\[learners\]'"):
        fit_boosted(inputs, latent, np.ones(ROWS))


def test_slopes_with_a_prior_are_a_ridge_regression_at_the_likeliest_penalty() -> None:
    """Against the marginal likelihood of normal data by scipy, over a grid of the variance of the slopes."""
    rng = np.random.default_rng(0)
    inputs = np.column_stack([rng.normal(size=(80, 6)), rng.choice([3.0, 4.0, 5.0], 80)])
    latent = inputs @ np.r_[rng.normal(0, 0.15, 6), -0.5] + rng.normal(0, 1, 80)
    most = np.r_[np.full(6, 2.0), np.inf]
    found, free = fit_linear(inputs, latent, np.ones(80), most), fit_linear(inputs, latent, np.ones(80))
    noise = float(np.mean((latent - free(inputs)) ** 2))
    others = np.column_stack([np.ones(80), inputs[:, 6]])

    def likelihood(deviation: float) -> float:
        covariance = noise * np.eye(80) + deviation**2 * inputs[:, :6] @ inputs[:, :6].T + 1e4 * others @ others.T
        return float(multivariate_normal(np.zeros(80), covariance).logpdf(latent))

    best = max(np.linspace(0.02, 1, 50), key=likelihood)
    penalty = np.diag(np.r_[0.0, np.full(6, noise / best**2), 0.0])
    design = np.column_stack([np.ones(80), inputs])
    ridge = np.linalg.solve(design.T @ design + penalty, design.T @ latent)
    np.testing.assert_allclose(np.r_[found.intercept, found.slopes], ridge, atol=0.03)
    assert np.abs(found.slopes[:6]).sum() < 0.9 * np.abs(free.slopes[:6]).sum()


def test_a_prior_is_not_felt_where_the_data_tell() -> None:
    rng = np.random.default_rng(1)
    inputs = rng.normal(size=(4000, 2))
    latent = inputs @ [0.8, 1.0] + rng.normal(0, 0.5, 4000)
    found = fit_linear(inputs, latent, np.ones(4000), np.array([1.0, np.inf]))
    np.testing.assert_allclose(found.slopes, fit_linear(inputs, latent, np.ones(4000)).slopes, rtol=2e-3)
    assert found.refit(inputs, latent, np.ones(4000)).prior is found.prior
