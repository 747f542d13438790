"""Counts in scenarios: moments of draws, chances of the exact model, and the same market for every policy."""

import numpy as np
import pytest

from lostsales.errors import SettingError
from lostsales.lab.exact.pmf import demand_pmf
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import simulate

NEGATIVE_BINOMIAL = 'demand.noise={kind="negative-binomial",dispersion=0.5}'


@pytest.mark.parametrize(("settings", "dispersion"), [((), 0.0), ((NEGATIVE_BINOMIAL,), 0.5)])
def test_draws_have_the_chances_of_the_exact_model(settings: tuple[str, ...], dispersion: float) -> None:
    scenario = Scenario.load("weekday-counts", ("demand.maximum=200", *settings))
    law, rows = scenario.demand_law, 40_000
    day, price, last = (np.full(rows, each) for each in (4.0, 5.0, 7.0))
    drawn = scenario.demand(1, (day,), price, last, np.random.default_rng(0))
    mean = 7 * np.exp(0.3)  # memory is 1 where the last demand is at its half
    assert drawn.mean() == pytest.approx(mean, rel=0.02)
    assert drawn.var() == pytest.approx(mean + dispersion * mean**2, rel=0.05)
    pmf = demand_pmf(law, law.lag_term(np.array([7.0])), np.array([5.0]), np.array([0.3]), 200)[0]
    assert pmf.sum() == pytest.approx(1)
    np.testing.assert_allclose(np.bincount(drawn.astype(int), minlength=60)[:60] / rows, pmf[:60], atol=0.01)


def test_every_policy_meets_the_same_market() -> None:
    """Random numbers do not depend on what was decided: at the same price and memory, the same demand."""
    scenario = Scenario.load("weekday-counts", ("demand.floor=1",))
    few, many = (simulate(scenario, f"base-stock:{level}@5", 3, seed=2)[1].demand for level in (6, 30))
    np.testing.assert_array_equal(few, many)


def test_a_dispersion_belongs_to_negative_binomial_noise() -> None:
    for noise in ('{kind="poisson",dispersion=0.5}', '{kind="negative-binomial"}'):
        with pytest.raises(SettingError, match="dispersion above 0 belongs to negative-binomial"):
            Scenario.load("weekday-counts", (f"demand.noise={noise}",))
