"""Locks between processes, and that nothing else in the package needs one operating system."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import lostsales
from lostsales.data.output_files import try_lock

SOURCE = Path(str(lostsales.__file__)).parent
LOCKS = (
    "import os, sys; from lostsales.data.output_files import try_lock; print(try_lock(os.open(sys.argv[1], os.O_RDWR)))"
)
ONE_SYSTEM = {"fcntl", "grp", "msvcrt", "pty", "pwd", "resource", "termios", "winreg"}


def locked_by_another(path: Path) -> str:
    done = subprocess.run([sys.executable, "-c", LOCKS, path], capture_output=True, text=True, check=True)  # noqa: S603
    return done.stdout.strip()


def test_a_lock_ends_when_its_file_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with path.open("ab") as file:
        assert try_lock(file.fileno()) == "locked"
        assert locked_by_another(path) == "taken"
        file.write(b"one line\n")
    assert locked_by_another(path) == "locked"
    assert path.read_bytes() == b"one line\n"


def imported() -> Iterator[tuple[str, str]]:
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            yield from ((path.name, name) for name in names)


def test_only_the_lock_needs_modules_of_one_system() -> None:
    assert {place for place, name in imported() if name in ONE_SYSTEM} == {"output_files.py"}


def test_files_are_replaced_and_never_renamed_over() -> None:
    """`os.rename` and `Path.rename` fail on Windows where the target exists; `replace` does not."""
    found = {path.name for path in SOURCE.rglob("*.py") if ".rename(" in path.read_text(encoding="utf-8")}
    assert found == {"output_files.py"}  # to a name that is drawn at random
