"""Which method to deploy, if any."""

import json

import pytest

from lostsales.errors import SettingError
from lostsales.evaluate.choosing import KEEP, compare, split
from lostsales.policy.actions import ActionGrid
from lostsales.policy.behaviour import BaseStock, EpsilonGreedy
from lostsales.simulate.simulator import simulate
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


def test_a_proven_gain_is_named() -> None:
    found = compare(small_log("nonlinear", 10), ("base-stock", "behaviour"))
    assert found.choice == "base-stock"
    assert [each.method for each in found.candidates] == ["base-stock", "behaviour"]
    first, second = found.candidates
    assert first.gain is not None
    assert first.gain.proven
    assert first.behind is None
    assert second.behind is not None
    assert second.behind.proven
    assert json.dumps(found.to_json())


def test_without_a_proven_gain_one_keeps_what_one_does() -> None:
    world = scenario("nonlinear")
    grid = ActionGrid.of(world)
    log, _ = simulate(world, EpsilonGreedy(BaseStock(grid, 20, 6.0), 0.3, grid), 6, 2)
    found = compare(log, ("behaviour",))
    assert found.choice is None
    assert found.sentence.startswith(KEEP)


def test_a_method_that_cannot_be_fitted_is_told_apart() -> None:
    found = compare(small_log("steady", 6), ("base-stock", "c-fqi"), options={"c-fqi": {"iterations": 0}})
    assert found.candidates[-1].method == "c-fqi"
    assert "iterations must be at least 1" in str(found.candidates[-1].reason)
    with pytest.raises(SettingError, match="no method 'guess'"):
        compare(small_log("steady", 6), ("guess",))


def test_the_same_seed_gives_the_same_answer() -> None:
    log = small_log("steady", 6)
    first, again = (compare(log, ("base-stock",), seed=2) for _ in range(2))
    assert json.dumps(first.to_json()) == json.dumps(again.to_json())
