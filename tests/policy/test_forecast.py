"""Forecasts by the law of a policy: a law that is known by heart, and the law of a plan against what happens."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from lostsales.errors import LostSalesError
from lostsales.learn.planner.planner import Planner
from lostsales.policy.base import PolicyBase
from lostsales.policy.forecast import forecast_demand
from lostsales.policy.simple import BaseStockRule
from lostsales.policy.view import Action, View
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import simulate
from lostsales.types import Floats
from tests.learn.planner.true_law import true_model


@dataclass(frozen=True)
class Counts(PolicyBase):
    """Demand is the last one and its feature, give or take one."""

    def demand_atoms(self, view: View, price: Floats) -> Floats:  # noqa: ARG002
        """Three equally likely demands."""
        return np.asarray((view.last_sales + view.features[0])[:, None] + np.array([-1.0, 0.0, 1.0]))


def one_row(demand: float) -> View:
    none = np.zeros(1, dtype=np.int64)
    return View(0, (np.array([2.0]),), np.array([5.0]), np.array([demand]), none.astype(bool), none, None)


def test_a_walk_with_known_steps() -> None:
    """Steps of 2, 10 and 100 with a variance of 2/3 each."""
    coming = [(np.array([10.0]),), (np.array([100.0]),)]
    found = forecast_demand(Counts(), one_row(7.0), np.ones(1), coming, (0.0, 1.0), paths=20_000)  # type: ignore[arg-type]
    np.testing.assert_allclose(found.mean[0], [9, 19, 119], atol=0.03)
    np.testing.assert_array_equal(found.quantiles[:, 0], [[8, 17, 116], [10, 21, 122]])


def test_a_policy_without_a_law_is_refused() -> None:
    problem = Scenario.load("released").problem
    with pytest.raises(LostSalesError, match="has no demand model"):
        forecast_demand(BaseStockRule(problem, level=20, price=6.0), one_row(7.0), np.ones(1), [], (0.5,))


def test_the_band_of_a_plan_covers_what_happens() -> None:
    """With the true law of `steady`, 80 % of the demands of two periods lie between the 10 % and 90 % levels."""
    world = Scenario.load("steady")
    log, _ = simulate(world, episodes=6, seed=3)
    policy = Planner(draws=1).plan(log, model=true_model(log, "paper"))
    told, truth = simulate(replace_horizon(world, 4), episodes=300, seed=9)
    # All prices are those of the log: those of the first period are held, so only series that hold theirs count.
    price = told.price.reshape(300, 4)
    held = np.flatnonzero((price[:, 1:3] == price[:, [1]]).all(axis=1))
    features = told.features.reshape(300, 4, -1)
    demand = truth.demand.reshape(300, 4)
    none = np.zeros(len(held), dtype=np.int64)
    view = View(0, tuple(features[held, 1].T), np.full(len(held), 5.0), demand[held, 0], none.astype(bool), none, None)
    found = forecast_demand(policy, view, price[held, 1], [tuple(features[held, 2].T)], (0.1, 0.9))
    inside = (demand[held, 1:3] >= found.quantiles[0]) & (demand[held, 1:3] <= found.quantiles[1])
    assert 0.72 < inside.mean() < 0.97


def test_today_is_exactly_what_the_policy_expects() -> None:
    """The mean of the forecast is that of the equally likely demands, without noise of the paths."""
    world = Scenario.load("steady")
    log, _ = simulate(world, episodes=6, seed=3)
    policy = Planner(draws=1).plan(log, model=true_model(log, "paper"))
    none = np.zeros(4, dtype=np.int64)
    features = tuple(log.features[:4].T)
    view = View(0, features, np.full(4, 5.0), np.array([2.0, 6.0, 9.0, 14.0]), none.astype(bool), none, None)
    price = np.full(4, log.price[0])
    found = forecast_demand(policy, view, price, [features, features], (0.1, 0.9), paths=7)
    expected = policy.expect(view, Action(price, np.zeros(4)))
    np.testing.assert_allclose(found.mean[:, 0], expected.demand, rtol=1e-9)
    many = forecast_demand(policy, view, price, [features, features], (0.1, 0.9), seed=1, paths=4000)
    few = forecast_demand(policy, view, price, [features, features], (0.1, 0.9), seed=2, paths=400)
    np.testing.assert_allclose(few.mean, many.mean, rtol=0.02)


def replace_horizon(world: Scenario, periods: int) -> Scenario:
    return world.model_copy(update={"horizon": periods})


def test_today_is_expected_from_the_belief() -> None:
    view = one_row(7.0)
    found = forecast_demand(Counts(), replace(view, last_sales=np.array([3.0])), np.ones(1), [], (0.5,))  # type: ignore[arg-type]
    assert found.mean.shape == (1, 1)
    assert 4.8 < found.mean[0, 0] < 5.2
