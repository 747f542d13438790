"""The commands as a user who has no home and may write nowhere but in one folder."""

import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

NOBODY = 65_534
_AS_NOBODY: dict[str, Any] = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
CODE = "from lostsales.apps.cli import main; main()"


@cache
def interpreter() -> str | None:
    """A Python of this version that the other user may run; None where there is none."""
    if os.name != "posix" or os.geteuid() != 0:
        return None
    check = f"import sys; sys.exit(sys.version_info[:2] != {sys.version_info[:2]})"
    for each in (sys.executable, "/usr/bin/python3"):
        try:
            if not subprocess.run([each, "-c", check], check=False, env={}, **_AS_NOBODY).returncode:  # noqa: S603
                return each
        except OSError:
            continue
    return None


def run_as_nobody(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """A command in a folder, with no environment but the places of packages."""
    paths = os.pathsep.join(each for each in sys.path if each)
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"}
    command = [str(interpreter()), "-c", CODE, *arguments]
    return subprocess.run(  # noqa: S603
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, **_AS_NOBODY
    )
