"""Laws of counts: against scipy and statsmodels where nothing is hidden, else against enumeration and the truth."""

import math
from dataclasses import replace
from typing import Literal

import numpy as np
import pytest
from scipy.stats import nbinom, poisson

from lostsales.demand.censoring.evidence import Evidence, gather_evidence
from lostsales.demand.law import count_loops
from lostsales.demand.law.demand_law import DemandLaw, Family
from lostsales.demand.law.dispersion import fit_dispersion
from lostsales.demand.law.estimation import fit_family
from lostsales.demand.law.latents import complete_latents
from lostsales.demand.law.means import LinearMean
from lostsales.demand.law.selection import fit_law
from lostsales.types import Floats
from tests.demand.logs import log_of_draws

Noise = Literal["poisson", "negative-binomial"]
LAWS = [(0.3, 0.0), (1.0, 0.8), (7.0, 0.0), (3000.0, 0.0), (2500.0, 0.3), (1e-3, 0.5)]


def of_scipy(mean: float, dispersion: float):  # type: ignore[no-untyped-def]
    return poisson(mean) if dispersion == 0 else nbinom(1 / dispersion, 1 / (1 + dispersion * mean))


@pytest.mark.parametrize(("mean", "dispersion"), LAWS)
def test_chances_and_quantiles_are_those_of_scipy(mean: float, dispersion: float) -> None:
    law = of_scipy(mean, dispersion)
    for first in {0.0, 2.0, float(int(mean)), float(int(1.1 * mean) + 1), float(int(5 * mean))}:
        above = count_loops.chance_between(first, math.inf, mean, dispersion)
        assert above == pytest.approx(law.sf(first - 1), rel=1e-8, abs=1e-300)
        assert count_loops.chance_below(first, mean, dispersion) == pytest.approx(law.cdf(first - 1), abs=1e-9)
        exactly = count_loops.chance_between(first, first, mean, dispersion)
        assert exactly == pytest.approx(law.pmf(first), rel=1e-8, abs=1e-300)
    share, found = np.random.default_rng(0).random(500), np.empty(500)
    count_loops.count_quantiles(share, np.full(500, mean), dispersion, found)
    np.testing.assert_array_equal(found, law.ppf(share))


@pytest.mark.parametrize(("mean", "dispersion"), LAWS)
def test_atoms_are_means_of_equal_shares(mean: float, dispersion: float) -> None:
    atoms = np.empty((1, 32))
    count_loops.count_atoms(np.array([mean]), dispersion, atoms)
    assert atoms.mean() == pytest.approx(mean, rel=1e-6)
    assert (np.diff(atoms[0]) >= 0).all()
    fine = of_scipy(mean, dispersion).ppf((np.arange(32_000) + 0.5) / 32_000).reshape(32, 1000).mean(axis=1)
    np.testing.assert_allclose(atoms[0, :-1], fine[:-1], atol=1e-3 * (1 + mean))


def draws(noise: Noise, seed: int, level: float, hidden: float, series: int = 60, periods: int = 100) -> Evidence:
    """Counts of mean exp(level - 0.3 (price - 4) + 0.3 log(last demand + 1)), of which about a share is hidden."""
    rng = np.random.default_rng(seed)
    price = rng.choice([3.0, 4.0, 5.0], (series, periods))
    demand, last = np.empty((series, periods)), np.full(series, np.exp(level))
    for t in range(periods):
        mean = np.exp(level - 0.3 * (price[:, t] - 4) + 0.3 * np.log(last + 1))
        size = mean if noise == "poisson" else mean * rng.gamma(2.0, 0.5, series)  # a dispersion of 0.5
        last = demand[:, t] = rng.poisson(size)
    middle = float(np.quantile(demand, 1 - hidden))
    available = np.full(demand.shape, 1e6) if not hidden else np.rint(middle * rng.uniform(0.2, 1.4, demand.shape))
    if hidden and middle < 1:
        available = rng.choice([0.0, 1.0, 3.0], demand.shape, p=[0.7, 0.2, 0.1])
    return gather_evidence(log_of_draws(demand, available, price=price))


def coefficients(law: DemandLaw) -> Floats:
    """Level at a price of 4, slopes on price and last demand, and the dispersion."""
    assert isinstance(law.mean, LinearMean)
    slopes = law.mean.slopes
    level = law.mean.intercept + np.log(law.scale[0]) + 4 * slopes[-2]
    return np.array([level, *slopes[-2:], law.dispersion])


@pytest.mark.parametrize("noise", ["poisson", "negative-binomial"])
def test_without_censoring_it_is_the_maximum_likelihood_of_statsmodels(noise: Noise) -> None:
    from statsmodels.discrete.discrete_model import NegativeBinomial, Poisson

    evidence = draws(noise, 3, 0.5, hidden=0.0, series=20)
    law = fit_family(evidence, Family.counts("linear", noise), np.ones(20))
    count = np.rint((np.maximum(evidence.low, -0.5) + evidence.high) / 2)
    design = np.column_stack([np.ones(len(count)), evidence.price, np.log(evidence.lag + law.near_zero)])
    model = Poisson(count, design) if noise == "poisson" else NegativeBinomial(count, design, loglike_method="nb2")
    wanted = model.fit(method="bfgs", maxiter=500, gtol=1e-8, disp=False)
    assert isinstance(law.mean, LinearMean)
    own = np.r_[law.mean.intercept, law.mean.slopes, *([law.dispersion] if noise != "poisson" else [])]
    # Iterations stop within 0.005 standard deviations of demand, some 3 % of a standard error of these.
    np.testing.assert_array_less(np.abs(own - wanted.params) / wanted.bse, 0.05)


def test_the_dispersion_is_a_maximum_of_the_likelihood() -> None:
    rng = np.random.default_rng(0)
    mean = rng.uniform(0.2, 20, 4000)
    count = rng.poisson(mean * rng.gamma(2.5, 0.4, 4000)).astype(float)
    level = rng.integers(0, 15, 4000)
    above = count > level
    low = np.where(above, level + 0.5, count - 0.5)
    found = fit_dispersion(low, np.where(above, np.inf, count + 0.5), mean, np.ones(4000))
    assert found == pytest.approx(0.4, rel=0.15)

    def likelihood(dispersion: float) -> float:
        law = nbinom(1 / dispersion, 1 / (1 + dispersion * mean))
        return float(np.where(above, law.logsf(low), law.logpmf(count)).sum())

    assert likelihood(found) >= max(likelihood(found * 1.001), likelihood(found * 0.999))


# Level, price, last demand, dispersion: three standard deviations over some logs of other seeds (100 and on).
ALLOWED = {
    ("poisson", -1.0): (0.06, 0.06, 0.16, 1e-9),
    ("poisson", 0.5): (0.08, 0.06, 0.07, 1e-9),
    ("negative-binomial", -1.0): (0.04, 0.06, 0.17, 0.17),
    ("negative-binomial", 0.5): (0.15, 0.06, 0.13, 0.11),
}


@pytest.mark.parametrize("noise", ["poisson", "negative-binomial"])
@pytest.mark.parametrize("level", [-1.0, 0.5])
def test_coefficients_and_dispersion_come_out_of_much_censored_data(noise: Noise, level: float) -> None:
    """Two fifths and more of the rows hide their demand; at a mean of 0.4, most of those in which there was any."""
    series = 60 if level > 0 else 240
    evidence = draws(noise, 1, level, hidden=0.5, series=series)
    assert evidence.is_censored.mean() > (0.4 if level > 0 else 0.2)
    law = fit_family(evidence, Family.counts("linear", noise), np.ones(series))
    wanted = np.array([level, -0.3, 0.3, 0.0 if noise == "poisson" else 0.5])
    off = np.abs(coefficients(law) - wanted)
    assert law.near_zero == 1
    np.testing.assert_array_less(off, ALLOWED[noise, level])


def test_counts_in_thousands() -> None:
    rng = np.random.default_rng(0)
    price = rng.choice([3.0, 4.0, 5.0], (20, 60))
    demand = rng.poisson(4000 * np.exp(-0.3 * (price - 4)) * rng.gamma(20, 1 / 20, price.shape)).astype(float)
    available = np.rint(rng.uniform(2000, 7000, demand.shape))
    evidence = gather_evidence(log_of_draws(demand, available, price=price))
    assert evidence.is_censored.mean() > 0.3
    law = fit_family(evidence, Family.counts("linear", "negative-binomial"), np.full(20, 4000.0))
    assert coefficients(law)[1] == pytest.approx(-0.3, abs=0.02)
    assert law.dispersion == pytest.approx(1 / 20, rel=0.15)


@pytest.mark.parametrize("dispersion", [0.0, 0.6])
def test_the_score_after_a_stock_out_sums_over_the_hidden_demand(dispersion: float) -> None:
    """P(D_2 = 4 | D_1 > 2) by enumeration of the hidden demand."""
    evidence = gather_evidence(log_of_draws(np.array([[3.0, 9.0, 4.0]]), np.array([[10.0, 2.0, 10.0]])))
    law = fit_family(draws("poisson", 0, 0.5, 0.0, 4, 20), Family.counts("linear", "poisson"), np.ones(4))
    law = replace(
        law.of_series(np.zeros(1, np.int64)), mean=LinearMean(0.3, np.array([0.0, 0.6])), dispersion=dispersion
    )

    def mean(last: Floats) -> Floats:
        return np.exp(0.3 + 0.6 * np.log(last + law.near_zero))

    hidden = np.arange(3.0, 400.0)
    first = of_scipy(float(mean(np.array([3.0]))[0]), dispersion).pmf(hidden)
    second = np.array([of_scipy(float(each), dispersion).pmf(4) for each in mean(hidden)])
    done = complete_latents(evidence, law, draws=4_000)
    assert done.score[0] == pytest.approx(np.log(first.sum()), abs=1e-9)
    assert done.score[1] == pytest.approx(np.log(first @ second / first.sum()), abs=0.01)
    posterior = first * second / (first @ second)
    assert (done.latent[0] * law.scale[0]).mean() == pytest.approx(float(posterior @ hidden), rel=0.03)


@pytest.mark.parametrize(("noise", "level"), [("poisson", 0.0), ("negative-binomial", -0.5)])
def test_the_held_out_score_takes_counts_for_counts(noise: Noise, level: float) -> None:
    rng = np.random.default_rng(4)
    price = rng.choice([3.0, 4.0, 5.0], (12, 80))
    mean = np.exp(level - 0.3 * (price - 4))
    demand = rng.poisson(mean if noise == "poisson" else mean * rng.gamma(1.0, 1.0, mean.shape)).astype(float)
    model = fit_law(log_of_draws(demand, np.rint(rng.uniform(0, 4, demand.shape)), price=price))
    assert model.family.is_count
    assert noise == "poisson" or model.family.noise == noise
    assert model.calibration.fits


def test_products_share_a_law_of_counts_with_levels_of_their_own() -> None:
    """20 products whose levels differ by 0.5: from 40 rows each, drawn towards the mean of all."""
    rng = np.random.default_rng(2)
    level, price = rng.normal(0.5, 0.5, (20, 1)), rng.choice([3.0, 4.0, 5.0], (20, 40))
    demand = rng.poisson(np.exp(level - 0.3 * (price - 4))).astype(float)
    evidence = gather_evidence(log_of_draws(demand, np.rint(rng.uniform(0, 8, demand.shape)), price=price))
    law = fit_family(evidence, Family.counts("linear", "poisson"), np.ones(20))
    own = law.level - law.level.mean()
    off = own - (level[:, 0] - level.mean())
    assert np.corrcoef(own, level[:, 0])[0, 1] > 0.9
    assert np.sqrt(np.mean(off**2)) < 0.25
