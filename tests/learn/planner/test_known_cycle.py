"""A calendar is a state: weekdays follow one another in the plan as they do, and what is known ahead is used."""

from dataclasses import replace

import numpy as np
import pytest

from lostsales.demand.law.demand_law import Family
from lostsales.demand.law.demand_model import DemandModel
from lostsales.demand.law.means import LinearMean
from lostsales.demand.law.selection import fit_law
from lostsales.learn.planner.bellman_loops import Transitions
from lostsales.learn.planner.known_cycle import find_cycle
from lostsales.learn.planner.market_states import MarketStates, market_states, position
from lostsales.learn.planner.planner import Planner
from lostsales.learn.planner.policy import PlanPolicy
from lostsales.learn.planner.policy_iteration import iterate
from lostsales.policy.file_format import load
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import simulate
from lostsales.types import Floats, Ints
from tests.learn.planner.true_law import view_of

POISSON = (Family.counts("linear", "poisson"),)


@pytest.fixture(scope="module")
def model() -> DemandModel:
    log, _ = simulate(Scenario.load("weekday-counts"), episodes=4, seed=1)
    return fit_law(log, POISSON)


@pytest.fixture(scope="module")
def states(model: DemandModel) -> MarketStates:
    return market_states(model.evidence, model.law, features=Scenario.load("weekday-counts").problem.features)


def weekday(day: int) -> Floats:
    return np.eye(7)[[day]]


def test_seven_days_are_seven_states_with_known_successors(states: MarketStates) -> None:
    """Four of them have the same level in the scenario: two numbers would take one for the other."""
    assert len(states.cycle) == len(states.cells) == len(states.transition) == 7
    at = 0
    for _ in range(7):  # the successor of a state, by the plan's own transition
        at = int(states.transition[states.cells[at, 1]].argmax())
        assert states.transition[states.cells[at, 1]].max() == 1
        assert states.transition[:, at].sum() == 1
    assert at == 0
    today = np.array([int(states.cycle.state(weekday(day))[0]) for day in range(7)])
    np.testing.assert_array_equal(states.cycle.following[today], np.roll(today, -1))


def test_the_level_of_each_day_is_that_of_the_law(states: MarketStates) -> None:
    for day in range(7):
        state = states.cycle.state(weekday(day))[0]
        at = position(states.z(weekday(day), 0.0), states.z_nodes)[0]
        assert at == pytest.approx(states.cells[state, 0], abs=1e-6)


def test_decisions_and_the_plan_agree_on_tomorrow(states: MarketStates) -> None:
    node, weight = states.cell_w(np.array([5.0]))
    for day in range(7):
        state = states.cycle.state(weekday(day))[0]
        found = states.w_position(weekday(day), np.array([[5.0]]))
        assert found[0, 0] == pytest.approx(node[state, 0] + weight[state, 0])


def test_known_features_of_tomorrow_replace_the_usual_successor(states: MarketStates) -> None:
    """Closed on the day after: the day after that comes next."""
    usual = states.w_position(weekday(2), np.array([[5.0]]))
    skipped = states.w_position(weekday(2), np.array([[5.0]]), weekday(4))
    direct = states.w_position(weekday(3), np.array([[5.0]]))
    assert skipped[0, 0] == direct[0, 0] != usual[0, 0]


def test_a_feature_that_only_tends_to_follow_is_no_calendar() -> None:
    log, _ = simulate(Scenario.load("steady"), episodes=10, seed=1)
    model = fit_law(log, (Family("linear", False),))
    follows = (np.diff(model.evidence.rows) == 1) & (np.diff(model.evidence.series) == 0)
    index = LinearMean(0.0, np.ones(model.evidence.market.shape[1]))
    assert len(find_cycle(model.evidence, log.problem.features, index, follows)) == 1


def test_features_beside_a_calendar_keep_their_chain() -> None:
    """A week and a Markov chain: the states are pairs, and each moves as it would alone."""
    keys = Scenario.load("weekday-counts").model_dump()
    keys["features"]["economy"] = {"kind": "markov", "transition": [[0.8, 0.2], [0.2, 0.8]], "start": [0.5, 0.5]}
    keys["demand"] = keys.pop("demand_law")
    keys["demand"]["features"]["economy"] = 0.4
    log, _ = simulate(Scenario.model_validate(keys), episodes=20, seed=1)
    model = fit_law(log, POISSON)
    states = market_states(model.evidence, model.law, features=log.problem.features)
    assert len(states.cycle) == 7
    np.testing.assert_allclose(states.transition.sum(axis=1), 1)
    high = np.column_stack([weekday(0), [1.0]])
    at = states.w_position(high, np.array([[5.0]]))[0, 0]
    low, share = int(at), at - int(at)
    by_cell = states.transition[low] * (1 - share) + states.transition[min(low + 1, len(states.transition) - 1)] * share
    level = states.z_nodes[states.cells[:, 0]]
    tuesday = states.z(np.column_stack([weekday(1), [1.0]]), 0.0)[0]
    stays = by_cell[np.abs(level - tuesday) < 1e-3].sum()
    assert stays == pytest.approx(0.8, abs=0.05)


def test_sweeps_against_time_find_the_values_of_the_chain(states: MarketStates) -> None:
    """Exactly, by the linear system, but for what is alike in the states of one day."""
    profit, discount = np.arange(7.0)[:, None], 0.97 * np.array([0.5, 1.0])  # two states a day
    transitions = Transitions(np.zeros(0), states.cells[:, 0], states.cells[:, 1:], np.zeros((7, 1)))
    sweeps = []

    def sweep(values: Floats, _best: Ints, _greedy: bool, by_node: Floats, own: Transitions) -> None:
        sweeps.append(own.z_node)
        values[:] = profit[states.cells[:, 0] == own.z_node] + discount * by_node[own.w_node[:, 0]]

    values = np.zeros((7, 2))
    iterate(sweep, values, states, transitions, tolerance=1e-9)
    chain = states.transition[states.cells[:, 1]]
    for state in range(2):
        exact = np.linalg.solve(np.eye(7) - discount[state] * chain, profit[:, 0])
        np.testing.assert_allclose(values[:, state], exact, rtol=1e-6)
    order = np.array(sweeps[:7])[:, 0]
    assert [int(states.cycle.following[states.cells[:, 0] == z][0]) for z in order[1:]] == [
        int(np.flatnonzero(states.cells[:, 0] == z)[0]) for z in order[:-1]
    ]


@pytest.fixture(scope="module")
def policy(model: DemandModel) -> PlanPolicy:
    log, _ = simulate(Scenario.load("weekday-counts"), episodes=4, seed=1)
    return Planner(draws=1, iterations=8).plan(log, model=model)


def test_the_order_is_for_the_demand_of_tomorrow(policy: PlanPolicy) -> None:
    """Orders arrive after sales: on the fifth day for the best one, on the sixth for a weak one."""
    orders = [float(policy.explain(view_of([float(day)], 6.0, 7.0, 0)).order[0]) for day in range(7)]
    assert orders[4] > orders[1]
    assert orders[4] > orders[5]


def test_an_announced_day_changes_the_order(policy: PlanPolicy) -> None:
    view = view_of([1.0], 6.0, 7.0, 0)
    usual, busy, unknown = (
        policy.explain(each).order[0]
        for each in (
            view,
            replace(view, coming=(np.array([5.0]),)),
            replace(view, coming=(np.array([np.nan]),)),
        )
    )
    assert busy > usual == unknown


def test_a_saved_plan_decides_alike(policy: PlanPolicy, tmp_path: object) -> None:
    policy.save(f"{tmp_path}/plan")
    again = load(f"{tmp_path}/plan")
    for day in range(7):
        view = view_of([float(day)], 5.0, 6.0, 0)
        found, wanted = again.explain(view), policy.explain(view)
        assert found.order == wanted.order
        assert found.value == pytest.approx(wanted.value, rel=1e-5)
