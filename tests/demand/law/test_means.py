"""Linear, kernel and boosted means behind one protocol."""

import sys

import numpy as np
import pytest

from lostsales.demand.censoring.evidence import gather
from lostsales.demand.law.estimation import MEANS, Family, FitMean, fit_family
from lostsales.demand.law.means import BoostedMean, LinearMean, Mean, fit_boosted, fit_kernel, fit_linear
from lostsales.errors import SettingError
from lostsales.types import Floats
from tests.learn.small import small_log

ROWS = 600


def bent(seed: int, rows: int = ROWS) -> tuple[Floats, Floats, Floats]:
    """Inputs of which the third never varies, a latent that bends in the first, and its true mean."""
    rng = np.random.default_rng(seed)
    inputs = np.column_stack([rng.uniform(-2, 2, rows), rng.normal(size=rows), np.full(rows, 4.0)])
    truth = 2 * inputs[:, 0] ** 2 + inputs[:, 1]
    return inputs, truth + rng.normal(0, 0.3, rows), truth


@pytest.fixture(params=list(MEANS))
def fit_mean(request: pytest.FixtureRequest) -> FitMean:
    return MEANS[str(request.param)]


def test_a_mean_for_every_row_and_the_same_again(fit_mean: FitMean) -> None:
    inputs, latent, _ = bent(0)
    mean = fit_mean(inputs, latent, np.ones(ROWS))
    found = mean(inputs)
    assert found.shape == (ROWS,)
    assert found.dtype == np.float64
    assert mean(inputs[:1]) == pytest.approx(found[:1])
    np.testing.assert_allclose(
        mean(inputs + np.array([0.0, 0.0, 3.0])), found
    )  # what never varied has no say when it does
    np.testing.assert_array_equal(fit_mean(inputs, latent, np.ones(ROWS))(inputs), found)


def near(left: Mean, right: Mean, inputs: Floats) -> None:
    """The same; trees count rows in a leaf whatever they weigh, so they may be off by a part of the noise of 0.3."""
    off = left(inputs) - right(inputs)
    assert np.sqrt(np.mean(off**2)) < (0.1 if isinstance(left, BoostedMean) else 1e-8)


def test_a_weight_of_0_is_absence_and_2_is_a_row_twice(fit_mean: FitMean) -> None:
    """Settings and landmarks are found once and kept over refits, where weights decide all else."""
    inputs, latent, _ = bent(1)
    mean = fit_mean(inputs, latent, np.ones(ROWS))
    counts = np.random.default_rng(1).integers(0, 3, ROWS)
    again = np.repeat(np.arange(ROWS), counts)
    weighed = mean.refit(inputs, np.where(counts > 0, latent, 1e3), counts.astype(np.float64))
    repeated = mean.refit(inputs[again], latent[again], np.ones(len(again)))
    near(weighed, repeated, inputs)


def test_a_step_beyond_goes_on_the_same_way(fit_mean: FitMean) -> None:
    inputs, latent, _ = bent(2)
    first = fit_mean(inputs, latent, np.ones(ROWS))
    second = first.refit(inputs, latent + 0.1 * inputs[:, 0] ** 3, np.ones(ROWS))
    wanted = first(inputs) + 3 * (second(inputs) - first(inputs))
    if isinstance(second, BoostedMean):  # trees cannot leap
        wanted = second(inputs)
    np.testing.assert_allclose(first.beyond(second, 3.0)(inputs), wanted, atol=1e-9)


def test_kernel_and_boosted_means_bend_and_a_linear_one_does_not() -> None:
    inputs, latent, _ = bent(3)
    fresh, _, truth = bent(4)
    errors = [
        float(np.sqrt(np.mean((fit(inputs, latent, np.ones(ROWS))(fresh) - truth) ** 2)))
        for fit in (fit_linear, fit_kernel, fit_boosted)
    ]
    assert errors[0] > 2.0  # the standard deviation of 2 x^2 is 2.4
    assert errors[1] < 0.15
    assert errors[2] < 0.4


def test_where_nothing_bends_kernel_and_trees_stay_near_the_line() -> None:
    inputs, _, _ = bent(5)
    latent = inputs @ [1.0, -2.0, 0.0] + np.random.default_rng(5).normal(0, 0.3, ROWS)
    line = fit_linear(inputs, latent, np.ones(ROWS))(inputs)
    for fit in (fit_kernel, fit_boosted):
        assert np.sqrt(np.mean((fit(inputs, latent, np.ones(ROWS))(inputs) - line) ** 2)) < 0.15


def test_levels_of_a_category_share_what_they_say() -> None:
    """Indicators of all levels add up to the intercept: the answer is that of least squares all the same."""
    rng = np.random.default_rng(6)
    level = rng.integers(0, 3, 300)
    inputs = np.column_stack([level[:, None] == np.arange(3), rng.normal(size=300)]).astype(np.float64)
    latent = np.array([1.0, 5.0, 2.0])[level] + inputs[:, 3] + rng.normal(0, 0.1, 300)
    mean = fit_linear(inputs, latent, np.ones(300))
    expected = inputs @ np.linalg.lstsq(inputs, latent, rcond=None)[0]
    np.testing.assert_allclose(mean(inputs), expected, atol=1e-9)


@pytest.mark.parametrize(("mean", "episodes", "off"), [("kernel", 8, 0.04), ("boosted", 100, 0.02)])
def test_richer_means_go_on_from_the_line_on_censored_rows(mean: str, episodes: int, off: float) -> None:
    """Noise of 0.3, standard error 0.012 from 400 rows; trees are tried from 5,000, as they know few by heart."""
    evidence = gather(small_log("nonlinear", episodes))
    law = fit_family(evidence, Family(mean, True), np.ones(episodes))
    assert not isinstance(law.mean, LinearMean)
    assert law.residuals.spread == pytest.approx(0.3, abs=off)


def test_without_scikit_learn_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    inputs, latent, _ = bent(7)
    with pytest.raises(SettingError, match=r"need scikit-learn: pip install 'lostsales\[learners\]'"):
        fit_boosted(inputs, latent, np.ones(ROWS))
