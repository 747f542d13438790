"""Hostile numbers in policies of an assortment: ladders, own rules, calendars, units."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lostsales
from lostsales.errors import LostSalesError
from lostsales.policy.file_format import POLICIES
from lostsales.policy.in_units import InUnits
from tests.fuzz.made_policies import LONG, MAKERS, SOLVED, made, made_file, question
from tests.fuzz.policy_files import STORED, opened, sealed, used


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG or "lead times" in name)) for name in MAKERS]
)
def test_a_policy_that_is_not_changed_is_used(name: str, tmp_path: Path) -> None:
    sealed(*opened(made_file(name)), tmp_path / "policy")
    assert used(tmp_path / "policy", made_file(name))


def test_files_of_every_kind_of_policy_are_attacked() -> None:
    quick = [name for name in MAKERS if "lead times" not in name or name.startswith(SOLVED)]
    files = [*STORED.glob("*/*.policy"), *map(made_file, quick)]
    assert {opened(path)[1]["kind"] for path in files} == set(POLICIES.names)


def changed(name: str, path: Path, change: dict[str, Any], **arrays: Any) -> Path:
    """A policy whose metadata are changed at places such as `settings.ladders.price_step`."""
    members, metadata = opened(made_file(name))
    for place, value in change.items():
        table: Any = metadata
        *tables, key = place.split(".")
        for each in tables:
            table = table.setdefault(each, {})
        table[key] = value
    sealed(members | {f"array_{each}": values for each, values in arrays.items()}, metadata, path)
    return path


@pytest.mark.parametrize(
    ("name", "change", "expected"),
    [
        ("planner", {"settings.ladders.price_step": 5e-324}, "price_step: must be 0 or at least 1e-12"),
        (
            "planner",
            {"settings.ladders.order_multiple": 1e300},
            "order_multiple: Input should be less than or equal to 1000000000000000",
        ),
        ("base-stock", {"settings.ladders.price_endings": [1e300]}, "price_endings.0: Input should be less than"),
        (
            "behaviour",
            {"settings.rules.own": [{"where": {"department": ["bakery"]}, "multiple": 2}]},
            "rules: the rules of some products must name their series",
        ),
        ("newsvendor", {"settings.rules.forbidden": [[1, 2]] * 1_001}, "forbidden: Tuple should have at most 1000"),
        ("base-stock in dozens", {"settings.unit": 1e308}, "unit: Input should be less than or equal to 1"),
        (
            "base-stock in dozens",
            {"settings.own": {"tea": 1e308}},
            "own.tea: Input should be less than or equal to 1",
        ),
        ("newsvendor", {"problem.clock.calendars.closed": []}, "closed must have a calendar"),
        (
            "planner with levels",
            {"settings.linear": 1e-30},
            "linear: Input should be greater than or equal to 0.000001",
        ),
        ("planner with levels", {"settings.kind": "q"}, "kind: Input should be 'plan'"),
        (
            "lookahead",
            {"settings.paths": 10_000, "settings.review": 1_000},
            "10,000 sampled futures of 1,005 periods are more than the 3,000,000 periods that can be looked at",
        ),
        (
            "newsvendor",
            {"problem.clock.calendars.closed": [{}] * 100_000, "problem.clock.calendars.week": 10_080},
            "100,000 calendars of 10,080 periods a week, which is too much",
        ),
    ],
)
def test_hostile_settings_are_refused(name: str, change: dict[str, Any], expected: str, tmp_path: Path) -> None:
    with pytest.raises(LostSalesError) as refused:
        lostsales.load(changed(name, tmp_path / "policy", change))
    assert expected in str(refused.value)


@pytest.mark.parametrize(
    ("name", "arrays", "expected"),
    [
        (
            "planner with levels",
            {f"level_{name}": np.zeros((3, 1)) for name in ("total", "weight", "score")},
            r"'level_total' must have the shape \(levels, 7\)",
        ),
        ("planner with levels", {"level_slopes": np.zeros(2), "level_centre": np.zeros(2)}, "here level inputs 8"),
        ("planner with levels", {"level_weight": np.full((3, 7), -0.3)}, "must lie between 0 and"),
        ("planner with levels", {"level_last": np.full(3, 1e19)}, "must lie between -9.22337e"),
        ("lookahead", {"week": np.full(52, 1e-30)}, "'week' must lie between 0.001 and"),
        (
            "planner with lead times",
            {"order_steps": np.full(1, 1e30)},
            "a step of its orders must be at most 1,000,000",
        ),
    ],
)
def test_hostile_arrays_are_refused(name: str, arrays: dict[str, Any], expected: str, tmp_path: Path) -> None:
    with pytest.raises(LostSalesError, match=expected):
        lostsales.load(changed(name, tmp_path / "policy", {}, **arrays))


@pytest.mark.parametrize("value", [0.0, 1e-9, 1e9, 1e30])
@pytest.mark.parametrize("array", ["shops_sizes", "shops_effects", "shops_own_range", "ladder_orders"])
def test_numbers_within_their_limits_give_a_decision_or_one_error(array: str, value: float, tmp_path: Path) -> None:
    members, _ = opened(made_file("planner"))
    shape = members[f"array_{array}"].shape
    values = np.array([value]) if array == "ladder_orders" else np.full(shape, value)
    assert used(changed("planner", tmp_path / "policy", {}, **{array: values}), made_file("planner")) in (True, False)


def test_a_decision_that_is_no_number_is_refused() -> None:
    policy = InUnits(made("newsvendor"), made("newsvendor").problem, np.inf)
    with (
        np.errstate(all="ignore"),
        pytest.raises(LostSalesError, match=r"the policy decides an order of (inf|nan) for row 0 of today"),
    ):
        policy.recommend(*question())
