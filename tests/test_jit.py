"""Compiled loops are kept on disk, and never those of another version."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from lostsales import _jit

INNER = """
from lostsales._jit import compiled
FACTOR = {factor}

@compiled
def inner(x):
    return {body}
"""
OUTER = """
from inner import FACTOR, inner
from lostsales._jit import compiled

@compiled
def outer(x):
    return inner(x) * FACTOR

print(outer(2.0), sum(outer.stats.cache_hits.values()))
"""


def run(folder: Path, body: str, factor: float) -> tuple[float, int]:
    """What the function in an unchanged file gives, and how often it was found on disk."""
    (folder / "inner.py").write_text(INNER.format(body=body, factor=factor))
    done = subprocess.run([sys.executable, "outer.py"], cwd=folder, capture_output=True, text=True, check=True)
    value, hits = done.stdout.split()
    return float(value), int(hits)


@pytest.mark.slow
def test_a_caller_is_compiled_anew_where_what_it_calls_or_a_constant_changed(tmp_path: Path) -> None:
    (tmp_path / "outer.py").write_text(OUTER)
    assert run(tmp_path, "x + 1", 10.0) == (30.0, 0)
    assert run(tmp_path, "x + 1", 10.0) == (30.0, 1)
    assert run(tmp_path, "x + 5", 10.0) == (70.0, 0)
    assert run(tmp_path, "x + 5", 20.0) == (140.0, 0)
    assert run(tmp_path, "x + 5", 20.0) == (140.0, 1)


def test_a_terminal_is_told_once_that_loops_are_compiled(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def started(module: str) -> SimpleNamespace:
        return SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=SimpleNamespace(__module__=module))})

    notice = _jit.CompilationNotice()
    notice.on_start(started("lostsales.data.loops"))  # no terminal
    assert not capsys.readouterr().err
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    notice.on_start(started("another.package"))
    assert not capsys.readouterr().err
    for _ in range(2):
        notice.on_start(started("lostsales.data.loops"))
    assert capsys.readouterr().err == f"{_jit.COMPILING}\n"
