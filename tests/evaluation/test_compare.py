"""`compare`: cross-fitting, ranking and choice."""

import json
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pytest

from lostsales.data.problem import Problem
from lostsales.demand.censoring.runs import find_runs
from lostsales.errors import LostSalesError
from lostsales.evaluation.advice import KEEP_CURRENT
from lostsales.evaluation.compare import Comparison, compare
from lostsales.evaluation.cross_fitted import CrossFittedPolicy
from lostsales.learn.baselines.threshold_tuning import BaseStock, Newsvendor
from lostsales.learn.fit import fit
from lostsales.learn.learner import Learner
from lostsales.policy.base import PolicyBase
from lostsales.policy.history import view_of_rows
from lostsales.policy.view import Action, View
from lostsales.simulation.simulator import simulate
from tests.evaluation.prepared_logs import epsilon_greedy_policy
from tests.learn.small import scenario, small_log


@dataclass(frozen=True)
class FixedPrice(PolicyBase):
    """Charges its own number."""

    problem: Problem
    number: float
    observes: Literal["sales"] = "sales"

    def decide(self, view: View, rng: np.random.Generator) -> Action:  # noqa: ARG002
        """The number as the price of every series."""
        return Action(np.full(len(view.stock), self.number), view.stock)


def test_a_cross_fitted_policy_decides_by_the_policy_of_each_series() -> None:
    log = small_log("steady", 5)
    rows = np.arange(len(log))
    view = view_of_rows(log, find_runs(log), rows)
    own = {name: number % 2 for number, name in enumerate(log.names)}
    policy = CrossFittedPolicy((FixedPrice(log.problem, 0), FixedPrice(log.problem, 1)), own)
    decided = policy.decide(view, np.random.default_rng(0))
    np.testing.assert_array_equal(decided.price, log.series % 2)
    np.testing.assert_array_equal(decided.order, log.stock)


def test_a_cross_fitted_policy_of_equal_policies_is_that_policy() -> None:
    log = small_log("released", 6)
    policy = fit(log, "c-fqi", iterations=2)
    view = view_of_rows(log, find_runs(log), np.arange(len(log)))
    alone = policy.decide(view, np.random.default_rng(0))
    names = {name: number % 3 for number, name in enumerate(log.names)}
    np.testing.assert_array_equal(CrossFittedPolicy((policy,) * 3, names).decide(view, np.random.default_rng(0)), alone)


@pytest.fixture(scope="module")
def found() -> Comparison:
    return compare(small_log("nonlinear", 10), METHODS, settings=INVALID, seed=2, quick=True)


METHODS = ("base-stock", "behaviour", "c-fqi")
INVALID: dict[str, dict[str, Any]] = {"c-fqi": {"iterations": 0}}


def test_the_best_method_with_a_proven_gain_is_chosen(found: Comparison) -> None:
    assert found.choice == "base-stock"
    assert found.sentence.startswith("deploy base-stock: a proven gain, +")
    assert [each.method for each in found.candidates] == list(METHODS)
    first, second, _ = found.candidates
    assert first.gain is not None
    assert first.gain.proven
    assert first.behind is None
    assert second.behind is not None
    assert second.behind.proven
    assert not second.gain.proven if second.gain else False


def test_a_method_that_cannot_be_fitted_has_a_reason_and_no_gain(found: Comparison) -> None:
    assert found.candidates[-1].gain is None
    assert "iterations: Input should be greater than or equal to 1" in str(found.candidates[-1].reason)


@pytest.mark.slow
def test_equal_seeds_give_equal_comparisons(found: Comparison) -> None:
    again = compare(small_log("nonlinear", 10), METHODS, settings=INVALID, seed=2, quick=True)
    assert json.dumps(found.to_json()) == json.dumps(again.to_json())


def test_methods_are_names_or_settings_of_learners() -> None:
    log = small_log("newsvendor", 10)
    methods: list[str | Learner] = ["newsvendor", Newsvendor(seed=0), Newsvendor(seed=1), BaseStock(seed=0)]
    found = compare(log, methods, estimator="fqe", horizon=5)
    by_name = {each.method: each for each in found.candidates}
    assert set(by_name) == {"newsvendor", "newsvendor (2)", "newsvendor (3)", "base-stock"}
    assert by_name["newsvendor"].gain == by_name["newsvendor (2)"].gain


def test_the_usual_methods_are_compared_unless_some_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lostsales.evaluation.compare.USUAL_METHODS", ("newsvendor", "not-installed"))
    found = compare(small_log("newsvendor", 10), estimator="fqe", horizon=5)
    assert [each.method for each in found.candidates] == ["newsvendor"]


def test_without_a_proven_gain_there_is_no_choice() -> None:
    log, _ = simulate(scenario("nonlinear"), epsilon_greedy_policy("nonlinear"), 10, 2)
    found = compare(log, ("behaviour",), quick=True)
    assert found.choice is None
    assert found.sentence.startswith(KEEP_CURRENT)


def test_a_stock_off_its_balance_leads_to_no_choice_whatever_the_figures(found: Comparison) -> None:
    log = small_log("nonlinear", 10)
    broken = replace(log, notes=replace(log.notes, balance_rows=100, off_balance_rows=99, follows_if="pigs fly"))
    withheld = compare(broken, METHODS, settings=INVALID, seed=2, quick=True)
    assert found.choice is not None  # of the same figures
    assert [each.gain for each in withheld.candidates] == [each.gain for each in found.candidates]
    assert withheld.choice is None
    finding = "the stock of the log does not follow its balance in 99.0% of rows (it would if pigs fly)"
    assert withheld.sentence == f"{KEEP_CURRENT}: the gain of no method can be determined, as {finding}"
    assert broken.notes.balance_warning in withheld.notes


class Failing(Newsvendor):
    """Fails as code of others may."""

    method = "failing"
    how: Literal["memory", "numpy"] = "memory"

    def fit(self, log: Any, progress: Any = None) -> Any:  # noqa: ARG002
        """Raise."""
        if self.how == "memory":
            raise MemoryError
        return np.linalg.inv(np.zeros((2, 2)))


def test_a_method_that_fails_in_any_way_leaves_the_results_of_the_others() -> None:
    log = small_log("newsvendor", 12, horizon=8)
    alone = compare(log, [Newsvendor()])
    found = compare(log, [Failing(), Newsvendor(), Failing(how="numpy")])
    reasons = {each.method: each.reason for each in found.candidates}
    assert reasons == {
        "newsvendor": None,
        "failing": "it ran out of memory; try --quick, fewer --rows or one worker",
        "failing (2)": "it failed with LinAlgError: Singular matrix",
    }
    assert found.choice == alone.choice
    assert found.candidates[0].gain == alone.candidates[0].gain
    with pytest.raises(LostSalesError, match="no method could be fitted: failing: it ran out of memory"):
        compare(log, [Failing()])


@pytest.mark.slow
def test_the_same_seed_gives_the_same_answer_on_any_number_of_workers() -> None:
    log = small_log("newsvendor", 30, horizon=8)
    one, two = (compare(log, ["newsvendor", "base-stock"], seed=3, workers=workers) for workers in (1, 2))
    assert json.dumps(one.to_json()) == json.dumps(two.to_json())


def test_a_quick_comparison_says_so_and_has_fewer_folds_and_units() -> None:
    log = small_log("newsvendor", 30, horizon=8)
    found = compare(log, ["newsvendor"], quick=True)
    assert any(note.startswith("quick: ") for note in found.notes)
    assert found.candidates[0].contributions is not None
    assert len(found.candidates[0].contributions) == 10
    usual = compare(log, ["newsvendor"])
    assert usual.candidates[0].gain is not None
    assert found.candidates[0].gain is not None
    width = usual.candidates[0].gain.high - usual.candidates[0].gain.low
    assert abs(found.candidates[0].gain.value - usual.candidates[0].gain.value) < width


def test_what_is_left_out_is_counted() -> None:
    log = small_log("steady", 12)
    found = compare(log, ["newsvendor"], quick=True)
    assert found.left_out["last row of its series"] == 12
    assert found.to_json()["left_out"] == found.left_out


@pytest.mark.slow
def test_of_a_large_log_a_part_is_compared_on_in_two_folds() -> None:
    log = small_log("newsvendor", 60, horizon=8)
    found = compare(log, ["newsvendor"], rows=240)
    assert found.notes[0] == "evaluated on 30 of 60 series, drawn at random"
    assert found.notes[-1] == "each method is fitted 2 times, without each of 2 folds, not 5 times"
    assert compare(log, ["newsvendor"]).notes == ()
