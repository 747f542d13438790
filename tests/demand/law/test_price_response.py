"""How demand answers to the price, against the truth of the simulator."""

import numpy as np
import pytest
from scipy.stats import binom

from lostsales.data.sublogs import without
from lostsales.demand.law.demand_law import Family
from lostsales.demand.law.price_response import PriceResponse, price_response
from lostsales.demand.law.selection import fit_law
from lostsales.simulation.simulator import simulate
from lostsales.types import Floats
from tests.learn.small import scenario, small_log

REPEATS = 60  # of every row, over which its noise is averaged


def estimated(name: str, series: int, seed: int, draws: int = 20) -> tuple[PriceResponse, Floats]:
    """The estimated response of a log, and the true mean demand of its rows at every price."""
    world = scenario(name)
    log, truth = simulate(world, episodes=series, seed=seed)
    first = np.isin(np.arange(len(log)), log.starts)
    last = np.where(first, log.last_sales[log.series], np.r_[0.0, truth.demand[:-1]])
    family = Family("linear", multiplicative=name == "nonlinear")
    found = price_response(log, fit_law(log, families=(family,), seed=seed), draws, seed)
    rows, rng = np.repeat(np.arange(len(log)), REPEATS), np.random.default_rng(0)
    market = tuple(log.features[rows].T)
    true = [world.demand(1, market, np.full(len(rows), price), last[rows], rng).mean() for price in found.prices]
    return found, np.array(true)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["steady", "nonlinear"])
def test_the_band_has_its_nominal_coverage(name: str) -> None:
    """At the middle price, over 20 logs of 5 series: fewer hits than this happen to a true 95 % band once in 200."""
    logs, held = 20, 0
    for seed in range(logs):
        found, true = estimated(name, 5, seed)
        middle = len(true) // 2
        held += int(found.low[middle] <= true[middle] <= found.high[middle])
    assert held >= binom.ppf(0.005, logs, 0.95)


@pytest.mark.parametrize("name", [pytest.param("released", marks=pytest.mark.slow), "steady"])
def test_the_error_of_the_response_falls_with_the_number_of_series(name: str) -> None:
    """Eight times the series: errors shrink to about a third."""

    def error(series: int) -> float:
        pairs = [estimated(name, series, seed, draws=0) for seed in range(5)]
        return float(np.mean([np.abs(found.demand - true).mean() for found, true in pairs]))

    assert error(40) < 0.6 * error(5)


def test_sales_are_those_of_the_rows_and_understate_demand() -> None:
    log = small_log("released")
    found = price_response(log, fit_law(log, families=(Family("linear", False),)), draws=3)
    np.testing.assert_allclose(found.sales, [log.sales[log.price == price].mean() for price in found.prices])
    assert (found.sales < 0.9 * found.demand).all()
    assert found.rows.sum() == len(log)
    assert (found.low < found.demand).all()
    assert (found.demand < found.high).all()


def test_hidden_last_demands_widen_the_band(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under a known law they are the only uncertainty; without stock-outs there is none."""
    monkeypatch.setattr(
        "lostsales.demand.law.price_response.bootstrap_laws", lambda _log, model, draws, *_, **__: [model.law] * draws
    )
    log = small_log("released")
    for shop, certain in ((log, False), (without(log, log.censored), True)):
        found = price_response(shop, fit_law(shop, families=(Family("linear", False),)))
        assert np.allclose(found.high, found.low) == certain
