"""One Hypothesis profile (no deadlines on a shared machine, the same examples on every run), and the marker slowish."""

from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("lostsales", deadline=None, derandomize=True)
settings.load_profile("lostsales")

# Tests and files that make check leaves out; python -m tools.slowish measures and writes them.
SLOWISH = frozenset(Path(__file__).with_name("slowish.txt").read_text(encoding="utf-8").split())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of the list."""
    for item in items:
        if not SLOWISH.isdisjoint((item.nodeid.split("[")[0], item.nodeid.split("::")[0])):
            item.add_marker("slowish")
