"""`lostsales pilot` and `lostsales monitor`: files, tables, JSON, the page, and exit codes for a scheduler."""

import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from lostsales.apps.cli import app
from lostsales.data.log import SalesLog
from lostsales.data.sublogs import without
from lostsales.data.writing import write_log
from lostsales.evaluation.pilot.plan import Pilot
from lostsales.learn.fit import fit
from tests.apps.running import Fails, run, run_json
from tests.evaluation.pilot.shops import PAST, past_of, shop_log


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A past, a policy, a pilot, and the log since its start under the same policy in both arms."""
    found = tmp_path_factory.mktemp("pilot")
    log = shop_log()
    write_log(past_of(log), found / "past.parquet")
    write_log(log, found / "since.parquet")
    fit(past_of(log), "base-stock").save(found / "policy")
    run("pilot", found / "past.parquet", "--policy", found / "policy", "--periods", 30, "--out", found / "pilot.json")
    return found


def code_of(*arguments: object) -> int:
    return CliRunner().invoke(app, [str(each) for each in arguments], catch_exceptions=False).exit_code


def changed(folder: Path, name: str, factor: float) -> Path:
    """The log with other prices where the new policy decides."""
    log, plan = shop_log(), Pilot.load(folder / "pilot.json")
    rows = np.repeat(plan.new, PAST + 30, axis=1).reshape(-1) & (log.period >= PAST)
    write_log(replace_price(log, np.where(rows, factor * log.price, log.price)), folder / name)
    return folder / name


def replace_price(log: SalesLog, price: object) -> SalesLog:
    from dataclasses import replace

    return replace(log, price=np.asarray(price))


def test_the_pilot_is_written_with_its_schedule_and_told(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "plan.json"
    arguments = ("pilot", folder / "past.parquet", "--policy", folder / "policy", "--periods", 30, "--out", out)
    found = run_json(*arguments, "--schedule", tmp_path / "who.parquet")
    assert (found["design"], found["from"], found["to"]) == ("series", str(PAST), str(PAST + 29))
    assert {each["share"] for each in found["needed"]} >= {0.05, 0.1}
    assert sum(each["new"][0] for each in found["series"]) == 6
    assert (tmp_path / "who.parquet").exists()
    first = out.read_bytes()
    shown = run(*arguments)
    assert out.read_bytes() == first  # the same seed gives the same bytes
    for text in (
        "split by series",
        "Periods needed to detect a gain",
        "New policy in 6 of 12 series",
        "follow the schedule",
    ):
        assert text in shown
    assert "product" in (tmp_path / "plan.schedule.csv").read_text()


def test_the_monitor_tells_people_machines_and_schedulers(folder: Path) -> None:
    pilot, log = folder / "pilot.json", folder / "since.parquet"
    found = run_json("monitor", pilot, log)
    assert found["verdict"] == "undecided"
    assert found["gain"]["low"] < found["gain"]["value"] < found["gain"]["high"]
    assert len(found["gain"]["looks"]) == 30 - Pilot.load(pilot).wash_out
    shown = run("monitor", pilot, log)
    for text in ("new policy", "as before", "gain in profit", "gain in cash", "without a verdict"):
        assert text in shown
    assert code_of("monitor", pilot, log, "--exit-code") == 12
    early = folder / "early.parquet"
    write_log(without(shop_log(), shop_log().period >= PAST + 10), early)
    assert code_of("monitor", pilot, early, "--exit-code") in (0, 13)
    assert code_of("monitor", pilot, changed(folder, "better.parquet", 1.4), "--exit-code") == 10
    assert code_of("monitor", pilot, changed(folder, "worse.parquet", 0.6), "--exit-code") == 11
    assert code_of("monitor", pilot, folder / "worse.parquet") == 0  # unless asked, a verdict is no error


def test_the_page_needs_no_other_file(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    run("monitor", folder / "pilot.json", folder / "since.parquet", "--out", page)
    text = page.read_text()
    assert "without a verdict" in text
    assert "<svg" in text
    assert not re.search(r"(?:src|href)=\"(?!#|data:)", text)
    assert "default-src 'none'" in text


def test_names_of_series_are_escaped_on_the_page(folder: Path, tmp_path: Path) -> None:
    from dataclasses import replace

    log = shop_log()
    names = np.array([*log.names[:-1], "<script>alert(1)</script>"], dtype=object)
    write_log(replace(log, names=names), tmp_path / "odd.parquet")
    run("monitor", folder / "pilot.json", tmp_path / "odd.parquet", "--out", tmp_path / "page.html")
    assert "<script>alert" not in (tmp_path / "page.html").read_text()


def test_a_log_of_the_past_cannot_be_monitored(folder: Path, fails: Fails) -> None:
    message = fails("monitor", folder / "pilot.json", folder / "past.parquet")
    assert "starts in 40, but the log ends in 39" in message


@pytest.mark.slow
def test_a_study_of_pilots_resumes(tmp_path: Path) -> None:
    arguments = ("calibrate", "assorted", "--study", "pilot", "--series", 10, "--past", 20, "--replications", 1)
    first = run_json(*arguments, "--out", tmp_path / "study.jsonl")
    assert first["pilots"] == 1
    journal = (tmp_path / "study.jsonl").read_bytes()
    assert run_json(*arguments, "--out", tmp_path / "study.jsonl") == first
    assert (tmp_path / "study.jsonl").read_bytes() == journal
    assert "wanted" in run(*arguments, "--out", tmp_path / "study.jsonl")
