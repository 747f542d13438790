"""Which method to deploy, if any."""

import json
from typing import Any

import pytest

from lostsales.errors import SettingError
from lostsales.evaluate.choosing import KEEP, Comparison, compare, split
from lostsales.simulate.simulator import simulate
from tests.evaluate.judged import exploring
from tests.learn.small import scenario, small_log


def test_halves_share_no_series() -> None:
    log = small_log("steady", 9)
    halves, by = split(log, 3)
    assert by == "series"
    assert sorted([*halves[0].names, *halves[1].names]) == sorted(log.names)
    assert abs(len(halves[0].names) - len(halves[1].names)) <= 1


def test_halves_of_few_series_are_apart_in_time() -> None:
    halves, by = split(small_log("steady", 2), 0)
    assert by == "halves in time"
    assert halves[0].period.max() < halves[1].period.min()


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
    assert "iterations must be at least 1" in str(found.candidates[-1].reason)


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
