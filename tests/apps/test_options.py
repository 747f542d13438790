"""Odd values of command-line options: one clear error with exit code 2, never a traceback and never hours of work."""

from pathlib import Path

import pytest

from tests.apps.running import Fails

HUGE = "99999999999999999999"
COMMANDS = {
    "simulate released": ("--episodes", "--seed"),
    "audit log.csv": ("--cap",),
    "impute log.csv --out filled.csv": ("--replicates", "--seed"),
    "demand log.csv": ("--replicates", "--seed"),
    "fit log.csv --out policy": ("--iterations", "--seed"),
    "evaluate policy log.csv": ("--horizon", "--seed"),
    "compare log.csv": ("--horizon", "--seed"),
    "report policy log.csv --out page.html": ("--horizon", "--seed"),
    "pilot log.csv --policy policy --out pilot.json": ("--periods", "--wash-out", "--seed"),
    "monitor pilot.json log.csv": ("--seed",),
    "solve released --target oracle --out policy": ("--horizon", "--max-depth", "--steps", "--seed"),
    "calibrate released": ("--series", "--replications", "--workers", "--past", "--seed"),
    "experiment released --out folder": (
        "--levels",
        "--runs",
        "--workers",
        "--test-episodes",
        "--iterations",
        "--seed",
    ),
}
OPTIONS = [(command, option) for command, options in COMMANDS.items() for option in options]


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.csv").write_text("never read: an option is checked before any file\n")
    return tmp_path / "log.csv"


@pytest.mark.parametrize("value", ["-1", HUGE, f"-{HUGE}", "9" * 5_000, "nan", "inf", "", "x", "1.5"])
@pytest.mark.parametrize(("command", "option"), OPTIONS)
def test_a_number_that_makes_no_sense_is_one_error(
    command: str, option: str, value: str, log: Path, fails: Fails
) -> None:
    before = sorted(path.name for path in log.parent.iterdir())
    message = fails(*command.split(), option, value)
    assert option in message or "whole numbers with commas" in message
    assert sorted(path.name for path in log.parent.iterdir()) == before
