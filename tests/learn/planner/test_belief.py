"""The belief over the last demand against closed forms."""

import numpy as np
import pytest
from scipy.stats import truncnorm

from lostsales.learn.planner.planner import Planner
from lostsales.policy.view import Action, ClosedPeriod
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import simulate
from tests.learn.planner.true_law import LINEAR, true_model, view_of
from tests.learn.small import small_log


def test_the_belief_after_a_stock_out_is_the_truncated_normal_of_appendix_c() -> None:
    scenario = Scenario.load("paper")
    log, _ = simulate(scenario, episodes=30, seed=3)
    policy = Planner(draws=1).plan(log, model=true_model(log, "paper"))
    for stock, last, price in ((8.0, 9.0, 4.0), (4.0, 9.0, 4.5), (11.0, 12.0, 4.25)):
        before = view_of([1.0, 3.0], stock, last, 0)
        past = (ClosedPeriod(before, Action(np.array([price]), np.array([5.0]))),)
        believed = policy.tracker.belief(view_of([1.0, 3.0], 5.0, stock, 1, past)).mean[0]
        middle = 15.35 + 2 - 0.6 * 3 - 3 * price + 0.8 * last
        exact = float(truncnorm.mean((stock + 0.5 - middle) / 3, np.inf, middle, 3))  # above the stock in whole units
        assert believed == pytest.approx(exact, abs=0.15)


def test_the_belief_over_an_observed_demand_is_that_demand() -> None:
    policy = Planner(draws=1, families=LINEAR).plan(small_log("paper"))
    assert policy.tracker.belief(view_of([1.0, 3.0], 5.0, 7.0, 0)).mean[0] == 7.0
