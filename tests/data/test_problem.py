"""The problem: its TOML, its errors, and that writing it loses nothing."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lostsales.data.feature import Feature
from lostsales.data.problem import Columns, Costs, Problem
from lostsales.errors import SettingError
from tests.tables import log_of


def problem_in(folder: Path, text: str) -> Problem:
    path = folder / "problem.toml"
    path.write_text(text, encoding="utf-8")
    return Problem.from_toml(path)


def reasons(folder: Path, text: str) -> list[str]:
    with pytest.raises(SettingError) as caught:
        problem_in(folder, text)
    first, *rest, last = str(caught.value).splitlines()
    assert first == f"problem {folder / 'problem.toml'} is not usable:"
    assert "docs/problem.md" in last
    return [line.removeprefix("  - ") for line in rest]


def test_every_key_of_the_contract(tmp_path: Path) -> None:
    problem = problem_in(
        tmp_path,
        """
        arrival = "before"
        balance = "netted"
        capacity = 25
        capacity_rule = "forbid"
        longest_run = 3
        features = ["promotion", {name = "weekday", kind = "categorical", levels = [0, 1, 2]}]
        attributes = ["store"]
        prices = [4, 4.25]
        orders = [0, 1]
        discount = 0.95
        [costs]
        lost = 2
        order = "buying_price"
        fixed_order = 15
        [columns]
        series = ["store_id", "sku"]
        sales = "sold"
        """,
    )
    assert problem == Problem(
        arrival="before",
        balance="netted",
        capacity=25,
        capacity_rule="forbid",
        longest_run=3,
        features=(Feature(name="promotion"), Feature(name="weekday", kind="categorical", levels=(0, 1, 2))),
        attributes=("store",),
        prices=(4, 4.25),
        orders=(0, 1),
        discount=0.95,
        costs=Costs(lost=2, order="buying_price", fixed_order=15),
        columns=Columns(series=("store_id", "sku"), sales="sold"),
    )


def test_levels_that_are_spelled_alike_are_refused(tmp_path: Path) -> None:
    (reason,) = reasons(tmp_path, "features = [{name = 'x', kind = 'categorical', levels = [1, '1']}]")
    assert "must differ" in reason


def test_every_mistake_is_named_and_an_unknown_key_gets_the_list_of_keys(tmp_path: Path) -> None:
    found = reasons(tmp_path, "arrival = 1\nbalance = 2\nfoo = 3")
    assert [reason.split(":")[0] for reason in found] == ["arrival", "balance", "foo"]
    assert found[2].startswith("foo: no such key; the keys are arrival, balance, capacity")


@pytest.mark.parametrize(
    ("text", "expected"), [("[costs\n", "cannot be read as TOML: .*line 1"), ("x = '\xff'", "cannot be read as TOML")]
)
def test_toml_that_is_none(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "problem.toml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(SettingError, match=expected):
        Problem.from_toml(path)
    with pytest.raises(SettingError, match="there is no file"):
        Problem.from_toml(tmp_path / "nothing.toml")
    with pytest.raises(SettingError, match="cannot be read as TOML"):
        Problem.from_toml(tmp_path)


def test_a_mistake_in_python_is_a_setting_error_as_well() -> None:
    with pytest.raises(SettingError, match="Problem is not usable:\n  - discount: Input should be less than 1"):
        Problem(discount=2)
    with pytest.raises(SettingError, match="a problem is a Problem or the path of a TOML file, but a dict came"):
        log_of({"arrival": "after"})  # type: ignore[arg-type]


@pytest.mark.parametrize("cost", ["order_cost", "weather"])
def test_a_cost_may_be_a_feature_as_well(cost: str) -> None:
    log = log_of(Problem(features=(cost,), costs=Costs(order=cost)), **{cost: [1.0, 2.0, 3.0, 4.0, 5.0]})
    assert log.features[:, 0].tolist() == [1, 2, 3, 4, 5]


names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8).map(lambda text: f"x{text}")
levels = st.one_of(st.text(max_size=5), st.booleans(), st.integers(-5, 5), st.floats(-5, 5))
rising = st.lists(st.floats(0, 1e6), min_size=1, max_size=5, unique=True).map(lambda values: [0.0, *sorted(values)][1:])
features = st.one_of(
    names.map(lambda name: {"name": name}),
    st.builds(
        lambda name, found: {"name": name, "kind": "categorical", "levels": found},
        names,
        st.one_of(st.none(), st.lists(levels, min_size=1, max_size=4, unique_by=lambda level: str(level).lower())),
    ),
)


@given(
    keys=st.fixed_dictionaries(
        {},
        optional={
            "arrival": st.sampled_from(["after", "before"]),
            "balance": st.sampled_from(["lost-sales", "netted"]),
            "capacity": st.floats(1e-3, 1e9),
            "longest_run": st.integers(1, 9),
            "prices": rising,
            "orders": rising,
            "discount": st.floats(0, 0.999),
            "features": st.lists(features, max_size=3, unique_by=lambda feature: feature["name"]),
            "costs": st.fixed_dictionaries({}, optional={"lost": st.floats(0, 9), "order": names}),
            "columns": st.fixed_dictionaries({}, optional={"sales": names.map("sales{}".format)}),
        },
    )
)
def test_a_written_problem_is_read_again_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, keys: dict[str, Any]
) -> None:
    try:
        problem = Problem(**keys)
    except SettingError as error:
        assert "levels" in str(error)  # noqa: PT017, two drawn levels may be spelled alike
        return
    path = tmp_path_factory.mktemp("problem") / "problem.toml"
    path.write_text(problem.to_toml(), encoding="utf-8")
    assert Problem.from_toml(path) == problem


def test_levels_of_a_feature_may_be_truth_values() -> None:
    assert Feature(name="promotion", kind="categorical", levels=(True, False)).levels == (True, False)


def test_very_many_declared_levels_are_refused(tmp_path: Path) -> None:
    levels = ", ".join(f"'l{number}'" for number in range(201))
    (found,) = reasons(tmp_path, f"features = [{{name = 'x', kind = 'categorical', levels = [{levels}]}}]")
    assert "a category may have 200 levels, but 201 are declared" in found
