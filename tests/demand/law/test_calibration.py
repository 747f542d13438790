"""Calibration with stock-outs: no false alarms under the true law, an alarm under wrong ones."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import poisson

from lostsales.demand.censoring.evidence import Evidence, gather_evidence
from lostsales.demand.law.calibration import Calibration, calibrate, seasonal_departures
from lostsales.demand.law.demand_law import DemandLaw, Family
from lostsales.demand.law.latents import complete_latents
from lostsales.demand.law.means import LinearMean
from lostsales.demand.law.residuals import Residuals
from lostsales.demand.law.selection import fit_law
from lostsales.types import Floats
from tests.demand.logs import log_of_draws
from tests.learn.small import small_log

LINEAR = Family("linear", False)
SEEDS = 60
# The mean and the spread of demand are right, but today's does not depend on yesterday's.
NO_MEMORY = {"mean": LinearMean(22.9, np.array([2.0, -0.6, -3.0, 0.0])), "residuals": Residuals.normal(4.5)}


def true_law(series: int) -> DemandLaw:
    """Of `steady`."""
    mean = LinearMean(15.35, np.array([2.0, -0.6, -3.0, 0.8]))
    ones = np.ones(series)
    return DemandLaw(LINEAR, mean, Residuals.normal(3.0), True, 0.1, ones, np.zeros(series), 30.0, ones)


def calibrated(evidence: Evidence, law: DemandLaw, seed: int = 0) -> Calibration:
    done = complete_latents(evidence, law, seed)
    return calibrate(evidence, (done.below, done.within), seed)


def test_under_the_true_law_p_values_are_uniform() -> None:
    """60 logs of `steady`, two rows of five hidden: 5 % of the logs lie below p = 0.05, at most 9 with chance 0.999."""
    found = [
        calibrated(gather_evidence(small_log("steady", 8, seed)), true_law(8), seed) for seed in range(300, 300 + SEEDS)
    ]
    for name in ("p_value", "correlation_p_value", "memory_p_value"):
        chances = np.array([getattr(each, name) for each in found])
        assert (chances < 0.05).sum() <= 9
        assert abs(chances.mean() - 0.5) < 3.3 / np.sqrt(12 * SEEDS)  # uniform p-values
    assert sum(not each.fits for each in found) <= 1  # three tests at 0.001 each: 0.18 are expected
    pooled = np.mean([each.shares for each in found], axis=0)  # 24,000 rows
    np.testing.assert_allclose(pooled, 0.1, atol=0.01)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"residuals": Residuals.normal(4.5)}, "its probabilities are off"),
        ({"residuals": Residuals.normal(2.0)}, "its probabilities are off"),
        ({"mean": LinearMean(17.35, np.array([2.0, -0.6, -3.0, 0.8]))}, "its probabilities are off"),
        (NO_MEMORY, "its residuals are autocorrelated (corr"),
    ],
)
def test_a_wrong_law_is_reported_with_its_reason(change: dict[str, object], reason: str) -> None:
    evidence = gather_evidence(small_log("steady", 30, 5))
    assert calibrated(evidence, true_law(30)).fits
    wrong = calibrated(evidence, replace(true_law(30), **change))  # type: ignore[arg-type]
    assert not wrong.fits
    assert reason in wrong.reason


def test_the_transform_of_a_stock_out_is_uniform_above_what_was_available() -> None:
    """An uninformative row, of an empty shop, is not counted."""
    evidence = gather_evidence(
        log_of_draws(np.array([[4.0, 9.0, 2.0, 5.0]]), np.array([[8.0, 6.0, 8.0, 0.0]]), flag=False)
    )
    law = replace(true_law(1), mean=LinearMean(5.0, np.zeros(2)))
    done = complete_latents(evidence, law)
    found = calibrate(evidence, (done.below, done.within))
    assert done.below[0] == pytest.approx(law.residuals.below(np.array([0.5]))[0])  # 6 and more
    assert done.below[0] + done.within[0] == pytest.approx(1.0)
    assert ((done.below <= found.pit) & (found.pit <= done.below + done.within)).all()
    np.testing.assert_array_equal(evidence.is_informative, [True, True, False])
    assert sorted(found.shares)[-2:] == [0.5, 0.5] or found.shares.max() == 1.0


def regimes(seed: int) -> Floats:
    """20 series of 100 periods whose level jumps between two, hidden and lasting 50 periods."""
    rng = np.random.default_rng(seed)
    high = rng.random(20) < 0.5
    demand = np.empty((20, 100))
    for period in range(100):
        high ^= rng.random(20) < 0.02
        demand[:, period] = np.rint(np.maximum(np.where(high, 11, 8) + rng.normal(0, 2, 20), 0))
    return demand


def test_a_hidden_regime_outside_a_family_gives_a_warning() -> None:
    """It moves demand by less than the last demand could tell; the same demands in no order raise no alarm.

    Three of the last demands tell more of it: with longer memory such a regime may pass.
    """
    for seed in range(50, 53):
        demand = regimes(seed)
        available = np.rint(np.random.default_rng(seed).uniform(6, 24, demand.shape))
        warned = fit_law(log_of_draws(demand, available), (LINEAR,)).warnings
        assert [
            each for each in warned if "does not fit: its residuals are autocorrelated over several periods" in each
        ]
        mixed = np.random.default_rng(seed).permuted(demand, axis=1)
        assert fit_law(log_of_draws(mixed, available), (LINEAR,)).calibration.fits


@pytest.mark.slow
def test_fitted_models_of_the_presets_are_calibrated() -> None:
    """On rows held out, over 20 logs each; an alarm wants p < 0.001 and an effect that matters."""
    for name in ("paper", "steady", "nonlinear"):
        fits = [fit_law(small_log(name, 12, seed)).calibration.fits for seed in range(400, 420)]
        assert np.mean(fits) >= 0.9


@pytest.mark.parametrize("weekend", [1.0, 1.5])
def test_a_missed_weekend_is_named(weekend: float) -> None:
    """Transforms of Poisson demand under its mean over the week, three products of 200 days."""
    days = np.tile(np.datetime64("2026-01-05") + np.arange(200), 3)
    rng = np.random.default_rng(9)
    factor = np.where(np.tile(np.arange(200) % 7 >= 5, 3), weekend, 1.0)
    demand = rng.poisson(12 * factor)
    mean = 12 * factor.mean()
    pit = poisson.cdf(demand - 1, mean) + rng.random(len(demand)) * poisson.pmf(demand, mean)
    found = seasonal_departures(pit, days)
    if weekend == 1.0:
        assert found == ()
    else:
        assert len(found) == 1
        assert "weekday" in found[0]
        assert "above" in found[0]
        assert "Saturday" in found[0] or "Sunday" in found[0]
    assert seasonal_departures(pit, np.tile(np.arange(200), 3)) == ()
