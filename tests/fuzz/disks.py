"""Writing commands on a disk that is read-only, full, or fills up while they write: one error, nothing half-written.

    python -m tests.fuzz.disks --cases 126

Needs the right to mount a file system in memory.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.fuzz.kills import INPUTS, LEFT, WRITING, check_whole, forked, inputs, run, succeed
from tests.fuzz.running import main

DISK = 4 << 20  # bytes
ROOMS = (None, 0, 1, 2, 4, 8, 40)  # pages of 4 kB that are free; None: read-only
CASES = len(ROOMS) * len(WRITING)


def disk_case(seed: int, number: int, folder: Path) -> str:  # noqa: ARG001, one signature
    """One command on one disk."""
    name, room = list(WRITING)[number % len(WRITING)], ROOMS[number // len(WRITING) % len(ROOMS)]
    disk = folder / "disk"
    disk.mkdir()
    _mount("-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(disk))
    try:
        shutil.copytree(inputs(), disk, dirs_exist_ok=True)
        if room is None:
            _mount("-o", "remount,ro", str(disk))
        else:
            _fill(disk / "filler", room)
        code, error = _called(WRITING[name].split(), disk, folder / "error")
        what = f"{name} with {room} pages left ended with {code}: {error[-400:]}"
        assert code in (0, 2), what
        assert "Traceback" not in error, what
        if code:
            assert "No space left on device" in error or "Read-only file system" in error, what
            assert len(error) < 400, what
        succeed(lambda: check_whole(disk), what)
        for each in INPUTS:
            assert (disk / each).read_bytes() == (inputs() / each).read_bytes(), f"{what} changed {each}"
        assert not list(disk.rglob(LEFT)), what
        return "refused" if code else "done"
    finally:
        subprocess.run(["umount", str(disk)], check=True)  # noqa: S603, S607


def may_mount() -> bool:
    """Whether this process may mount a file system."""
    return os.name == "posix" and os.geteuid() == 0 and sys.platform == "linux" and shutil.which("mount") is not None


def _mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True)  # noqa: S603, S607


def _fill(path: Path, room: int) -> None:
    """All of the disk but so many pages."""
    free = os.statvfs(path.parent)
    path.write_bytes(bytes((free.f_bavail - room) * free.f_bsize))


def _called(arguments: list[str], folder: Path, told: Path) -> tuple[int, str]:
    """Exit code and error of a command."""

    def work() -> None:
        os.dup2(os.open(told, os.O_CREAT | os.O_WRONLY), 2)
        run(arguments, folder)

    code = os.waitstatus_to_exitcode(os.waitpid(forked(work), 0)[1])
    return code, told.read_text()


if __name__ == "__main__":
    main(disk_case, "tests.fuzz.disks")
