"""The finite model against the simulator's own transition."""

import numpy as np
import pytest

from lostsales.lab.exact.finite_model import FiniteModel, Resolution
from lostsales.policy.period import transition
from lostsales.policy.view import Action
from lostsales.simulation.scenario import Scenario


@pytest.mark.parametrize("name", ["released", "paper", "fixed-cost"])
@pytest.mark.parametrize("balance", ["lost-sales", "netted"])
def test_supply_pairs_reproduce_the_transition(name: str, balance: str) -> None:
    scenario = Scenario.load(name, (f"balance={balance}",))
    model, rng, rows = FiniteModel.of(scenario, Resolution()), np.random.default_rng(0), 500
    stock = rng.integers(model.shape[1], size=rows)
    order = rng.integers(len(scenario.orders), size=rows)
    demand, price = rng.integers(model.shape[2], size=rows), rng.integers(len(scenario.prices), size=rows)
    kept = model.allowed[stock, order]
    stock, order, demand, price = stock[kept], order[kept], demand[kept], price[kept]
    opening, wanted = stock.astype(np.float64), demand.astype(np.float64)
    action = Action(np.array(scenario.prices)[price], np.array(scenario.orders)[order])
    for depth, profit in ((0, model.profit), (scenario.longest_run or 0, model.truncated_profit)):
        outcome = transition(opening, np.full(len(stock), depth), action, wanted, scenario.flow, scenario.unit_costs)
        pair = model.pair_of[stock, order]
        drawn = outcome.demand.astype(np.int64)
        gain = (profit if depth else model.profit)[price, demand, pair] - model.order_cost[order]
        np.testing.assert_allclose(gain, outcome.profit)
        np.testing.assert_array_equal(model.next_stock[pair, drawn], outcome.stock_tp1)
        np.testing.assert_array_equal(model.censors[drawn, pair], outcome.stockout)


def test_opening_law_matches_simulated_openings() -> None:
    model = FiniteModel.of(Scenario.load("paper"), Resolution())
    opened = Scenario.load("paper").open(20_000, np.random.default_rng(0))
    assert model.opening.sum() == pytest.approx(1)
    stock = model.opening.sum(axis=(0, 2))
    np.testing.assert_allclose(np.bincount(opened.stock.astype(np.int64)) / 20_000, stock, atol=0.01)
    lag = model.opening.sum(axis=(0, 1))
    np.testing.assert_allclose(np.bincount(opened.last_demand.astype(np.int64), minlength=31) / 20_000, lag, atol=0.01)


def test_unbounded_ranges_cover_two_largest_orders() -> None:
    """`released` has neither capacity nor largest demand: two largest orders, and demand beyond the stock range."""
    model = FiniteModel.of(Scenario.load("released"), Resolution())
    assert model.shape == (2, 15 + 2 * 15 + 1, 2 * 45 + 1)
