"""Fixtures of the command line."""

import pytest

from tests.apps.running import Fails, failure


@pytest.fixture
def fails(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Fails:
    """The one message of a command that ends in a user's mistake."""
    return lambda *arguments: failure(monkeypatch, capsys, *arguments)
