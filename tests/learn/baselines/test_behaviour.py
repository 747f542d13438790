"""The behaviour policy: what was done is found again."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from lostsales.data.log import SalesLog
from lostsales.demand.censoring.runs import find_runs
from lostsales.learn.baselines.behaviour import BehaviourPolicy, situation_of_log
from lostsales.learn.fit import fit
from lostsales.policy.rules import Rules
from lostsales.policy.view import Action, ClosedPeriod, View
from lostsales.simulation.named_policies import named_policy
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import evaluate_policy, simulate

WORLD = Scenario.load("steady")
NAMES = ("uniform", "base-stock:18@4.25")


@cache
def log_of(name: str) -> SalesLog:
    return simulate(WORLD, named_policy(name, WORLD), episodes=40, seed=3)[0]


@cache
def clone(name: str) -> BehaviourPolicy:
    policy = fit(log_of(name), "behaviour")
    assert isinstance(policy, BehaviourPolicy)
    return policy


def view(stock: float, last_sales: float, rows: int, stockout: bool = False) -> View:
    each = np.full(rows, stock), np.full(rows, last_sales), np.full(rows, stockout), np.full(rows, int(stockout))
    return View(0, tuple(np.zeros(rows) for _ in WORLD.features), *each, None)


def test_uniform_behaviour_is_uniform_again() -> None:
    rows = np.arange(0, 2_000, 7)
    chance = clone("uniform").chances(situation_of_log(log_of("uniform"), find_runs(log_of("uniform")), rows))
    np.testing.assert_allclose(chance.sum(axis=1), 1)
    assert chance.min() > 0.4 / 48
    assert chance.max() < 2.5 / 48


def test_a_rule_is_found_again() -> None:
    """Order up to 18 at 4.25, whatever else is going on."""
    for stock in (3.0, 8.0, 14.0):
        decided = clone(NAMES[1]).explain(view(stock, 8.0, 1))
        assert (decided.price[0], decided.order[0]) == (4.25, min(18 - stock, 15))
        assert decided.value[0] > 0.8


@pytest.mark.parametrize("name", NAMES)
def test_the_clone_earns_what_the_behaviour_earns(name: str) -> None:
    true, cloned = (evaluate_policy(WORLD, each, 400, seed=9) for each in (named_policy(name, WORLD), clone(name)))
    assert cloned.mean_profit == pytest.approx(true.mean_profit, abs=4 * np.hypot(true.std_error, cloned.std_error))


def test_decisions_are_drawn_with_the_chances() -> None:
    policy, rows = clone("uniform"), 20_000
    now = view(5.0, 8.0, rows)
    action = policy.decide(now, np.random.default_rng(1))
    expected = policy._allowed(view(5.0, 8.0, 1))[0]
    drawn = [np.mean((action.price == price) & (action.order == order)) for price, order in policy.grid.pairs]
    np.testing.assert_allclose(drawn, expected, atol=4 * np.sqrt(expected.max() / rows))
    best = policy.explain(view(5.0, 8.0, 1))
    assert best.value[0] == expected.max()
    assert best.advantage[0] == pytest.approx(expected.max() - np.sort(expected)[-2])


def test_draws_obey_the_rules() -> None:
    policy = replace(clone("uniform"), rules=Rules(multiple=5, greatest_price_change=0.25))
    now = view(5.0, 8.0, 500)
    now = replace(now, past=(ClosedPeriod(now, Action(np.full(500, 4.5), np.zeros(500))),))
    action = policy.decide(now, np.random.default_rng(1))
    assert set(action.order) == {0.0, 5.0, 10.0, 15.0}
    assert set(action.price) == {4.25, 4.5}


def test_beyond_the_log_the_clone_does_what_was_done_at_its_edge() -> None:
    """A stock larger than any seen is met with what large stocks were, not with the usual orders: those pile it up."""
    decided = clone(NAMES[1]).chances(np.array([[8.0, *(0.0 for _ in WORLD.features), 60.0, 0.0]]))
    orders = clone(NAMES[1]).grid.pairs[:, 1]
    assert decided[0, orders == 0].sum() > 0.8
