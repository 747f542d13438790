"""Slopes on the price: least squares, orthogonalised and two-stage."""

from dataclasses import replace

import numpy as np
import pytest

from lostsales.data.log import SalesLog
from lostsales.data.scale import series_scale
from lostsales.demand.censoring.evidence import gather_evidence
from lostsales.demand.law.demand_law import DemandLaw, Family
from lostsales.demand.law.estimation import fit_family
from lostsales.demand.law.instrumented_law import Instrumented, instrumented_slopes, law_with_slopes
from lostsales.demand.law.means import LinearMean
from lostsales.demand.law.price_slopes import CompletedRows, price_slopes
from lostsales.demand.law.slopes import SlopeData, least_squares, orthogonalised, two_stage
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import simulate

TRUE_SLOPE = -1.5
TRUE_MEMORY = 0.4


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
    whole = np.linalg.lstsq(np.column_stack([data.regressor, data.controls, np.ones(300)]), data.demand, rcond=None)[0][
        0
    ]
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
    ones = np.ones(len(data.regressor))
    peer = gmm.IV2SLS(
        data.demand,
        np.column_stack([data.regressor, data.controls, ones]),
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
    expected = np.cov(z, alone.demand)[0, 1] / np.cov(z, alone.regressor)[0, 1]
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


def told(seed: int, *settings: str) -> tuple[Instrumented, float]:
    log, law = simulated(seed, *settings)
    found = instrumented_slopes(log, gather_evidence(log), law)
    assert found is not None
    return found, float(law.scale[0])


def test_a_lasting_hidden_cause_passes_for_memory_but_not_by_the_instruments() -> None:
    by_least_squares, by_cost = [], []
    for seed in range(6):
        _, law = simulated(seed)
        assert isinstance(law.mean, LinearMean)
        by_least_squares.append(law.mean.slopes[-1])
        memory = told(seed)[0].memory
        assert memory is not None
        by_cost.append(memory.value)
    assert np.mean(by_least_squares) > TRUE_MEMORY + 0.2
    assert np.mean(by_cost) == pytest.approx(TRUE_MEMORY, abs=0.15)


@pytest.mark.slow
@pytest.mark.parametrize("settings", ["strength=1", "strength=0", "manager.level.on.market=0"])
def test_slopes_by_instruments_are_within_a_tenth_and_their_bands_cover(settings: str) -> None:
    """About ten seconds each: 100 logs."""
    price, memory = [], []
    for found, scale in (told(seed, settings) for seed in range(100)):
        assert found.memory is not None
        price.append((scale * found.price.value, scale * found.price.low, scale * found.price.high))
        memory.append((found.memory.value, found.memory.low, found.memory.high))
    for estimates, truth in ((price, TRUE_SLOPE), (memory, TRUE_MEMORY)):
        value, low, high = np.array(estimates).T
        assert value.mean() == pytest.approx(truth, rel=0.1)
        assert np.mean((low <= truth) & (truth <= high)) >= 0.9


def test_instruments_that_hardly_move_the_price_are_not_used() -> None:
    log, law = simulated(1, "manager.price.on.unit_cost=0.02")
    assert instrumented_slopes(log, gather_evidence(log), law) is None


def test_hidden_demands_add_to_the_error_of_a_slope() -> None:
    log, law = simulated(1, "strength=0")
    rows = CompletedRows.of(log, gather_evidence(log), law)
    assert rows.estimated(two_stage, rows.for_price).error > two_stage(rows.for_price()).error


def test_a_law_with_given_slopes_has_them_and_fits_the_rest() -> None:
    log, law = simulated(1, "strength=0")
    evidence = gather_evidence(log)
    assert isinstance(law.mean, LinearMean)
    found = law_with_slopes(evidence, law, TRUE_SLOPE)
    assert isinstance(found.mean, LinearMean)
    assert found.mean.slopes[-2] == TRUE_SLOPE
    assert found.mean.slopes[-1] == pytest.approx(law.mean.slopes[-1], abs=0.05)
    both = law_with_slopes(evidence, law, law.mean.slopes[-2], law.mean.slopes[-1])
    assert isinstance(both.mean, LinearMean)
    assert both.mean.slopes[-1] == law.mean.slopes[-1]
    assert both.mean.intercept == pytest.approx(law.mean.intercept, rel=0.02)


def test_an_instrument_does_not_enter_the_law_of_demand() -> None:
    log, law = simulated(1)
    assert isinstance(law.mean, LinearMean)
    assert law.mean.slopes[0] == 0.0
    assert gather_evidence(log).market.std() == 0.0
