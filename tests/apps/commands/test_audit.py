"""`lostsales audit`: what it prints."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from lostsales.apps.commands.audit import print_audit
from lostsales.apps.console import screen
from lostsales.data.reading.gate import read_log
from lostsales.data.writing import write_log
from lostsales.demand.audit.audit import audit
from lostsales.demand.audit.stock_test import StockTest
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import simulate
from tests.apps.running import run, run_json
from tests.demand.logs import log_of_flags


@pytest.fixture(scope="module")
def log_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("log") / "log.parquet"
    write_log(simulate(Scenario.load("paper"), episodes=24, seed=1)[0], path)
    return path


def test_audit_prints_json(log_path: Path) -> None:
    found = run_json("audit", log_path)
    found.pop("no_figure", None)  # why figures are null
    expected = json.loads(json.dumps(audit(read_log(log_path)).as_json()))
    assert found == expected
    assert found["periods"] == 1200
    assert found["conclusion"].startswith("Fit for C-FQI to depth")


def test_the_cap_is_obeyed(log_path: Path) -> None:
    found = run_json("audit", log_path, "--cap", 1)
    assert (found["cap"], found["max_depth"]) == (1, 1)


@pytest.mark.parametrize("width", [80, 120])
def test_audit_says_everything_that_a_planner_asks(log_path: Path, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screen, "width", width)
    lines = run("audit", log_path, "--full").splitlines()
    text = "\n".join(lines)
    assert max(map(len, lines)) <= width
    for said in (
        "1,200 in 24 series", "demand is censored", "Runs of stock-outs", "Rows by depth",
        "largest that can be learned", "left out", "balance equation", "Observed range of demand", "observed above",
        "Is censored demand identified?", "price 4.25", "economy 1", "How runs end", "To collect next",
        "demand does not depend on stock", "long runs end no less often", "the paper's readings",
    ):  # fmt: skip
        assert said in text, said
    assert lines[-1].startswith("Fit for C-FQI to depth")
    assert "[/]" not in text


def test_the_short_answer_begins_with_the_verdict_and_fits_a_screen(
    log_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(screen, "width", 160)
    lines = run("audit", log_path).splitlines()
    found = audit(read_log(log_path))
    assert lines[0] == found.verdict.sentence
    assert " ".join(lines[1:]).startswith(found.stockout_loss.sentence[:100])
    assert len(lines) <= 18
    assert "C-FQI" not in "\n".join(lines)


def test_a_rejected_assumption_is_reported(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(screen, "width", 150)
    found = audit(log_of_flags("5xx6x7"))
    print_audit("a log", replace(found, stock_test=StockTest(4.0, 6e-5, 99), run_ends_fall_at=(2,)), full=True)
    text = capsys.readouterr().out
    assert "rejected: demand is higher where stock is higher (p = 6e-05)" in text
    assert "rejected: the probability of ending falls after 2 periods" in text
