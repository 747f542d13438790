"""Several lags: the order of hidden demands, least squares and recovery, and enumeration of two hidden ones."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import poisson

from lostsales.data.log import SalesLog
from lostsales.demand.audit.memory import demand_memory
from lostsales.demand.censoring.evidence import gather_evidence
from lostsales.demand.law.demand_law import Family
from lostsales.demand.law.estimation import fit_family
from lostsales.demand.law.latents import complete_latents
from lostsales.demand.law.means import LinearMean
from lostsales.demand.law.memory import lags_of, observed_lag
from lostsales.demand.law.selection import fit_law
from lostsales.types import Floats
from tests.demand.logs import log_of_draws, log_of_flags

TWO = Family("linear", False, lags=2)


def two_lags(
    seed: int, series: int, most: float = np.inf, integer: bool = True, second: float = 0.35, level: float = 6.0
) -> SalesLog:
    """D = level + 0.45 D_1 + 0.35 D_2 - price + N(0, 3), hidden above a level that varies up to `most`."""
    rng = np.random.default_rng(seed)
    price, demand = rng.choice([3.0, 4.0, 5.0], (series, 75)), np.empty((series, 75))
    last, before = np.full(series, 15.0), np.full(series, 15.0)
    for t in range(75):
        drawn = np.maximum(level + 0.45 * last + second * before - price[:, t] + rng.normal(0, 3, series), 0)
        last, before = np.rint(drawn) if integer else drawn, last
        demand[:, t] = last
    available = np.full(demand.shape, 1e3) if most == np.inf else np.rint(rng.uniform(0, most, demand.shape))
    return log_of_draws(demand, available, price=price)


def test_one_lag_is_drawn_in_order_of_depth() -> None:
    evidence = gather_evidence(log_of_flags("4xx7x58", "3x4"))
    lags = lags_of(evidence, 1)
    np.testing.assert_array_equal(lags.level, evidence.depth)
    np.testing.assert_array_equal(lags.span, evidence.depth)


def test_rows_wait_for_all_on_whose_hidden_demands_they_depend() -> None:
    """4 x 7 5 8: with two lags the rows of 7 and of 5 look back at the hidden demand, that of 8 does not."""
    evidence = gather_evidence(log_of_flags("4x758"))
    lags = lags_of(evidence, 2)  # rows of x, 7, 5 and 8
    assert lags.level.tolist() == [0, 1, 2, 0]
    assert lags.span.tolist() == [0, 1, 2, 0]
    assert lags.rows.tolist() == [[0, 1, 2, 3], [0, 0, 1, 2]]
    wanted = np.array([4.0, np.nan, np.nan, 0.5 * 5 + 0.5 * 7])
    np.testing.assert_array_equal(observed_lag(evidence, (0.5, 0.5)), wanted)


def test_without_censoring_it_is_least_squares_on_both_lags() -> None:
    evidence = gather_evidence(two_lags(0, 12, integer=False, level=12.0))
    law = fit_family(evidence, TWO, np.ones(12))
    assert isinstance(law.mean, LinearMean)
    rows = lags_of(evidence, 2).rows
    design = np.column_stack([np.ones(len(evidence)), evidence.price, evidence.lag, evidence.lag[rows[1]]])
    expected = np.linalg.lstsq(design, (evidence.low + evidence.high) / 2, rcond=None)[0]
    own = np.array(law.lag_weights) * law.mean.slopes[-1]
    np.testing.assert_allclose(np.r_[law.mean.intercept, law.mean.slopes[0], own], expected, rtol=2e-3)


@pytest.mark.parametrize("seed", [3])
def test_recovers_two_lags_where_two_fifths_are_hidden(seed: int) -> None:
    evidence = gather_evidence(two_lags(seed, 120, most=25.0))
    assert evidence.is_censored.mean() > 0.35
    law = fit_family(evidence, TWO, np.ones(120))
    assert isinstance(law.mean, LinearMean)
    own = np.array(law.lag_weights) * law.mean.slopes[-1]
    # Three standard deviations over logs of other seeds.
    np.testing.assert_allclose(own, [0.45, 0.35], atol=0.05)
    assert law.residuals.spread == pytest.approx(3.0, abs=0.15)


def test_two_hidden_lags_are_summed_over() -> None:
    """P(D_3 = 4 | D_0 = 3, D_1 > 1, D_2 > 2) by enumeration, and the mean of both given all of it."""
    evidence = gather_evidence(log_of_draws(np.array([[3.0, 9.0, 9.0, 4.0]]), np.array([[9.0, 1.0, 2.0, 9.0]])))
    weights, slope = (0.6, 0.4), 0.7
    family = replace(Family.counts("linear", "poisson"), lags=2)
    law = fit_family(gather_evidence(two_lags(1, 3)), family, np.ones(3)).of_series(np.zeros(1, np.int64))
    law = replace(law, mean=LinearMean(0.2, np.array([0.0, slope])), lag_weights=weights, near_zero=1.0)

    def chance(demand: Floats, last: Floats, before: Floats | float) -> Floats:
        lag = weights[0] * last + weights[1] * before
        return np.asarray(poisson.pmf(demand, np.exp(0.2 + slope * np.log(lag + 1))))

    first, second = np.arange(2.0, 60.0)[:, None], np.arange(3.0, 60.0)[None, :]
    # Before the first row of a series its oldest known demand stands in.
    joint = chance(first, np.array(3.0), 3.0) * chance(second, first, 3.0)
    likelihood = chance(np.array(4.0), second, first)
    done = complete_latents(evidence, law, draws=20_000)
    assert np.exp(done.score[2]) == pytest.approx(float((joint * likelihood).sum() / joint.sum()), rel=0.02)
    posterior = joint * likelihood / (joint * likelihood).sum()
    assert done.latent[0].mean() == pytest.approx(float((posterior * first).sum()), rel=0.02)
    assert done.latent[1].mean() == pytest.approx(float((posterior * second).sum()), rel=0.02)


@pytest.mark.slow
def test_the_held_out_score_asks_for_two_lags_and_the_model_fits() -> None:
    model = fit_law(two_lags(5, 40, most=30.0))
    assert model.family.lags == 2
    assert model.calibration.fits
    tried = [each.family.lags for each in model.candidates]
    assert sorted(tried)[-2:] == [2, 3]


def test_one_lag_is_enough_where_there_is_one() -> None:
    model = fit_law(two_lags(6, 20, most=30.0, second=0.0))
    assert model.family.lags == 1


def test_the_audit_says_how_much_memory_there_is() -> None:
    found = demand_memory(two_lags(7, 60, most=30.0))
    assert found.lags == 2
    np.testing.assert_allclose(found.carried, [0.45, 0.35], atol=0.08)
    assert found.sentence.startswith("the last 2 demands: one unit more moves the next demand by +0.")
    rng = np.random.default_rng(0)
    none = demand_memory(log_of_draws(rng.poisson(9.0, (20, 50)).astype(float), np.full((20, 50), 20.0)))
    assert none.sentence.startswith("hardly any")
    assert demand_memory(log_of_flags("4x7x58")).lags == 0
