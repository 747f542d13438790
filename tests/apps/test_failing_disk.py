"""Disks that cannot be written, and processes that are killed: one error, nothing half-written, no process left."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lostsales
from lostsales.errors import LostSalesError
from lostsales.simulation.experiments.folder import JOURNAL
from tests.apps.running import failure, run, run_json

CODE = "from lostsales.apps.cli import main; main()"
EXPERIMENT = (
    *("experiment", "newsvendor", "--levels", 5, "--runs", 1, "--methods", "newsvendor,base-stock", "--workers", 1),
    *("--test-episodes", 5),
)


@pytest.fixture
def no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """One run of one level is too little to draw."""
    monkeypatch.setattr("lostsales.apps.views.experiment.draw_figures", lambda *_: [])


def start(*arguments: object, folder: Path) -> subprocess.Popen[bytes]:
    """The command in a process group of its own."""
    command = [sys.executable, "-c", CODE, *map(str, arguments)]
    nowhere = subprocess.DEVNULL
    return subprocess.Popen(command, cwd=folder, start_new_session=True, stdout=nowhere, stderr=nowhere)  # noqa: S603


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full")
def test_a_full_disk_behind_the_output_is_one_error(tmp_path: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-c", CODE, "simulate", "newsvendor", "--episodes", "2", "--json"]
        done = subprocess.run(command, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, check=False)  # noqa: S603
    assert done.returncode == 2
    assert b"No space left on device" in done.stderr
    assert b"Traceback" not in done.stderr


def test_a_folder_that_cannot_be_written_is_found_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def read_only(*_: object, **__: object) -> int:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(os, "open", read_only)
    monkeypatch.setattr("lostsales.simulation.simulator.simulate", pytest.fail)
    message = failure(monkeypatch, capsys, "simulate", "released", "--out", tmp_path / "log.csv")
    assert "log.csv cannot be written: Read-only file system" in " ".join(message.split())


@pytest.mark.usefixtures("no_figures")
def test_a_cell_that_failed_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = (*EXPERIMENT, "--out", tmp_path / "folder")

    def no_memory(log: Any, method: str, **settings: Any) -> Any:
        if method == "base-stock":
            raise MemoryError("no memory left")
        return lostsales.fit(log, method, **settings)

    with monkeypatch.context() as patched:
        patched.setattr("lostsales.simulation.experiments.cells.fit", no_memory)
        assert [each["reason"] for each in run_json(*asked)["failures"]] == ["MemoryError: no memory left"]
    assert run_json(*asked)["failures"] == []
    lines = (tmp_path / "folder" / JOURNAL).read_text().splitlines()
    again = [json.loads(line) for line in lines]
    assert sum(bool(each["failure"]) for each in again) == 2  # under two behaviours
    run(*asked)
    assert (tmp_path / "folder" / JOURNAL).read_text().splitlines() == lines


@pytest.mark.usefixtures("no_figures")
def test_a_journal_that_is_a_link_is_refused(tmp_path: Path) -> None:
    run(*EXPERIMENT, "--out", tmp_path / "folder")
    journal = tmp_path / "folder" / JOURNAL
    journal.rename(tmp_path / "elsewhere")
    journal.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(LostSalesError, match="is a symbolic link"):
        run(*EXPERIMENT, "--out", tmp_path / "folder")


def processes_of(group: int) -> list[int]:
    """The processes of a group that still run."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group and fields[0] != "Z":
            found.append(int(path.parent.name))
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_a_killed_calibration_leaves_no_processes(tmp_path: Path) -> None:
    command = "calibrate", "steady", "--series", "20", "--replications", 50, "--workers", 2, "--out", "study.json"
    process = start(*command, folder=tmp_path)
    deadline = time.monotonic() + 120
    while len(processes_of(process.pid)) < 3 and time.monotonic() < deadline:
        time.sleep(0.2)
    assert len(processes_of(process.pid)) >= 3
    process.send_signal(signal.SIGKILL)
    process.wait()
    while processes_of(process.pid) and time.monotonic() < deadline:
        time.sleep(0.2)
    left = processes_of(process.pid)
    for each in left:
        os.kill(each, signal.SIGKILL)
    assert left == []


WRITING: dict[str, tuple[object, ...]] = {
    "simulate": ("simulate", "newsvendor", "--episodes", 2_000, "--out", "log.csv", "--truth", "truth.csv"),
    "fit": ("fit", "small.csv", "--method", "base-stock", "--out", "policy"),
    "impute": ("impute", "small.csv", "--replicates", 2, "--out", "filled.csv"),
    "recommend": ("recommend", "rule", "--today", "today.csv", "--out", "answer.csv"),
    "solve": ("solve", "newsvendor", "--target", "oracle", "--horizon", 5, "--out", "oracle"),
    "experiment": (*EXPERIMENT, "--out", "folder"),
}


def kill_at_random(folder: Path, kills: int, seed: int) -> int:
    """Kill writing commands at random moments and read what is there; how many were killed in time."""
    rng = np.random.default_rng(seed)
    assert start("simulate", "newsvendor", "--episodes", 20, "--out", "small.csv", folder=folder).wait() == 0
    lostsales.fit(lostsales.read_log(folder / "small.csv"), "newsvendor").save(folder / "rule")
    (folder / "today.csv").write_text("series,period,stock\n0,99,3\n")
    inputs = {name: (folder / name).read_bytes() for name in ("small.csv", "small.toml", "rule", "today.csv")}
    seconds: dict[str, float] = {}
    killed = 0
    for at in range(kills + len(WRITING)):
        name = list(WRITING)[at % len(WRITING)]
        other_seed = ("--seed", at) if name in ("simulate", "fit") else ()
        began, process = time.monotonic(), start(*WRITING[name], *other_seed, folder=folder)
        if name not in seconds:
            assert process.wait() == 0, name
            seconds[name] = time.monotonic() - began
            continue
        time.sleep(seconds[name] * rng.uniform(0.5, 1.05))  # the first half is the start of the interpreter
        killed += process.poll() is None
        process.kill()
        process.wait()
        check_whole(folder)
    assert {name: (folder / name).read_bytes() for name in inputs} == inputs
    assert start(*WRITING["simulate"], folder=folder).wait() == 0
    assert not list(folder.glob(".lostsales-*"))
    return killed


def check_whole(folder: Path) -> None:
    """Everything there is of the outputs is whole, and what belongs together is of one run."""
    for name in ("policy", "oracle"):
        if (folder / name).exists():
            lostsales.load(folder / name)
    for name in ("filled.csv", "answer.csv"):
        if (folder / name).exists():
            assert (folder / name).read_text().endswith("\n")
    if (folder / "log.csv").exists():
        log = lostsales.read_log(folder / "log.csv")
        truth = np.genfromtxt(folder / "truth.csv", delimiter=",", skip_header=1, usecols=(2, 3))
        np.testing.assert_allclose(truth[:, 0] - truth[:, 1], log.sales)


def test_commands_that_are_killed_leave_nothing_half_written(tmp_path: Path) -> None:
    assert kill_at_random(tmp_path, kills=6, seed=0) >= 1


@pytest.mark.slow
def test_commands_that_are_killed_a_hundred_times_leave_nothing_half_written(tmp_path: Path) -> None:
    assert kill_at_random(tmp_path, kills=100, seed=1) > 30  # the others ended before
