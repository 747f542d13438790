"""The page of every key of the problem file says all that there is to say."""

import tomllib
from typing import Any

import pytest

from lostsales.data.problem import Problem
from lostsales.data.setting_fields import described_fields
from tools.problem_page import HEAD, example, models, page

# Keys that make sense only beside others.
TIMES: dict[str, Any] = {"columns": {"out_of_stock": "hours_out"}}
ATTRIBUTES: dict[str, Any] = {"attributes": ["category", "supplier", "volume"]}
BESIDE: dict[str, dict[str, Any]] = {
    "stock_includes_arrivals": {"arrival": "before"},
    "open_time": TIMES,
    "out_of_stock_pace": TIMES | {"open_time": 16},
    "waste_cost": {"product": {"shelf_life": 3}},
    "issuing": {"product": {"shelf_life": 3}},
    "salvage": {"product": {"season_end": "2026-09-30"}},
    "by": {"targets": {"service": 0.95}} | ATTRIBUTES,
    "column": {"columns": {"series": ["Store ID", "Product ID"]}},
}
FOUND = (("clock", "calendars"), ("features", "calendar"))  # by reading a log or a problem, and not for the file
KEYS = [
    (table, name) for table, model in models().items() for name in described_fields(model) if (table, name) not in FOUND
]


@pytest.mark.parametrize(("table", "name"), KEYS)
def test_every_key_has_a_description_and_stands_on_the_page(table: str, name: str) -> None:
    assert described_fields(models()[table])[name], f"{table}.{name} has no Field(description=...)"
    assert f"| `{name}` |" in page() or name in models()


@pytest.mark.parametrize(("table", "name"), [each for each in KEYS if each[1] not in models() or each[1] == "features"])
def test_the_example_of_every_key_is_read(table: str, name: str) -> None:
    shown = example(models()[table], name)
    assert shown is not None, f"{table}.{name} has no Field(examples=...)"
    beside = BESIDE.get(name, {})
    keys: dict[str, Any] = {name: shown} if not table else {table: beside.get(table, {}) | {name: shown}}
    if table == "features":
        keys = {"features": [{"name": "weekday", "kind": "categorical"} | keys["features"]]}
    if table == "limits":
        needed = {"least" if name == "most" else "most": 20_000, **({"multiple": 33} if name == "filled" else {})}
        beside, keys = {"limits": [needed], **ATTRIBUTES}, {"limits": [needed | keys["limits"]]}
    assert Problem.model_validate(beside | keys) != Problem.model_validate(beside)


def test_the_whole_example_is_read() -> None:
    text = HEAD.split("```toml\n")[1].split("```")[0]
    assert Problem.model_validate(tomllib.loads(text)).columns.series_parts == ("Store ID", "Product ID")
