"""Commands that are killed, and disks that fail: nothing half-written, no input changed."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.fuzz.disks import CASES, may_mount
from tests.fuzz.kills import WRITING, make_inputs
from tests.fuzz.other_user import NOBODY, interpreter, run_as_nobody
from tests.fuzz.running import run_cases

SEED = int(os.environ.get("FUZZ_SEED", "1"))


def test_some_commands_that_are_killed_leave_nothing_half_written() -> None:
    found = run_cases("tests.fuzz.kills", cases=3, seed=SEED)
    assert found.failures == []
    assert found.total == 3


@pytest.mark.slow
def test_every_writing_command_killed_ten_times_leaves_nothing_half_written() -> None:
    kills = 10 * len(WRITING)
    found = run_cases("tests.fuzz.kills", cases=kills, seed=SEED, batch=kills)
    assert found.failures == []
    assert found.total == kills
    assert found.outcomes["killed"] > kills / 2  # the others ended before


@pytest.mark.slow
@pytest.mark.skipif(not may_mount(), reason="mounts a small disk")
def test_every_writing_command_on_a_disk_that_is_read_only_full_or_fills_up() -> None:
    found = run_cases("tests.fuzz.disks", cases=CASES, seed=SEED)
    assert found.failures == []
    assert found.outcomes["refused"] > CASES / 3
    assert found.outcomes["done"] > 0


@pytest.mark.slow
@pytest.mark.skipif(interpreter() is None, reason="root, and a Python that others may run")
@pytest.mark.parametrize("command", [*WRITING.values(), "audit small.csv", "demand small.csv --replicates 2"])
def test_a_command_of_another_user_who_has_no_home(command: str) -> None:
    with TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name) / "folder"
        folder.mkdir()
        make_inputs(folder)
        for path in (Path(name), folder):
            path.chmod(0o755)
        for path in (folder, *folder.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
        closed = Path(name) / "closed"
        closed.mkdir(mode=0o700)
        done = run_as_nobody(command.split(), folder)
        assert done.returncode == 0, done.stderr
        refused = run_as_nobody(["simulate", "newsvendor", "--episodes", "1", "--out", str(closed / "log.csv")], folder)
        assert (refused.returncode, "Permission denied" in refused.stderr) == (2, True)
