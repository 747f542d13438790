"""Cases that fail in each way that is counted."""

import os
import signal
import time
from pathlib import Path

from tests.fuzz import running


def failing_case(seed: int, number: int, folder: Path) -> str:  # noqa: ARG001, one signature
    """Right, wrong, dead, waiting for ever, computing for ever, right."""
    if number == 1:
        raise ValueError("wrong")
    if number == 2:
        os.kill(os.getpid(), signal.SIGSEGV)
    if number == 3:
        time.sleep(60)
    while number == 4:
        pass
    return "well"


if __name__ == "__main__":
    running.SECONDS, running.WAITED = 1, 5
    running.main(failing_case, "tests.fuzz.failing_cases")
