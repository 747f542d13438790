"""Disks that cannot be written, and processes that are killed: one error, nothing half-written, no process left."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import lostsales
from lostsales.errors import LostSalesError
from lostsales.lab.experiments.folder import JOURNAL
from tests.apps.running import Fails, run, run_json

CODE = "from lostsales.apps.cli import main; main()"
EXPERIMENT = (
    *("experiment", "newsvendor", "--levels", 5, "--runs", 1, "--methods", "newsvendor,base-stock", "--workers", 1),
    *("--test-episodes", 5),
)


@pytest.fixture
def no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """One run of one level is too little to draw."""
    monkeypatch.setattr("lostsales.apps.commands.experiment_figures.draw_figures", lambda *_: [])


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
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: Fails
) -> None:
    def read_only(*_: object, **__: object) -> int:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(os, "open", read_only)
    monkeypatch.setattr("lostsales.simulation.simulator.simulate", pytest.fail)
    message = fails("simulate", "released", "--out", tmp_path / "log.csv")
    assert "log.csv cannot be written: Read-only file system" in " ".join(message.split())


@pytest.mark.usefixtures("no_figures")
def test_a_cell_that_failed_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = (*EXPERIMENT, "--out", tmp_path / "folder")

    def no_memory(log: Any, method: str, **settings: Any) -> Any:
        if method == "base-stock":
            raise MemoryError("no memory left")
        return lostsales.fit(log, method, **settings)

    with monkeypatch.context() as patched:
        patched.setattr("lostsales.lab.experiments.cells.fit", no_memory)
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


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_a_killed_calibration_leaves_no_processes(tmp_path: Path) -> None:
    command = "calibrate", "steady", "--series", "20", "--replications", 50, "--workers", 2, "--out", "study.jsonl"
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
