"""Which method to deploy, if any."""

import json
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pytest

from lostsales.data.problem import Problem
from lostsales.demand.censoring.runs import find_runs
from lostsales.errors import SettingError
from lostsales.evaluation.compare import KEEP, Comparison, compare
from lostsales.evaluation.cross_fitted import CrossFittedPolicy
from lostsales.learn.fit import fit
from lostsales.policy.base import PolicyBase
from lostsales.policy.history import view_of_rows
from lostsales.policy.view import Action, View
from lostsales.simulation.simulator import simulate
from tests.evaluation.judged import exploring
from tests.learn.small import scenario, small_log


@dataclass(frozen=True)
class Names(PolicyBase):
    """Charges its own number, whoever asks."""

    problem: Problem
    number: float
    observes: Literal["sales"] = "sales"

    def decide(self, view: View, rng: np.random.Generator) -> Action:  # noqa: ARG002
        """Its number for all."""
        return Action(np.full(len(view.stock), self.number), view.stock)


def test_every_policy_of_a_panel_decides_for_its_own() -> None:
    log = small_log("steady", 5)
    rows = np.arange(len(log))
    view = view_of_rows(log, find_runs(log), rows)
    own = {name: number % 2 for number, name in enumerate(log.names)}
    panel = CrossFittedPolicy((Names(log.problem, 0), Names(log.problem, 1)), own)
    decided = panel.decide(view, np.random.default_rng(0))
    np.testing.assert_array_equal(decided.price, log.series % 2)
    np.testing.assert_array_equal(decided.order, np.asarray(log.stock))


def test_a_panel_of_one_policy_is_that_policy() -> None:
    log = small_log("released", 6)
    policy = fit(log, "c-fqi", iterations=2)
    view = view_of_rows(log, find_runs(log), np.arange(len(log)))
    alone = policy.decide(view, np.random.default_rng(0))
    names = {name: number % 3 for number, name in enumerate(log.names)}
    np.testing.assert_array_equal(CrossFittedPolicy((policy,) * 3, names).decide(view, np.random.default_rng(0)), alone)


@pytest.fixture(scope="module")
def found() -> Comparison:
    return compare(small_log("nonlinear", 10), METHODS, options=BAD, seed=2)


METHODS = ("base-stock", "behaviour", "c-fqi")
BAD: dict[str, dict[str, Any]] = {"c-fqi": {"iterations": 0}}


def test_a_proven_gain_is_named(found: Comparison) -> None:
    assert found.choice == "base-stock"
    assert found.sentence.startswith("deploy base-stock: a gain of")
    assert [each.method for each in found.candidates] == list(METHODS)
    first, second, _ = found.candidates
    assert first.gain is not None
    assert first.gain.proven
    assert first.behind is None
    assert second.behind is not None
    assert second.behind.proven
    assert not second.gain.proven if second.gain else False


def test_a_method_that_cannot_be_fitted_is_told_apart(found: Comparison) -> None:
    assert found.candidates[-1].gain is None
    assert "iterations: Input should be greater than or equal to 1" in str(found.candidates[-1].reason)


def test_the_same_seed_gives_the_same_answer(found: Comparison) -> None:
    again = compare(small_log("nonlinear", 10), METHODS, options=BAD, seed=2)
    assert json.dumps(found.to_json()) == json.dumps(again.to_json())


def test_without_a_proven_gain_one_keeps_what_one_does() -> None:
    log, _ = simulate(scenario("nonlinear"), exploring("nonlinear"), 6, 2)
    found = compare(log, ("behaviour",))
    assert found.choice is None
    assert found.sentence.startswith(KEEP)


def test_bad_requests_are_refused() -> None:
    with pytest.raises(SettingError, match="no method 'guess'"):
        compare(small_log("steady", 6), ("guess",))
    with pytest.raises(SettingError, match="at least one method"):
        compare(small_log("steady", 6), ())
    with pytest.raises(SettingError, match="no estimator 'guess'"):
        compare(small_log("steady", 6), ("base-stock",), estimator="guess")
