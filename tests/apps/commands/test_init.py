"""`lostsales init`: what it writes, what it never replaces, and what it prints."""

import json
from pathlib import Path

import pytest

from lostsales.data.problem import Problem
from tests.apps.running import Fails, run, run_json
from tests.data.proposal.headers import nixtla, retail_inventory


@pytest.fixture
def table(tmp_path: Path) -> Path:
    retail_inventory().to_csv(tmp_path / "sales.csv", index=False)
    return tmp_path / "sales.csv"


def test_the_problem_is_written_beside_the_table_and_inspect_finds_it(table: Path) -> None:
    text = run("init", table)
    assert "sales.toml was written: the table can" in text.splitlines()[0]
    assert "A proposal from 180 of 180 rows" in text
    assert "Left to do:" in text
    assert "docs/problem.md" in text
    assert f"lostsales inspect {table}" in text
    assert sorted(each.name for each in table.parent.iterdir()) == ["sales.csv", "sales.toml"]
    assert Problem.from_toml(table.with_suffix(".toml")).columns.series == ("Store ID", "Product ID")
    assert run_json("inspect", table)["series"] == 6


def test_nothing_that_is_there_is_replaced_without_force(table: Path, fails: Fails) -> None:
    written = table.with_suffix(".toml")
    written.write_text("discount = 0.5\n")
    assert "is there already: --force replaces it" in fails("init", table)
    assert written.read_text() == "discount = 0.5\n"
    run("init", table, "--force")
    assert Problem.from_toml(written).columns.sales == "Units Sold"


def test_a_link_to_the_table_is_not_replaced(table: Path, fails: Fails) -> None:
    link = table.with_suffix(".toml")
    link.symlink_to(table)
    assert "is a symbolic link" in fails("init", table, "--force")
    assert link.is_symlink()


def test_a_dash_prints_the_file_and_writes_none(table: Path) -> None:
    text = run("init", table, "--out", "-")
    assert text.startswith("# Proposed by `lostsales init` from sales.csv: 180 rows, 6 series, daily.")
    assert 'sales = "Units Sold"' in text
    assert [each.name for each in table.parent.iterdir()] == ["sales.csv"]


def test_json_says_what_was_found_and_what_is_left(tmp_path: Path) -> None:
    nixtla().to_csv(tmp_path / "y.csv", index=False)
    found = json.loads(run("init", tmp_path / "y.csv", "--out", tmp_path / "mine.toml", "--json"))
    assert found["columns"] == {"series": "unique_id", "period": "ds", "sales": "y"}
    assert found["written"] == str(tmp_path / "mine.toml")
    assert found["text"] == (tmp_path / "mine.toml").read_text()
    assert found["is_readable"] is False
    assert [each.split(":")[0] for each in found["left"]][:2] == ["price", "[costs] order"]


def test_the_problem_of_a_folder_may_lie_in_it(tmp_path: Path) -> None:
    nixtla().assign(price=2.0).to_csv(tmp_path / "y.csv", index=False)
    run("init", tmp_path, "--out", tmp_path / "problem.toml")
    assert json.loads(run("inspect", tmp_path, "--json"))["rows"] == len(nixtla())
