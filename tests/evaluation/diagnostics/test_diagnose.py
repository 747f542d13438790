"""The terms of the regret bound, against hand computation and identities."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lostsales
from lostsales.data.relative import in_units
from lostsales.data.sublogs import without
from lostsales.demand.censoring.runs import iterations_rule, run_ends
from lostsales.evaluation.diagnostics.diagnose import diagnose
from lostsales.evaluation.diagnostics.regret_bounds import regret_bounds
from lostsales.evaluation.prepared_log import PreparedLog
from lostsales.evaluation.task import EvaluationTask
from lostsales.learn.cfqi.learn import CFQI, learn
from lostsales.learn.cfqi.policy import QPolicy
from lostsales.learn.fit import fit
from lostsales.policy.shop_units import InShopUnits
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
    keys += ["theorem_1", "theorem_2"]
    assert [each.key for each in found.items] == keys
    assert all(each.meaning and each.advice for each in found.items)
    assert [each.key for each in found.items if each.plug_in] == [
        *("coverage", "e_cov", "info_gain", "e_stat", "bap", "tap", "theorem_1", "theorem_2")
    ]
    assert json.dumps(found.to_json())


def test_the_bounds_of_the_theorems_are_assembled_from_the_terms(prepared: PreparedLog) -> None:
    policy = fit(prepared.log, "c-fqi", faithful=True, iterations=3)
    found = diagnose(EvaluationTask.of(policy, prepared, None, 0))
    term = {each.key: each.value or 0.0 for each in found.items}
    alpha, k = run_ends(prepared.runs).chance[0], iterations_rule(int(prepared.runs.usable.sum()), 0.9)
    stays = max(1 - (k - 3 + 1) * (1 - alpha) ** 3, 0.0)
    assert term["theorem_1"] == term["e_stat"]
    assert term["theorem_2"] == pytest.approx(stays * (term["e_stat"] + term["tap"] + term["bap"]) + term["e_cov"])
    assert term["e_cov"] > 0
    _, likely = regret_bounds(found, 0.25)
    expected = 0.75 * (term["e_stat"] + term["tap"] + term["bap"]) + term["e_cov"]
    assert likely.value == pytest.approx(expected)
    rule = diagnose(EvaluationTask.of(BaseStockRule(prepared.log.problem, 20, 4.0), prepared, None, 0))
    assert "not measured, and left out: bap, tap" in rule.by("theorem_2").meaning


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


QUICK: dict[str, Any] = {"iterations": 2, "function": {"kind": "linear"}}


@pytest.mark.parametrize(
    ("settings", "depth"),
    [
        ({}, 1),
        ({"depth_rows": 0.0}, 2),
        ({"depth_rows": 5.0}, 0),
        ({"deeper": "left-out"}, 2),
        ({"deeper": "left-out", "max_depth": 1}, 1),
        ({"independent": True}, 0),
    ],
)
def test_every_term_is_at_the_depths_of_the_policy(settings: dict[str, Any], depth: int, tmp_path: Path) -> None:
    log = small_log("steady", 30)
    prepared = without_model(log)
    found = learn(log, CFQI(**QUICK, **settings))
    found.policy.save(tmp_path / "policy")
    policy = lostsales.load(tmp_path / "policy")
    terms = diagnose(EvaluationTask.of(policy, prepared, None, 0))
    rows = np.array([len(part.rows) for part in found.parts])
    assert len(rows) == depth + 1
    assert terms.by("rho").by_depth == pytest.approx(rows / rows.sum())
    assert f"max_depth is {depth};" in terms.by("omega").meaning
    for key in ("coverage", "d_star", "info_gain"):
        by_depth = terms.by(key).by_depth
        assert by_depth is not None
        assert len(by_depth) == depth + 1
    assert isinstance(policy, QPolicy)
    assert policy.depth_rule == found.policy.depth_rule


def test_a_policy_that_counts_in_another_unit_has_the_depths_of_the_one_inside() -> None:
    log = in_units(small_log("steady", 30), 1 / 12)
    policy = fit(log, CFQI(**QUICK))
    assert isinstance(policy, InShopUnits)
    prepared = without_model(log)
    assert prepared.runs.max_depth == 2
    terms = diagnose(EvaluationTask.of(policy, prepared, None, 0))
    assert "max_depth is 1;" in terms.by("omega").meaning
    assert terms.by("d_star").meaning.startswith("the Q of linear")
