"""The law of demand from censored rows: exact where nothing is hidden, in closed form where a normal demand is."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.stats import norm, truncnorm

from lostsales.demand.censoring.evidence import Evidence, gather_evidence
from lostsales.demand.law.demand_law import DemandLaw, Family
from lostsales.demand.law.estimation import fit_family, with_levels
from lostsales.demand.law.latents import complete_latents
from lostsales.demand.law.means import LinearMean
from lostsales.demand.law.residuals import Residuals
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import simulate
from lostsales.types import Floats
from tests.demand.logs import log_of_draws, partly_out
from tests.learn.small import small_log

LINEAR = Family("linear", False)


def slopes_of(law: DemandLaw) -> Floats:
    """Intercept and slopes, the mean of the residuals in the former."""
    assert isinstance(law.mean, LinearMean)
    return np.asarray(np.r_[law.mean.intercept + law.residuals.mean, law.mean.slopes])


# Coefficients from 20,000 rows: intercept with the mean of the noise, economy, interest (which hardly varies in
# `released`), price, last demand; then the spread of the noise. Allowed: three standard errors, the standard deviation
# over 12 other logs, and what is known to be systematic: rounds stop a little early, and the noise is smoothed.
TRUTH = {
    "paper": (15.35, 2.0, -0.6, -3.0, 0.8, 3.0),
    "steady": (15.35, 2.0, -0.6, -3.0, 0.8, 3.0),
    "released": (3.5 + np.sqrt(2 / np.pi), 5.0, np.nan, -1.5, 1.2, np.sqrt(1 - 2 / np.pi)),
}
ERRORS = {
    "paper": (0.53, 0.028, 0.024, 0.12, 0.0052, 0.02),
    "steady": (0.61, 0.031, 0.015, 0.14, 0.0053, 0.02),
    "released": (0.032, 0.018, np.nan, 0.007, 0.002, 0.006),
}
SYSTEMATIC = {
    "paper": (0, 0, 0, 0, 0, 0.04),
    "steady": (0, 0.02, 0.02, 0, 0, 0.07),
    "released": (0.02, 0, 0, 0, 0.005, 0.02),
}


@pytest.mark.parametrize("seed", [21, 22])
@pytest.mark.parametrize("name", list(TRUTH))
def test_recovers_the_coefficients(name: str, seed: int) -> None:
    """A quarter of the rows is hidden in `paper`, two fifths in `steady`, near half in `released`."""
    log = small_log(name, 400, seed)
    evidence = gather_evidence(log)
    assert evidence.is_censored.mean() > 0.2
    assert (evidence.depth > 0).mean() > 0.2
    # The first row of each series is off the law by the scenario's own rule.
    weights = np.where(np.isin(evidence.rows, log.starts), 0.0, 1.0) if name == "released" else None
    law = fit_family(evidence, LINEAR, np.ones(400), weights=weights)
    off = np.abs(np.r_[slopes_of(law), law.residuals.spread] - TRUTH[name])
    has_truth = np.isfinite(TRUTH[name])
    np.testing.assert_array_less(off[has_truth], (3 * np.array(ERRORS[name]) + SYSTEMATIC[name])[has_truth])


def continuous(seed: int, series: int = 12, periods: int = 30, most: float = np.inf) -> Evidence:
    """A linear law of continuous demand, hidden above a level that varies up to `most`."""
    rng = np.random.default_rng(seed)
    price, demand, last = (
        rng.choice([3.0, 4.0, 5.0], (series, periods)),
        np.empty((series, periods)),
        np.full(series, 20.0),
    )
    for t in range(periods):
        last = demand[:, t] = 16 + 0.5 * last - 1.5 * price[:, t] + rng.normal(0, 2, series)
    available = np.full(demand.shape, 1e3) if most == np.inf else rng.uniform(0, most, demand.shape)
    return gather_evidence(log_of_draws(demand, available, price=price))


@pytest.mark.parametrize("multiplicative", [False, True])
def test_without_censoring_and_with_continuous_demand_it_is_least_squares(multiplicative: bool) -> None:
    evidence = continuous(0)
    law = fit_family(evidence, Family("linear", multiplicative), np.ones(12))
    demand = (evidence.low + evidence.high) / 2
    inputs = law.inputs(evidence.market, evidence.price, evidence.lag)
    expected = np.linalg.lstsq(np.column_stack([np.ones(len(inputs)), inputs]), law.latent(demand), rcond=None)[0]
    assert isinstance(law.mean, LinearMean)
    np.testing.assert_allclose(np.r_[law.mean.intercept, law.mean.slopes], expected, rtol=1e-9)


@pytest.mark.parametrize("seed", [5, 6])
def test_with_normal_noise_and_observed_lags_it_is_the_censored_maximum_likelihood(seed: int) -> None:
    """Two periods a series, half of the second demands hidden; ten draws a row leave 0.2 standard errors to chance."""
    series, rng = 1_000, np.random.default_rng(seed)
    first, price = rng.uniform(5, 25, series), rng.choice([3.0, 4.0, 5.0], (series, 2))
    second = 16 + 0.4 * first - 1.5 * price[:, 1] + rng.normal(0, 2, series)
    available = np.column_stack([np.full(series, 1e3), rng.uniform(4, 28, series)])
    evidence = gather_evidence(log_of_draws(np.column_stack([first, second]), available, price=price))
    design = np.column_stack([np.ones(series), evidence.price, evidence.lag])
    shown = np.where(evidence.is_censored, evidence.low, (evidence.low + evidence.high) / 2)

    def loss(theta: Floats) -> float:
        left = (shown - design @ theta[:3]) / np.exp(theta[3])
        return -float(np.where(evidence.is_censored, norm.logsf(left), norm.logpdf(left) - theta[3]).sum())

    best = minimize(loss, [16.0, -1.5, 0.4, 0.7], method="BFGS")
    errors = np.sqrt(np.diag(np.asarray(best.hess_inv)))
    law = fit_family(evidence, Family("linear", False, "normal"), np.ones(series))
    found = np.r_[slopes_of(law), np.log(law.residuals.spread)]
    assert evidence.is_censored.mean() > 0.4
    np.testing.assert_array_less(np.abs(found - best.x), 0.5 * errors)


def test_a_row_that_counts_twice_is_a_row_repeated() -> None:
    rng = np.random.default_rng(3)
    once = continuous(1)
    counts = rng.integers(0, 3, 12).astype(np.float64)  # by series
    again = np.repeat(np.arange(12), counts.astype(np.int64))
    parts = [once.part(once.series == series) for series in again]
    names = (
        "rows",
        "series",
        "market",
        "price",
        "lag",
        "parent",
        "depth",
        "low",
        "high",
        "is_informative",
        "is_censored",
    )
    columns: dict[str, Any] = {name: np.concatenate([getattr(each, name) for each in parts]) for name in names}
    repeated = replace(once, **columns)
    weighed = fit_family(once, LINEAR, np.ones(12), weights=counts[once.series])
    doubled = fit_family(repeated, LINEAR, np.ones(12))
    np.testing.assert_allclose(slopes_of(weighed), slopes_of(doubled), rtol=1e-9)
    np.testing.assert_allclose(weighed.residuals.cdf, doubled.residuals.cdf, atol=1e-9)


def three_rows(next_low: float, next_high: float) -> tuple[Evidence, DemandLaw]:
    """A stock-out at 14 where 12 was expected, then a row with an interval; D_t = 4 + 0.5 D_{t-1} + N(0, 3^2)."""
    evidence = Evidence(
        rows=np.arange(2),
        series=np.zeros(2, dtype=np.int64),
        market=np.zeros((2, 0)),
        price=np.full(2, 2.0),
        lag=np.array([20.0, np.nan]),
        parent=np.array([-1, 0]),
        depth=np.array([0, 1]),
        low=np.array([14.0, next_low]),
        high=np.array([np.inf, next_high]),
        is_informative=np.array([True, np.isfinite(next_low) or np.isfinite(next_high)]),
        is_censored=np.array([True, False]),
        integer=False,
        usual_price=np.ones(1),
        product=np.zeros(1, dtype=np.int64),
    )
    mean, noise = LinearMean(4.0, np.array([-1.0, 0.5])), Residuals.normal(3.0)
    return evidence, DemandLaw(LINEAR, mean, noise, False, 0.1, np.ones(1), np.zeros(1), 1e6, np.ones(1))


def test_belief_and_prediction_are_those_of_the_truncated_normal() -> None:
    """Appendix C: mean and variance of D_{t-1} given the stock-out, and of D_t given that."""
    evidence, law = three_rows(-np.inf, np.inf)
    belief = truncnorm((14 - 12) / 3, np.inf, loc=12, scale=3)
    done = complete_latents(evidence, law, draws=20_000)
    assert done.latent[0].mean() == pytest.approx(belief.mean(), abs=0.01)
    assert done.latent[0].var() == pytest.approx(belief.var(), rel=0.02)
    assert done.latent[0].min() >= 14
    assert done.within[0] == pytest.approx(norm.sf(14, 12, 3), abs=1e-4)
    assert done.latent[1].mean() == pytest.approx(4 - 2 + 0.5 * belief.mean(), abs=0.03)
    assert done.latent[1].var() == pytest.approx(0.25 * belief.var() + 9, rel=0.02)


def test_the_score_after_a_stock_out_averages_over_the_belief() -> None:
    evidence, law = three_rows(11.0, 12.0)
    belief = truncnorm((14 - 12) / 3, np.inf, loc=12, scale=3)

    def over_belief(weight: object) -> float:
        def integrand(demand: float) -> float:
            given = norm(2 + 0.5 * demand, 3)
            return float(belief.pdf(demand) * weight(demand, given))  # type: ignore[operator]

        return float(quad(integrand, 14, 60)[0])

    done = complete_latents(evidence, law, draws=20_000)
    chance = over_belief(lambda _, given: given.cdf(12) - given.cdf(11))
    assert done.below[1] == pytest.approx(over_belief(lambda _, given: given.cdf(11)), abs=1e-3)
    assert done.within[1] == pytest.approx(chance, abs=1e-3)
    assert done.score[1] == pytest.approx(np.log(chance), abs=5e-3)
    smoothed = over_belief(lambda demand, given: demand * (given.cdf(12) - given.cdf(11))) / chance
    assert smoothed > belief.mean() + 0.1  # 11.5 is more than the 10.2 that was to come
    assert done.lag[1].mean() == pytest.approx(smoothed, abs=0.02)
    np.testing.assert_array_equal(np.sort(done.latent[0]), np.sort(done.lag[1]))


def test_rows_after_stock_outs_reduce_the_error() -> None:
    """In `steady` half of the rows have a hidden lag; without them memory and noise are less certain."""
    errors = []
    for seed in range(6):
        evidence = gather_evidence(small_log("steady", 15, 40 + seed))
        laws = [
            fit_family(evidence, LINEAR, np.ones(15), weights=each)
            for each in (None, np.where(evidence.depth == 0, 1.0, 0.0))
        ]
        errors.append([slopes_of(law) - [15.35, 2.0, -0.6, -3.0, 0.8] for law in laws])
    everything, known_lags = np.sqrt(np.mean(np.square(errors), axis=0))
    assert (evidence.depth > 0).mean() > 0.2
    assert everything[4] < known_lags[4]
    assert everything[1] < known_lags[1]


def different(seed: int, spread: float) -> tuple[Evidence, Floats]:
    rng = np.random.default_rng(seed)
    own = rng.normal(0, spread, (30, 1)) if spread else np.zeros((30, 1))
    demand = np.maximum(np.rint(14 + own + rng.normal(0, 2, (30, 40))), 0)
    return gather_evidence(log_of_draws(demand, np.rint(rng.uniform(8, 24, demand.shape)))), own[:, 0]


def test_series_effects_are_zero_without_heterogeneity_and_recovered_with_it() -> None:
    for seed in range(3):
        evidence, _ = different(seed, 0.0)
        assert not fit_family(evidence, LINEAR, np.ones(30)).level.any()
    evidence, own = different(4, 1.5)
    law = fit_family(evidence, LINEAR, np.ones(30))
    centred = law.level - law.level.mean()
    assert np.corrcoef(centred, own)[0, 1] > 0.9
    assert 0.5 < centred.std() / own.std() < 1.1  # shrunk
    # A law that has not seen some of the series learns their effects from their rows, and nothing else.
    half = fit_family(evidence, LINEAR, np.ones(30), weights=np.where(evidence.series < 15, 1.0, 0.0))
    assert np.ptp(half.level[15:]) == 0
    fitted = with_levels(evidence, half)
    assert np.corrcoef(fitted.level[15:], own[15:])[0, 1] > 0.8
    assert fitted.mean is half.mean


def test_normal_noise_is_an_option() -> None:
    evidence = continuous(2, most=40)
    smooth, normal = (
        fit_family(evidence, Family("linear", False, noise), np.ones(12)) for noise in ("smooth", "normal")
    )
    np.testing.assert_allclose(slopes_of(smooth), slopes_of(normal), rtol=0.15, atol=0.1)
    spread = normal.residuals.spread
    assert spread == pytest.approx(2.0, rel=0.1)
    assert normal.residuals.below(np.array([spread]))[0] == pytest.approx(norm.cdf(1), abs=1e-3)


@pytest.mark.parametrize("pace", [None, 2.0])
def test_stock_outs_for_part_of_a_period_do_not_move_the_law(pace: float | None) -> None:
    """A quarter of the rows lost the demand of some hours; taken for demand, their sales would lower the mean."""
    log, truth = simulate(Scenario.load("steady"), episodes=60, seed=4)
    partial = partly_out(log, truth.demand, 0.25, pace)
    hours = np.where(partial.is_partial, 0.0, np.asarray(partial.out_of_stock))
    true = gather_evidence(log)
    lag = np.where(true.parent >= 0, truth.demand[true.rows - 1], true.lag)
    bias = {}
    for name, each in (("partial", partial), ("naive", replace(partial, out_of_stock=hours))):
        law = fit_family(gather_evidence(each), Family("linear", False), np.ones(len(log.names)))
        predicted = law.mean(law.inputs(true.market, true.price, lag)) + law.residuals.mean
        # Demand is not negative, so rows of a mean near zero say nothing about it.
        rows = truth.demand[true.rows] > 0
        bias[name] = float((predicted - truth.demand[true.rows])[rows].mean())
    assert abs(bias["partial"]) < 0.05 * truth.demand.mean()
    assert bias["naive"] < bias["partial"] - 0.15


def test_an_interval_is_drawn_within_its_ends() -> None:
    log, truth = simulate(Scenario.load("steady"), episodes=10, seed=4)
    partial = partly_out(log, truth.demand, 0.25, 2.0)
    evidence = gather_evidence(partial)
    law = fit_family(evidence, Family("linear", False), np.ones(len(log.names)))
    drawn = complete_latents(evidence, law, draws=40).latent
    rows = evidence.is_censored & np.isfinite(evidence.high)
    assert rows.sum() > 30
    assert (drawn[rows] >= evidence.low[rows, None]).all()
    assert (drawn[rows] <= evidence.high[rows, None]).all()
    assert np.ptp(drawn[rows], axis=1).max() > 1


@pytest.mark.parametrize(("episodes", "seed"), [(200, 7), (50, 102)])
def test_demand_far_above_what_can_be_sold_is_not_cut_off(episodes: int, seed: int) -> None:
    """Sales of at most 5, demands of up to 40: neither twice what was seen nor an extrapolated step bounds the law."""
    log, truth = simulate(Scenario.load("long-runs"), episodes=episodes, seed=seed)
    evidence = gather_evidence(log)
    law = fit_family(evidence, LINEAR, np.ones(episodes))
    intercept, price, memory = slopes_of(law)
    assert law.demand_max > truth.demand.max()
    assert memory == pytest.approx(0.95, abs=0.03)
    assert price == pytest.approx(-2, abs=0.3)
    assert intercept == pytest.approx(12.4, abs=2)
