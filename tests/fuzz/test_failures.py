"""Commands that are killed, and disks that fail: nothing half-written, no input changed."""

import os

import pytest

from tests.fuzz.disks import CASES, may_mount
from tests.fuzz.running import run_cases

SEED = int(os.environ.get("FUZZ_SEED", "1"))


def test_some_commands_that_are_killed_leave_nothing_half_written() -> None:
    found = run_cases("tests.fuzz.kills", cases=3, seed=SEED)
    assert found.failures == []
    assert found.total == 3


@pytest.mark.slow
def test_every_writing_command_killed_ten_times_leaves_nothing_half_written() -> None:
    found = run_cases("tests.fuzz.kills", cases=120, seed=SEED, batch=120)
    assert found.failures == []
    assert found.total == 120
    assert found.outcomes["killed"] > 60  # the others ended before


@pytest.mark.slow
@pytest.mark.skipif(not may_mount(), reason="mounts a small disk")
def test_every_writing_command_on_a_disk_that_is_read_only_full_or_fills_up() -> None:
    found = run_cases("tests.fuzz.disks", cases=CASES, seed=SEED)
    assert found.failures == []
    assert found.outcomes["refused"] > CASES / 3
    assert found.outcomes["done"] > 0
