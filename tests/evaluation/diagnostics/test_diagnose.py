"""The terms of the regret bound, against hand computation and identities."""

import json

import numpy as np
import pytest

from lostsales.data.sublogs import without
from lostsales.demand.censoring.runs import iterations_rule, run_ends
from lostsales.evaluation.diagnostics.diagnose import diagnose
from lostsales.evaluation.prepared_log import PreparedLog
from lostsales.evaluation.task import EvaluationTask
from lostsales.learn.fit import fit
from lostsales.policy.simple import BaseStockRule, Uniform
from tests.evaluation.prepared_logs import without_model
from tests.learn.small import scenario, small_log


@pytest.fixture(scope="module")
def prepared() -> PreparedLog:
    return PreparedLog.of(small_log("released", 10))


def test_every_term_has_a_meaning_and_an_advice(prepared: PreparedLog) -> None:
    policy = fit(prepared.log, "c-fqi", iterations=3)
    found = diagnose(EvaluationTask.of(policy, prepared, None, 0))
    keys = ["rho", "omega", "coverage", "e_cov", "d_star", "info_gain", "e_stat", "bap", "tap", "imputation", "k"]
    assert [each.key for each in found.items] == keys
    assert all(each.meaning and each.advice for each in found.items)
    assert [each.key for each in found.items if each.plug_in] == [
        *("coverage", "e_cov", "info_gain", "e_stat", "bap", "tap")
    ]
    assert json.dumps(found.to_json())


def test_shares_iterations_and_unidentifiable_regret_follow_the_paper(prepared: PreparedLog) -> None:
    found = diagnose(EvaluationTask.of(Uniform(scenario("released").problem), prepared, None, 0))
    shares = found.by("rho").by_depth
    assert shares is not None
    assert shares.sum() == pytest.approx(1.0)
    runs = prepared.runs
    rows = int(runs.usable.sum())
    assert found.by("k").value == iterations_rule(rows, 0.9)
    alpha = run_ends(runs).chance[0]
    greatest = np.abs(prepared.profit).max()
    wanted = (iterations_rule(rows, 0.9) - 3 + 1) * (1 - alpha) ** 3 * 2 * greatest / 0.1
    assert found.by("e_cov").value == pytest.approx(wanted)
    assert found.by("bap").value is None


def test_the_coverage_ratio_is_one_for_the_behaviour_and_larger_off_support(prepared: PreparedLog) -> None:
    problem = scenario("released").problem
    own = diagnose(EvaluationTask.of(Uniform(problem), prepared, None, 0)).by("coverage").value
    far = problem.model_copy(update={"prices": (6.0,), "orders": (0.0, 60.0)})
    other = diagnose(EvaluationTask.of(BaseStockRule(far, 200, 6.0), prepared, None, 0)).by("coverage").value
    assert own is not None
    assert other is not None
    assert own == pytest.approx(1.0, abs=0.25)
    assert other > 1.5


def test_without_censored_runs_no_regret_is_unidentifiable() -> None:
    log = small_log("nonlinear", 8)
    uncensored = without(log, log.censored)
    found = diagnose(EvaluationTask.of(Uniform(scenario("nonlinear").problem), without_model(uncensored), None, 0))
    assert found.by("e_cov").value == 0.0
