"""Locks on open files that end with the process, however that ends."""

import os
import sys
from typing import Literal

FAR = 1 << 40  # byte that stands for the whole file where locks are of bytes: beyond what any file of ours has


def lock_file(descriptor: int) -> Literal["locked", "taken", "unknown"]:
    """Lock a file for this process; unknown where the file system has no locks."""
    try:
        if sys.platform == "win32":
            import msvcrt

            place = os.lseek(descriptor, 0, os.SEEK_CUR)
            os.lseek(descriptor, FAR, os.SEEK_SET)
            try:
                msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            finally:
                os.lseek(descriptor, place, os.SEEK_SET)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return "taken"
    except OSError:
        return "unknown"
    return "locked"
