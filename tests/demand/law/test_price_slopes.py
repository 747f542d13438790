"""Slopes on the price: least squares, orthogonalised and two-stage."""

from dataclasses import replace

import numpy as np
import pytest

from lostsales.data.log import SalesLog
from lostsales.data.scale import series_scale
from lostsales.demand.censoring.evidence import gather_evidence
from lostsales.demand.law.demand_law import DemandLaw, Family
from lostsales.demand.law.estimation import fit_family
from lostsales.demand.law.means import LinearMean
from lostsales.demand.law.price_slopes import (
    SlopeData,
    instrumented_law,
    law_with_slope,
    least_squares,
    orthogonalised,
    price_slopes,
    two_stage,
)
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import simulate

TRUE_SLOPE = -1.5


def simulated(seed: int, *settings: str) -> tuple[SalesLog, DemandLaw]:
    log, _ = simulate(Scenario.load("cost-shocks", settings), "manager", 14, seed)
    return log, fit_family(gather_evidence(log), Family("linear", False), series_scale(log))


def drawn(rows: int = 300, confounding: float = 1.0) -> SlopeData:
    rng = np.random.default_rng(1)
    hidden, controls, cost = rng.standard_normal(rows), rng.standard_normal((rows, 3)), rng.standard_normal((rows, 2))
    price = 0.5 * controls[:, 0] + cost @ [0.7, 0.3] + confounding * hidden + rng.standard_normal(rows)
    demand = TRUE_SLOPE * price + controls @ [1.0, -1.0, 0.5] + 2 * hidden + rng.standard_normal(rows) + 10
    unit, fold = np.arange(rows) // 15, np.arange(rows) % 5
    folds = [(fold == each, fold != each) for each in range(5)]
    return SlopeData(demand, price, controls, cost, unit, folds)


def test_without_folds_the_orthogonalised_slope_is_least_squares_with_the_same_controls() -> None:
    data = drawn(confounding=0.0)
    everything = np.ones(300, dtype=bool)
    whole = np.linalg.lstsq(np.column_stack([data.price, data.controls, np.ones(300)]), data.demand, rcond=None)[0][0]
    assert least_squares(data).value == pytest.approx(whole, rel=1e-9)
    assert orthogonalised(data, [(everything, everything)]).value == pytest.approx(whole, rel=1e-9)


def test_cross_fitted_on_linear_demand_it_is_least_squares_within_its_error() -> None:
    data = drawn(rows=3000, confounding=0.0)
    ordinary, orthogonal = least_squares(data), orthogonalised(data)
    assert orthogonal.value == pytest.approx(ordinary.value, abs=0.1 * ordinary.error)
    assert orthogonal.error == pytest.approx(ordinary.error, rel=0.1)


def test_two_stage_is_that_of_statsmodels() -> None:
    gmm = pytest.importorskip("statsmodels.sandbox.regression.gmm")
    data = drawn()
    ones = np.ones(len(data.price))
    peer = gmm.IV2SLS(
        data.demand,
        np.column_stack([data.price, data.controls, ones]),
        np.column_stack([data.instruments, data.controls, ones]),
    ).fit()
    found = two_stage(data)
    assert found.value == pytest.approx(peer.params[0], rel=1e-8)
    assert found.error == pytest.approx(peer.bse[0], rel=0.3)  # a jackknife over units of 15 independent rows
    assert found.first_stage is not None
    assert found.first_stage > 50


def test_one_instrument_and_no_controls_is_a_ratio_of_covariances() -> None:
    data = drawn()
    alone = replace(data, controls=np.zeros((300, 0)), instruments=data.instruments[:, :1])
    z = alone.instruments[:, 0]
    expected = np.cov(z, alone.demand)[0, 1] / np.cov(z, alone.price)[0, 1]
    assert two_stage(alone).value == pytest.approx(expected, rel=1e-9)


def test_a_hidden_cause_bends_least_squares_and_not_the_instruments() -> None:
    found = []
    for seed in range(6):
        log, law = simulated(seed)
        estimates = {each.by: each for each in price_slopes(log, gather_evidence(log), law)}
        found.append([estimates[by].value for by in ("least squares", "orthogonalised", "two-stage")])
    bent, orthogonal, by_cost = np.mean(found, axis=0)
    assert bent > -0.5
    assert orthogonal == pytest.approx(bent, abs=0.05)
    assert by_cost == pytest.approx(TRUE_SLOPE, abs=0.3)


@pytest.mark.slow
def test_slopes_by_instruments_are_within_a_tenth_and_their_bands_cover() -> None:
    """About ten seconds: 100 logs."""
    estimates = [instrumented_law(log, gather_evidence(log), law)[1] for log, law in map(simulated, range(100))]
    assert np.mean([each.value for each in estimates]) == pytest.approx(TRUE_SLOPE, rel=0.1)
    assert np.mean([each.low <= TRUE_SLOPE <= each.high for each in estimates]) >= 0.9


def test_a_law_with_a_given_slope_has_it_and_fits_the_rest() -> None:
    log, law = simulated(1, "strength=0")
    found = law_with_slope(gather_evidence(log), law, TRUE_SLOPE)
    assert isinstance(found.mean, LinearMean)
    assert isinstance(law.mean, LinearMean)
    assert found.mean.slopes[-2] == TRUE_SLOPE
    assert found.mean.slopes[-1] == pytest.approx(law.mean.slopes[-1], abs=0.05)


def test_an_instrument_does_not_enter_the_law_of_demand() -> None:
    log, law = simulated(1)
    assert isinstance(law.mean, LinearMean)
    assert law.mean.slopes[0] == 0.0
    assert gather_evidence(log).market.std() == 0.0
