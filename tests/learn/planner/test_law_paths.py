"""Sampled futures of a law of demand: their demands are those of the law, and what is expected is a regression."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import lostsales
from lostsales.learn.planner.decision_loops import PricedRows, Rows, atoms_of_rows
from lostsales.learn.planner.following import ByPaths
from lostsales.learn.planner.law_path_loops import MarketPaths, draw_demand, fill_expected
from lostsales.learn.planner.paths.search import common_draws
from lostsales.learn.planner.planner import Planner
from lostsales.learn.planner.policy import PlanPolicy
from lostsales.learn.planner.state_grid import Dynamics, Memory
from lostsales.policy.view import View
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import simulate
from tests.learn.planner.true_law import LINEAR, view_of

PERIODS, PATHS = 6, 128


@pytest.fixture(scope="module")
def policy() -> PlanPolicy:
    log, _ = simulate(Scenario.load("steady", ("supply.lead_time=8",)), episodes=10, seed=1)
    found = Planner(draws=1, families=LINEAR).plan(log)
    assert isinstance(found.following, ByPaths)
    return found


def row_of(policy: PlanPolicy, view: View, price: float) -> Rows:
    belief, prices = policy.tracker.belief(view), np.array([[price]])
    return Rows(
        z_position=belief.z_position,
        w_position=policy.states.w_position(belief.features, prices),
        depth=view.depth.astype(np.int64),
        lag=belief.lag,
        stays=belief.stays,
        stock=view.stock,
        price=prices,
        price_position=np.array([[float(np.searchsorted(policy.prices, price))]]),
        order=np.array([[0.0, 1.0]]),
        pipeline=np.zeros((1, 7)),
        phase=np.zeros(1, dtype=np.int64),
    )


def drawn(policy: PlanPolicy, rows: Rows) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    following = policy.following
    assert isinstance(following, ByPaths)
    draws, demand = common_draws(PATHS, PERIODS, 7, 8, 0), np.empty((PERIODS, PATHS))
    even = np.random.default_rng(1).permuted(np.tile((np.arange(PATHS) + 0.5) / PATHS, (PERIODS, 1)), axis=1).T
    market = MarketPaths(following.z_node, following.w_node, following.reached, np.ascontiguousarray(even))
    stock_step, lag_step = map(float, policy.steps)
    memory = Memory(1.0, following.carry, following.offset)
    dynamics = Dynamics(policy.physics, 0.97, stock_step, lag_step, memory)
    draw_demand(rows, 0, 0, 0, policy.tables[0], market, draws, dynamics, demand)
    return demand


def test_demands_of_today_are_those_of_the_law_and_later_ones_follow_the_last(policy: PlanPolicy) -> None:
    low, high = (row_of(policy, view_of([0.0, 3.0], 5.0, last, 0), 4.25) for last in (2.0, 20.0))
    today = []
    for rows in (low, high):
        atoms = np.empty((1, policy.latents.shape[-1]))
        priced = PricedRows(rows.z_position, rows.price_position[:, 0], rows.depth, rows.lag, rows.stock)
        atoms_of_rows(atoms, priced, policy.tables[0])
        demand = drawn(policy, rows)
        np.testing.assert_allclose(np.sort(demand[0]), np.repeat(atoms[0], PATHS // len(atoms[0])))
        # What a period sells moves the next one, path by path.
        assert np.corrcoef(demand[0], demand[1])[0, 1] > 0.5
        today.append(demand.mean(axis=1))
    apart = today[1] - today[0]
    assert (apart > 0).all()
    assert (np.diff(apart) < 0).all()  # the last demand is forgotten by and by


def test_what_is_expected_is_the_regression_on_the_last_demand() -> None:
    rng = np.random.default_rng(3)
    demand, found, span = rng.gamma(4.0, 2.0, (5, 40)), np.empty((5, 40)), 3
    fill_expected(demand, span, found)
    assert found[0] == pytest.approx(demand[:span].mean())
    for t in range(1, 5):
        ahead = demand[t : t + span].mean(axis=0)
        np.testing.assert_allclose(found[t], np.polyval(np.polyfit(demand[t - 1], ahead, 1), demand[t - 1]))


def test_a_saved_policy_decides_the_same_to_the_bit_and_counts_what_is_on_the_way(
    policy: PlanPolicy, tmp_path: Path
) -> None:
    policy.save(tmp_path / "policy")
    again, rng = lostsales.load(tmp_path / "policy"), np.random.default_rng(0)
    view = view_of([1.0, 3.0], 5.0, 9.0, 0)
    empty, full = (replace(view, pipeline=np.full((1, 7), each)) for each in (0.0, 9.0))
    ours, theirs = (each.decide(empty, rng) for each in (policy, again))
    assert (ours.price == theirs.price).all()
    assert (ours.order == theirs.order).all()
    assert policy.explain(empty).value == again.explain(empty).value
    assert policy.decide(full, rng).order < ours.order
