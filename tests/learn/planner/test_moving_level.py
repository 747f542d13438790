"""Which shops are decided on sample paths: those whose level moves, not those whose demand depends on its past."""

import pytest

from lostsales.demand.law.demand_law import Family
from lostsales.demand.law.selection import fit_law
from lostsales.learn.planner.moving_level import is_autocorrelation, level_moves
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import simulate

LINEAR = (Family("linear", False),)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_hidden_trend_is_a_level_that_moves(seed: int) -> None:
    log, _ = simulate(Scenario.load("drift"), episodes=10, seed=seed)
    model = fit_law(log, LINEAR)
    assert level_moves(log, model)
    assert not is_autocorrelation(model)


@pytest.mark.parametrize("seed", [101, 102])
def test_long_autocorrelation_is_not(seed: int) -> None:
    """Of rho 0.95: a level that is followed predicts ten periods ahead better than the mean, but nothing moves."""
    log, _ = simulate(Scenario.load("long-runs"), episodes=10, seed=seed)
    model = fit_law(log, LINEAR)
    assert is_autocorrelation(model)
    assert not level_moves(log, model)


def test_where_the_price_never_varied_autocorrelation_is_not_identified() -> None:
    log, _ = simulate(Scenario.load("drift").model_copy(update={"prices": (5.0,)}), episodes=10, seed=1)
    assert not is_autocorrelation(fit_law(log, LINEAR))
