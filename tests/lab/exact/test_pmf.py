"""Probability mass functions of demand against draws of the simulator."""

import numpy as np
import pytest

from lostsales.lab.exact.finite_model import FiniteModel, Resolution
from lostsales.lab.exact.pmf import demand_pmf, opening_pmf
from lostsales.simulation.demand_laws import Linear
from lostsales.simulation.scenario import NormalStart, Scenario
from tests.lab.exact.tiny import tiny


@pytest.mark.parametrize("name", ["released", "paper", "nonlinear", "newsvendor"])
def test_pmf_matches_simulated_frequencies(name: str) -> None:
    """Twenty thousand draws from a few states; no frequency off by more than five standard errors."""
    scenario = Scenario.load(name)
    model, rng, draws = FiniteModel.of(scenario, Resolution()), np.random.default_rng(0), 20_000
    for last, price, state in ((5, 0, 0), (12, 1, model.chain.states - 1), (20, len(scenario.prices) - 1, 0)):
        features = tuple(np.full(draws, each[state]) for each in model.chain.values())
        drawn = scenario.demand(1, features, np.full(draws, scenario.prices[price]), np.full(draws, float(last)), rng)
        seen = np.bincount(drawn.astype(np.int64), minlength=model.shape[2]) / draws
        law = model.pmf[state, price, last]
        assert np.all(np.abs(seen - law) <= 5 * np.sqrt(law * (1 - law) / draws) + 1e-4)


def test_rows_sum_to_one() -> None:
    for name in ("released", "paper", "nonlinear", "fixed-cost"):
        model = FiniteModel.of(Scenario.load(name), Resolution())
        assert np.all(model.pmf >= 0)
        np.testing.assert_allclose(model.pmf.sum(axis=-1), 1.0)


def test_ties_round_to_even_as_numpy_rounds() -> None:
    """0.5 and 1.5 lie on ties: 0.5 goes down to 0, 1.5 up to 2."""
    law = tiny(demand={"noise": {"kind": "discrete", "values": [0.5, 1.5], "probabilities": [0.25, 0.75]}}).demand_law
    pmf = demand_pmf(law, np.zeros(1), np.array([2.0]), np.zeros(1), 3)
    np.testing.assert_array_equal(pmf, [[0.25, 0, 0.75, 0]])


def test_bounds_take_the_tails() -> None:
    law = Linear(law="linear", noise={"kind": "normal", "scale": 2}, minimum=1, maximum=3)
    pmf = demand_pmf(law, np.array([2.0]), np.zeros(1), np.zeros(1), 3)[0]
    assert pmf[0] == 0
    assert pmf[1] == pytest.approx(pmf[3])
    assert pmf[2] == pytest.approx(0.19741265)  # P(|N| < 1/4)


def test_shock_without_variance_is_a_point_mass() -> None:
    for kind, expected in (("normal", 2), ("half-normal", 2), ("lognormal", 7)):
        law = Linear(law="linear", noise={"kind": kind, "loc": 2, "scale": 0}, maximum=9)
        pmf = demand_pmf(law, np.zeros(1), np.zeros(1), np.zeros(1), 9)
        assert pmf[0, expected] == 1


def test_opening_lag() -> None:
    assert opening_pmf(5.0, 9)[5] == 1
    pmf = opening_pmf(NormalStart(mean=9, sd=3), 30)
    assert pmf.sum() == pytest.approx(1)
    assert pmf @ np.arange(31) == pytest.approx(9, abs=0.01)
