"""The contract of every policy and of every wrapper of policies."""

import json
from collections.abc import Callable
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import lostsales
from lostsales.apps.cli import app
from lostsales.data.encoding import costs_as_features
from lostsales.data.log import SalesLog
from lostsales.demand.censoring.runs import find_runs
from lostsales.evaluation.cross_fitted import CrossFittedPolicy
from lostsales.lab.exact.solve import solve
from lostsales.learn.fit import fit
from lostsales.learn.learner import LEARNERS
from lostsales.policy.action_grid import ActionGrid
from lostsales.policy.chosen_products import ChosenProducts
from lostsales.policy.decision import Decision
from lostsales.policy.history import view_of_rows
from lostsales.policy.policy import POLICIES, Policy, SavedPolicy
from lostsales.policy.simple import BaseStockRule, EpsilonGreedy, Uniform
from lostsales.policy.view import Action, View
from lostsales.simulation.simulator import simulate
from tests.lab.exact.tiny import tiny
from tests.learn.small import frame_of, scenario, small_log

ROWS = 60


@cache
def fitted(method: str) -> SavedPolicy:
    return fit(small_log("released"), method, iterations=2, seed=7)


@cache
def with_costs() -> SalesLog:
    """A log whose order cost varies by row."""
    log = small_log("released", episodes=12, horizon=15)
    order_cost = np.random.default_rng(0).choice([0.5, 8.0], len(log))
    costs = type(log.problem.costs)(lost=2, holding=1)
    problem = log.problem.model_copy(update={"costs": costs})
    return lostsales.read_log(frame_of(log).assign(order_cost=order_cost), problem)


def built(name: str) -> Any:
    """Made once for all tests."""
    if name not in _BUILT:
        _BUILT[name] = POLICY[name]()
    return _BUILT[name]


_BUILT: dict[str, Any] = {}
RELEASED = scenario("released").problem
SOLVED: dict[str, Callable[[], SavedPolicy]] = {
    "oracle": lambda: solve(tiny(), "oracle", discount=0.9).policy,
    "oracle, horizon 4": lambda: solve(tiny(), "oracle", horizon=4).policy,
    "pi-star, beliefs": lambda: solve(tiny(), "pi-star", horizon=4, method="beliefs").policy,
    "pi-star, histories": lambda: solve(tiny(), "pi-star", discount=0.9, method="histories").policy,
}
SAVED: dict[str, Callable[[], SavedPolicy]] = {
    **{method: lambda method=method: fitted(method) for method in LEARNERS.names},  # type: ignore[misc]
    "c-fqi, costs vary": lambda: fit(with_costs(), "c-fqi", iterations=2),
    "c-fqi, chosen products": lambda: ChosenProducts(fitted("c-fqi"), np.array(["0", "4"], dtype=object)),
    **SOLVED,
}


POLICY: dict[str, Callable[[], Policy]] = {
    "uniform": lambda: Uniform(RELEASED),
    "base-stock rule": lambda: BaseStockRule(RELEASED, level=13, price=4),
    "epsilon-greedy": lambda: EpsilonGreedy(fitted("c-fqi"), 0.3),
    "epsilon-greedy, costs vary": lambda: EpsilonGreedy(built("c-fqi, costs vary"), 0.3),
    "cross-fitted": lambda: CrossFittedPolicy((fitted("c-fqi"), fitted("base-stock")), {"0": 1, "3": 0}),
    "cross-fitted, costs vary": lambda: CrossFittedPolicy((built("c-fqi, costs vary"),) * 2, {}),
    **SAVED,
}
RANDOM = {"uniform", "epsilon-greedy", "epsilon-greedy, costs vary", "behaviour"}


@pytest.fixture(params=POLICY)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def view_for(name: str) -> View:
    """Open periods at several depths that the policy can decide on."""
    policy = built(name)
    if name in SOLVED:
        return recorded_view(policy)
    log = small_log("released") if policy.asks == RELEASED.features else costs_as_features(with_costs())
    runs = find_runs(log)
    rows = np.flatnonzero(runs.depth >= 0)
    return view_of_rows(log, runs, np.r_[rows[runs.depth[rows] > 0][:20], rows[: ROWS - 20]])


def recorded_view(policy: Policy) -> View:
    """The third period of a simulation under the policy."""
    seen: list[View] = []

    class Recorded(EpsilonGreedy):
        def decide(self, view: View, rng: np.random.Generator) -> Action:
            seen.append(view)
            return super().decide(view, rng)

    simulate(tiny(), Recorded(policy, 0.5), episodes=ROWS, seed=2)
    return seen[2]


def test_it_declares_what_it_is_shown(name: str) -> None:
    policy = built(name)
    assert policy.observes in ("sales", "history", "demand")
    assert policy.asks[: len(policy.problem.features)] == policy.problem.features
    assert policy.horizon is None or policy.horizon >= 1
    assert policy.refusal is None or isinstance(policy.refusal, str)
    assert (policy.refusal is not None) == (name in SOLVED)


def test_the_same_seed_gives_the_same_actions_of_the_grid(name: str) -> None:
    policy, view = built(name), view_for(name)
    one, other = (policy.decide(view, np.random.default_rng(4)) for _ in range(2))
    grid = ActionGrid.of(policy.problem)
    assert len(one.price) == len(one.order) == len(view.stock) == ROWS
    for values, again, allowed in zip(one, other, (grid.prices, grid.orders), strict=True):
        np.testing.assert_array_equal(values, again)
        assert np.isin(values, allowed).all()


@pytest.mark.parametrize("name", [name for name in POLICY if name not in RANDOM])
def test_some_rows_are_decided_as_all_rows(name: str) -> None:
    policy, view = built(name), view_for(name)
    if name.startswith("cross-fitted"):
        view = named(view)
    whole = policy.decide(view, np.random.default_rng(0))
    for rows in (np.arange(0, ROWS, 3), np.array([7]), np.arange(ROWS)[::-1]):
        some = policy.decide(view.take(rows), np.random.default_rng(0))
        np.testing.assert_array_equal(some.price, whole.price[rows])
        np.testing.assert_array_equal(some.order, whole.order[rows])


def named(view: View) -> View:
    """Rows of series that all belong to a fold."""
    return replace(view, names=np.where(np.arange(ROWS) % 2, "0", "3").astype(object))


def test_the_explanation_has_one_entry_a_row_and_agrees_with_the_decision(name: str) -> None:
    policy, view = built(name), view_for(name)
    decision = policy.explain(view)
    columns = {each.name: getattr(decision, each.name) for each in fields(Decision)}
    columns |= columns.pop("more") | columns.pop("reasons")()
    del columns["in_money"]  # one answer for all rows
    for column, values in columns.items():
        assert values is None or values.shape == (ROWS,), column
    if name in RANDOM - {"epsilon-greedy"}:
        return
    action = (policy.policy if name == "epsilon-greedy" else policy).decide(view, np.random.default_rng(0))
    np.testing.assert_array_equal(decision.price, action.price)
    np.testing.assert_array_equal(decision.order, action.order)


def test_what_it_expects_of_its_own_decision_has_the_value_of_the_decision(name: str) -> None:
    policy, view = built(name), view_for(name)
    decision = policy.explain(view)
    action = Action(decision.price, decision.order)
    found, atoms = policy.expect(view, action), policy.demand_atoms(view, decision.price)
    assert atoms is None or found is not None
    if found is None:
        return
    for each in fields(found):
        assert getattr(found, each.name).shape == (ROWS,), each.name
    np.testing.assert_allclose(found.value, decision.value)
    np.testing.assert_allclose(found.demand, decision.more["expected_demand"])
    if atoms is not None:
        np.testing.assert_allclose(atoms.mean(axis=1), found.demand)
    dearer = policy.expect(view, action, found.unit_cost + 1)
    assert dearer is not None
    np.testing.assert_allclose(found.profit - dearer.profit, decision.order, atol=1e-9)
    np.testing.assert_allclose(found.value - dearer.value, decision.order, atol=1e-9)


@pytest.mark.parametrize("name", SAVED)
def test_a_saved_policy_loads_and_decides_the_same(name: str, tmp_path: Path) -> None:
    policy, view = built(name), view_for(name)
    policy.save(tmp_path / "policy")
    again = lostsales.load(tmp_path / "policy")
    assert POLICIES.get(POLICIES.name_of(type(policy))) is type(again) is type(policy)
    assert (again.observes, again.asks, again.horizon) == (policy.observes, policy.asks, policy.horizon)
    assert (again.problem, again.usual_demand) == (policy.problem, policy.usual_demand)
    assert again.summary() == policy.summary()
    one, other = policy.explain(view), again.explain(view)
    for each in fields(Decision):
        if each.name != "reasons":
            np.testing.assert_equal(getattr(one, each.name), getattr(other, each.name))
    np.testing.assert_equal(one.reasons(), other.reasons())


@pytest.mark.slow
def test_a_policy_that_asks_for_costs_is_evaluated_and_compared() -> None:
    policy = built("c-fqi, costs vary")
    assert [feature.name for feature in policy.asks] == ["economy", "interest", "order_cost"]
    found = lostsales.compare(with_costs(), ("c-fqi",))
    assert [candidate.method for candidate in found.candidates] == ["c-fqi"]


@pytest.mark.slow
def test_a_log_with_costs_by_row_is_compared_on_the_command_line(tmp_path: Path) -> None:
    log = with_costs()
    lostsales.write_log(log, tmp_path / "log.csv")
    result = CliRunner().invoke(app, ["compare", str(tmp_path / "log.csv"), "--methods", "c-fqi", "--json"])
    assert result.exit_code == 0, result.output
    assert [candidate["method"] for candidate in json.loads(result.stdout)["candidates"]] == ["c-fqi"]
