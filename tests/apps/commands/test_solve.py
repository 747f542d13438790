"""`lostsales solve`, and `simulate` with the solved policy."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lostsales.apps.cli import app
from lostsales.errors import SettingError

RUN = CliRunner()


def solved(tmp_path: Path, *options: str) -> dict[str, float]:
    result = RUN.invoke(app, ["solve", *options, "--out", str(tmp_path / "policy"), "--json"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    answer: dict[str, float] = json.loads(result.stdout)
    return answer


def test_solve_and_simulate(tmp_path: Path) -> None:
    answer = solved(tmp_path, "released", "--target", "pi-star", "--horizon", "50")
    assert answer["cost_of_censoring"] == pytest.approx(answer["oracle_value"] - answer["value"])
    assert 0 <= answer["cost_of_censoring_a_period"] < 0.02
    arguments = ["simulate", "released", "--policy", str(tmp_path / "policy"), "--episodes", "4000", "--json"]
    earned = json.loads(RUN.invoke(app, arguments, catch_exceptions=False).stdout)
    assert earned["mean_profit"] == pytest.approx(answer["value_a_period"], abs=4 * earned["std_error"])
    table = RUN.invoke(app, ["solve", "newsvendor", "--target", "pi-star", "--out", str(tmp_path / "policy")])
    assert "cost of censoring" in table.stdout


def test_the_textbook_problem_is_one_command(tmp_path: Path) -> None:
    options = "demand.law=poisson", "demand.mean=5", "supply.lead_time=2", "costs.lost=9"
    settings = [text for option in options for text in ("--set", option)]
    answer = solved(tmp_path, "lost-sales", *settings, "--target", "oracle", "--criterion", "average")
    assert answer["value"] == pytest.approx(-6.09, abs=0.01)
    shown = ["solve", "lost-sales", "--target", "oracle", "--criterion", "average", "--out", str(tmp_path / "policy")]
    assert "average profit per period" in RUN.invoke(app, shown).stdout


def test_settings_and_discount_count(tmp_path: Path) -> None:
    answer = solved(tmp_path, "newsvendor", "--target", "oracle", "--discount", "0.5", "--set", "prices=[6]")
    dearer = solved(
        tmp_path,
        "newsvendor",
        "--target",
        "oracle",
        "--discount",
        "0.5",
        "--set",
        "prices=[6]",
        "--set",
        "costs.order=4",
    )
    assert answer["discount"] == 0.5
    assert answer["value"] > dearer["value"]


def test_a_policy_for_another_shop_is_refused(tmp_path: Path) -> None:
    solved(tmp_path, "newsvendor", "--target", "oracle", "--horizon", "5")
    for scenario, settings, reason in (
        ("newsvendor", "horizon=6", "plans 5 periods, but scenario newsvendor has 6"),
        ("newsvendor", "prices=[4, 5]", "made for prices 4, 5, 6, 7, 8, but scenario newsvendor has 4, 5"),
        ("newsvendor", "arrival=after", "made for arrival before, but scenario newsvendor has after"),
        ("reference-price", "horizon=5", "made for features none, but scenario reference-price has reference"),
    ):
        arguments = ["simulate", scenario, "--set", settings, "--policy", str(tmp_path / "policy")]
        with pytest.raises(SettingError, match=reason):
            RUN.invoke(app, arguments, catch_exceptions=False)
