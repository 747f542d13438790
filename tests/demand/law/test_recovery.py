"""What each family of laws learns from much censored draws of itself, beside counts and additive noise."""

from collections.abc import Callable

import numpy as np
import pytest

from lostsales.demand.censoring.evidence import Evidence, gather_evidence
from lostsales.demand.law.demand_law import Family
from lostsales.demand.law.estimation import fit_family
from lostsales.demand.law.means import LinearMean
from lostsales.types import Floats
from tests.demand.logs import log_of_draws

SERIES, PERIODS = 40, 75
PRICES = np.array([3.0, 4.0, 5.0])


Draw = Callable[[Floats, Floats, np.random.Generator], Floats]


def censored(draw: Draw, seed: int, start: float, most: float) -> Evidence:
    """Draws of a law of price and last demand, hidden above a level that varies up to `most`."""
    rng = np.random.default_rng(seed)
    price, last = rng.choice(PRICES, (SERIES, PERIODS)), np.full(SERIES, start)
    demand = np.empty((SERIES, PERIODS))
    for t in range(PERIODS):
        last = demand[:, t] = draw(price[:, t], last, rng)
    evidence = gather_evidence(log_of_draws(demand, np.rint(rng.uniform(0.2, 1, demand.shape) * most), price=price))
    assert evidence.is_censored.mean() > 0.35
    return evidence


def test_multiplicative_noise() -> None:
    """D = exp(1.8 - 0.3 (price - 4) + N(0, 0.3)) last^0.4: the price, the spread, and the mean at three points."""

    def draw(price: Floats, last: Floats, rng: np.random.Generator) -> Floats:
        return np.exp(1.8 - 0.3 * (price - 4) + 0.4 * np.log(np.maximum(last, 1e-9)) + rng.normal(0, 0.3, len(price)))

    law = fit_family(censored(draw, 1, 20.0, 40.0), Family("linear", True), np.ones(SERIES))
    assert isinstance(law.mean, LinearMean)
    assert law.mean.slopes[0] == pytest.approx(-0.3, abs=0.03)
    assert law.residuals.spread == pytest.approx(0.3, abs=0.03)
    here = law.mean(law.inputs(np.zeros((3, 0)), PRICES, np.array([12.0, 20.0, 30.0]))) + law.residuals.mean
    truth = 1.8 - 0.3 * (PRICES - 4) + 0.4 * np.log([12.0, 20.0, 30.0])
    np.testing.assert_allclose(here, truth, atol=0.06)


@pytest.mark.parametrize("dispersion", [0.0, 0.3])
def test_counts_whose_memory_saturates(dispersion: float) -> None:
    """Mean 12 exp(-0.3 (price - 4)) (0.4 + 1.2 L / (L + 8)): the curve in L, the price and the dispersion."""

    def mean(price: Floats, last: Floats) -> Floats:
        return 12 * np.exp(-0.3 * (price - 4)) * (0.4 + 1.2 * last / (last + 8))

    def draw(price: Floats, last: Floats, rng: np.random.Generator) -> Floats:
        middle = mean(price, last)
        factor = rng.gamma(1 / dispersion, dispersion, len(price)) if dispersion else 1.0
        return rng.poisson(middle * factor).astype(np.float64)

    family = Family.counts("linear", "negative-binomial" if dispersion else "poisson", saturates=True)
    law = fit_family(censored(draw, 2, 12.0, 24.0), family, np.ones(SERIES))
    lags = np.array([4.0, 10.0, 20.0])
    found = law.mean_of(law.inputs(np.zeros((3, 0)), np.full(3, 4.0), lags), np.zeros(3, dtype=np.int64))
    np.testing.assert_allclose(found, mean(np.full(3, 4.0), lags), rtol=0.08)
    assert isinstance(law.mean, LinearMean)
    assert law.mean.slopes[0] == pytest.approx(-0.3, abs=0.04)
    assert law.dispersion == pytest.approx(dispersion, abs=0.06 if dispersion else 1e-9)


@pytest.mark.parametrize("mean", ["linear", "kernel"])
def test_the_logarithm_of_the_mean_with_additive_noise(mean: str) -> None:
    """D = exp(2.6 - 0.3 (price - 4)) + 0 last + N(0, 2): what is expected at each price."""

    def draw(price: Floats, last: Floats, rng: np.random.Generator) -> Floats:  # noqa: ARG001
        return np.maximum(np.exp(2.6 - 0.3 * (price - 4)) + rng.normal(0, 2, len(price)), 0)

    law = fit_family(censored(draw, 3, 14.0, 24.0), Family(mean, False, link="log"), np.ones(SERIES))
    latent = law.mean_of(law.inputs(np.zeros((3, 0)), PRICES, np.full(3, 14.0)), np.zeros(3, dtype=np.int64))
    np.testing.assert_allclose(law.expected(latent, 1.0), np.exp(2.6 - 0.3 * (PRICES - 4)), rtol=0.04)


@pytest.mark.parametrize("multiplicative", [False, True])
def test_a_kernel_mean_bends_where_the_law_does(multiplicative: bool) -> None:
    """Demand falls by 8 from price 3 to 4 and hardly from 4 to 5: no line does that."""

    def draw(price: Floats, last: Floats, rng: np.random.Generator) -> Floats:  # noqa: ARG001
        middle = np.select([price == 3, price == 4], [20.0, 12.0], 11.0)
        noise = rng.normal(0, 0.15 if multiplicative else 2.0, len(price))
        return middle * np.exp(noise - 0.15**2 / 2) if multiplicative else np.maximum(middle + noise, 0)

    evidence = censored(draw, 4, 14.0, 24.0)
    law = fit_family(evidence, Family("kernel", multiplicative), np.ones(SERIES))
    latent = law.mean_of(law.inputs(np.zeros((3, 0)), PRICES, np.full(3, 14.0)), np.zeros(3, dtype=np.int64))
    np.testing.assert_allclose(law.expected(latent, 1.0), [20.0, 12.0, 11.0], rtol=0.06)
