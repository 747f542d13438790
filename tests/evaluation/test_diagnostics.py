"""The terms of the regret bound, against hand-made logs and identities."""

import json

import numpy as np
import pytest

from lostsales.data.sublogs import without
from lostsales.demand.censoring.runs import iterations_rule, run_ends
from lostsales.evaluation.diagnostics import diagnose, effective_dimension
from lostsales.evaluation.prepared_log import PreparedLog
from lostsales.evaluation.task import EvaluationTask
from lostsales.learn.fit import fit
from lostsales.policy.simple import BaseStockRule, Uniform
from tests.evaluation.judged import seen_only
from tests.learn.small import scenario, small_log


@pytest.fixture(scope="module")
def ledger() -> PreparedLog:
    return PreparedLog.of(small_log("released", 10))


def test_every_term_has_a_sentence_and_an_advice(ledger: PreparedLog) -> None:
    policy = fit(ledger.log, "c-fqi", iterations=3)
    found = diagnose(EvaluationTask.of(policy, ledger, None, 0))
    keys = ["rho", "omega", "coverage", "e_cov", "d_star", "bap", "tap", "imputation", "k"]
    assert [each.key for each in found.items] == keys
    assert all(each.meaning and each.advice for each in found.items)
    assert [each.key for each in found.items if each.plug_in] == ["coverage", "e_cov", "bap", "tap"]
    assert json.dumps(found.to_json())
    for key in ("bap", "tap"):
        value = found.by(key).value
        assert value is not None
        assert value >= 0


def test_shares_and_rules_are_the_papers(ledger: PreparedLog) -> None:
    found = diagnose(EvaluationTask.of(Uniform(scenario("released").problem), ledger, None, 0))
    shares = found.by("rho").by_depth
    assert shares is not None
    assert shares.sum() == pytest.approx(1.0)
    runs = ledger.runs
    rows = int(runs.usable.sum())
    assert found.by("k").value == iterations_rule(rows, 0.9)
    alpha = run_ends(runs).chance[0]
    greatest = np.abs(ledger.profit).max()
    wanted = (iterations_rule(rows, 0.9) - 3 + 1) * (1 - alpha) ** 3 * 2 * greatest / 0.1
    assert found.by("e_cov").value == pytest.approx(wanted)
    assert found.by("bap").value is None


def test_what_the_log_does_itself_is_covered_and_what_it_never_does_is_not(ledger: PreparedLog) -> None:
    problem = scenario("released").problem
    own = diagnose(EvaluationTask.of(Uniform(problem), ledger, None, 0)).by("coverage").value
    far = problem.model_copy(update={"prices": (6.0,), "orders": (0.0, 60.0)})
    other = diagnose(EvaluationTask.of(BaseStockRule(far, 200, 6.0), ledger, None, 0)).by("coverage").value
    assert own is not None
    assert other is not None
    assert own == pytest.approx(1.0, abs=0.25)
    assert other > 1.5


def test_the_effective_dimension_of_equal_directions() -> None:
    """With m directions of weight far above the noise it is nearly m; without any it is 0."""
    assert effective_dimension(np.full(12, 1000.0), 1.0) == 12
    assert effective_dimension(np.zeros(12), 1.0) == 0
    assert effective_dimension(np.full(12, 1.0), 1.0) == 6


def test_no_runs_leave_nothing_unidentifiable() -> None:
    log = small_log("nonlinear", 8)
    calm = without(log, log.censored)
    found = diagnose(EvaluationTask.of(Uniform(scenario("nonlinear").problem), seen_only(calm), None, 0))
    assert found.by("e_cov").value == 0.0
