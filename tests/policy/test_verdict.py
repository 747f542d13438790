"""The verdict of an evaluation, which a policy and its file carry to those who use it."""

from pathlib import Path
from typing import Literal

import numpy as np
import pytest

import lostsales
from lostsales.evaluation.interval import Interval
from lostsales.policy.chosen_products import ChosenProducts
from lostsales.policy.policy import SavedPolicy
from lostsales.policy.provenance import (
    EVALUATE_FIRST,
    NOT_EVALUATED,
    PolicyVerdict,
    verdict_of,
    verdict_sentence,
    with_verdict,
)
from tests.apps.running import run, run_json
from tests.learn.small import frame_of

DEPLOY = PolicyVerdict(advice="deploy", reason="a proven gain, +3.00 per week", held_out=True)


@pytest.fixture(scope="module")
def log() -> lostsales.SalesLog:
    return lostsales.simulate("released", episodes=5, seed=1)[0]


@pytest.fixture
def policy(log: lostsales.SalesLog) -> SavedPolicy:
    return lostsales.fit(log, "base-stock")


def test_a_file_carries_the_verdict(policy: SavedPolicy, tmp_path: Path) -> None:
    policy.save(tmp_path / "policy")
    assert verdict_of(lostsales.load(tmp_path / "policy")) is None
    assert verdict_sentence(lostsales.load(tmp_path / "policy")) == EVALUATE_FIRST
    with_verdict(policy, DEPLOY).save(tmp_path / "policy")
    assert verdict_of(lostsales.load(tmp_path / "policy")) == DEPLOY


def test_recommendations_carry_the_verdict_and_keep_what_is_not_chosen(
    log: lostsales.SalesLog, policy: SavedPolicy
) -> None:
    frame = frame_of(log)
    assert set(policy.recommend(frame)["verdict"]) == {NOT_EVALUATED}
    chosen = ChosenProducts(with_verdict(policy, DEPLOY), np.array(["0", "3"], dtype=object))
    found = chosen.recommend(frame).set_index("series")["verdict"]
    assert {str(name): advice for name, advice in found.items()} == {
        str(each): "deploy" if each in (0, 3) else "keep" for each in range(5)
    }


@pytest.mark.parametrize(
    ("low", "held_out", "advice"),
    [(1.0, True, "deploy"), (1.0, False, "pilot"), (-0.5, True, "pilot"), (-9.0, True, "keep")],
)
def test_a_gain_that_may_be_in_sample_is_at_most_worth_a_pilot(
    low: float, held_out: bool, advice: Literal["deploy", "pilot", "keep"], log: lostsales.SalesLog, policy: SavedPolicy
) -> None:
    from dataclasses import replace

    found = lostsales.evaluate(policy, log, estimators=["fqe"], horizon=5)
    gain = Interval(3.0, low, 6.0 - low)
    estimate = replace(found.estimates[0], profit=gain, gain=gain)
    verdict = replace(found, estimates=(estimate,), concerns=()).policy_verdict(held_out=held_out)
    assert verdict.advice == advice
    assert ("held out" in verdict.sentence) == held_out
    assert ("in-sample" in verdict.sentence) != held_out


def test_commands_store_the_verdict_and_show_it(tmp_path: Path) -> None:
    log, policy = tmp_path / "log.parquet", tmp_path / "policy"
    run("simulate", "newsvendor", "--episodes", 12, "--seed", 1, "--set", "horizon=8", "--out", log)
    assert "Not yet evaluated" in run("fit", log, "--method", "newsvendor", "--out", policy).splitlines()[0]
    assert run_json("recommend", policy, "--log", log)["verdict"] is None
    run("evaluate", policy, log)
    stored = verdict_of(lostsales.load(policy))
    assert stored is not None
    assert not stored.held_out
    assert stored.advice != "deploy"
    assert run("recommend", policy, "--log", log).splitlines()[0] == stored.sentence
    run("report", policy, log, "--out", tmp_path / "page.html", "--methods", "", "--windows", 0)
    again = verdict_of(lostsales.load(policy))
    assert again is not None
    assert again.held_out
    assert run_json("recommend", policy, "--log", log)["verdict"]["reason"] == again.reason
