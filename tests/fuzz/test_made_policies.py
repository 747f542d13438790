"""Hostile numbers in policies of an assortment: candidates, own rules, calendars, units."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lostsales
from lostsales.errors import LostSalesError
from lostsales.policy.policy import POLICIES
from lostsales.policy.shop_units import InShopUnits
from tests.fuzz.made_policies import MAKERS, SOLVED, made, made_file, question
from tests.fuzz.policy_files import opened, sealed, used


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * ("lead times" in name)) for name in MAKERS]
)
def test_a_policy_that_is_not_changed_is_used(name: str, tmp_path: Path) -> None:
    sealed(*opened(made_file(name)), tmp_path / "policy")
    assert used(tmp_path / "policy", made_file(name))


def test_files_of_every_kind_of_policy_are_attacked() -> None:
    quick = [name for name in MAKERS if "lead times" not in name or name.startswith(SOLVED)]
    assert {opened(made_file(name))[1]["kind"] for name in quick} == set(POLICIES.names)


def changed(name: str, path: Path, change: dict[str, Any], **arrays: Any) -> Path:
    """A policy whose metadata are changed at places such as `policy.candidates.price_step`."""
    members, metadata = opened(made_file(name))
    for place, value in change.items():
        table: Any = metadata
        *tables, key = place.split(".")
        for each in tables:
            table = table[int(each)] if isinstance(table, list) else table.setdefault(each, {})
        table[key] = value
    sealed(members | {f"array_{each}": values for each, values in arrays.items()}, metadata, path)
    return path


@pytest.mark.parametrize(
    ("name", "change", "expected"),
    [
        ("planner", {"policy.candidates.price_step": 5e-324}, "price_step: must be 0 or at least 1e-12"),
        (
            "planner",
            {"policy.candidates.order_multiple": 1e300},
            "order_multiple: Input should be less than or equal to 1000000000000000",
        ),
        ("base-stock", {"policy.grid.candidates.price_endings": [1e300]}, "price_endings.0: Input should be less than"),
        (
            "behaviour",
            {"policy.policy.policy.rules.own": [{"where": {"department": ["bakery"]}, "multiple": 2}]},
            "rules: the rules of some products must name their series",
        ),
        ("newsvendor", {"policy.grid.rules.forbidden": [[1, 2]] * 1_001}, "forbidden: Tuple should have at most 1000"),
        ("base-stock in dozens", {"policy.products.shop_unit": 1e308}, "unit: Input should be less than or equal to 1"),
        ("newsvendor", {"policy.problem.clock.calendars.closed": []}, "closed must have a calendar"),
        ("base-stock", {"policy.policy.kind": "q"}, "is not usable"),
        (
            "lookahead",
            {"policy.search.paths": 10_000, "policy.review": 1_000},
            "10,000 sampled futures of 1,005 periods are more than the 3,000,000 periods that can be looked at",
        ),
        (
            "planner with lead times",
            {"policy.following.grid.steps": 10**9},
            "steps: Input should be less than or equal to 1000000",
        ),
        ("planner with lead times", {"policy.following.grid.steps": 7}, "must be even grids from 0"),
        (
            "newsvendor",
            {"policy.problem.clock.calendars.closed": [{}] * 100_000, "policy.problem.clock.calendars.week": 10_080},
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
        ("base-stock in dozens", {"products.unit": np.full(3, 1e308)}, "'products.unit' must lie between"),
        ("lookahead", {"market.season.week": np.full(52, 1e-30)}, "'market.season.week' must lie between 0.001 and"),
    ],
)
def test_hostile_arrays_are_refused(name: str, arrays: dict[str, Any], expected: str, tmp_path: Path) -> None:
    with pytest.raises(LostSalesError, match=expected):
        lostsales.load(changed(name, tmp_path / "policy", {}, **arrays))


@pytest.mark.parametrize("value", [0.0, 1e-9, 1e9, 1e30])
@pytest.mark.parametrize(
    "array", ["products.sizes", "market.response.coefficients", "products.seen.order_ceiling", "candidates.orders"]
)
def test_numbers_within_their_limits_give_a_decision_or_one_error(array: str, value: float, tmp_path: Path) -> None:
    members, _ = opened(made_file("planner"))
    shape = members[f"array_{array}"].shape
    values = np.array([value]) if array == "candidates.orders" else np.full(shape, value)
    assert used(changed("planner", tmp_path / "policy", {}, **{array: values}), made_file("planner")) in (True, False)


def test_a_decision_that_is_no_number_is_refused() -> None:
    inside = made("newsvendor")
    assert isinstance(inside, InShopUnits)
    policy = replace(inside, grid=None, products=replace(inside.products, scale=np.full(3, np.inf)))
    with (
        np.errstate(all="ignore"),
        pytest.raises(LostSalesError, match=r"the policy decides an order of (inf|nan) for row 0 of today"),
    ):
        policy.recommend(*question())
