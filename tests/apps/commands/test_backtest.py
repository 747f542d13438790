"""`lostsales backtest`."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import lostsales
from lostsales.apps.cli import app

KEYS = {"method", "windows", "claimed", "outcome", "verdict", "sentence"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("shop")
    scenario = lostsales.Scenario.load("newsvendor", ("horizon=40",))
    log, _ = lostsales.simulate(scenario, episodes=12, seed=1)
    lostsales.write_log(log, path / "log.csv")
    lostsales.fit(log, "newsvendor").save(path / "policy")
    return path


def test_it_tells_people_and_machines(folder: Path) -> None:
    given = ["backtest", str(folder / "log.csv"), "--method", "newsvendor", "--windows", "2"]
    told = CliRunner().invoke(app, given, catch_exceptions=False)
    assert told.exit_code == 0
    assert "20 to 29" in told.stdout
    found = json.loads(CliRunner().invoke(app, [*given, "--json"], catch_exceptions=False).stdout)
    assert set(found) == KEYS
    assert found["sentence"][1:60] in " ".join(told.stdout.split())


@pytest.mark.slow
def test_the_report_sets_predicted_gain_against_outcome(folder: Path, tmp_path: Path) -> None:
    log = lostsales.read_log(folder / "log.csv")
    found = lostsales.report(folder / "policy", log, tmp_path / "page.html", methods=(), windows=2)
    assert found.back_test is not None
    page = (tmp_path / "page.html").read_text()
    assert "<h2>Back-test</h2>" in page
    assert found.back_test.sentence[1:] in page
    assert all(f"{each.first} to {each.last}" in page for each in found.back_test.windows)


def test_a_log_that_is_too_short_has_a_report_that_says_so(folder: Path, tmp_path: Path) -> None:
    log = lostsales.read_log(folder / "log.csv")
    found = lostsales.report(folder / "policy", log, tmp_path / "page.html", methods=(), windows=9)
    assert found.back_test is not None
    assert found.back_test.verdict == "not tested"
    assert "could not be tested on later periods" in (tmp_path / "page.html").read_text()
