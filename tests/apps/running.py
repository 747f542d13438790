"""The command line within a test."""

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest
from typer.testing import CliRunner

from lostsales.apps.cli import app, main

Fails = Callable[..., str]  # of the fixture `fails`: the message of a command that must fail


def run(*arguments: object) -> str:
    """What a command that must succeed prints; its own errors are raised as they are."""
    result = CliRunner().invoke(app, [str(each) for each in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def run_json(*arguments: object) -> dict[str, Any]:
    """The object that a command prints with --json."""
    found: dict[str, Any] = json.loads(run(*arguments, "--json"))
    return found


def failure(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """The one message of a command that ends in a user's mistake, with exit code 2."""
    monkeypatch.setattr(sys, "argv", ["lostsales", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "Traceback" not in shown.err
    return shown.err
