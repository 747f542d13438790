"""Every command that the README shows runs as it stands."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def test_the_commands_of_the_readme_run_one_after_the_other(tmp_path: Path) -> None:
    blocks = re.findall(r"```sh\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)
    commands = [line for block in blocks for line in block.splitlines() if line]
    assert len(commands) >= 6
    for command in commands:
        program, *arguments = shlex.split(command)
        assert program == "lostsales"
        call = [sys.executable, "-c", "from lostsales.apps.cli import main; main()", *arguments]
        done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=False)  # noqa: S603, our own
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        assert done.stdout, command
