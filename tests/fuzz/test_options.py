"""Odd values of every option of every command: an answer, or one message and exit code 2."""

import os

import pytest

from tests.fuzz.options import commands
from tests.fuzz.running import run_cases

MODULE = "tests.fuzz.options"


def test_some_odd_values_of_options() -> None:
    found = run_cases(MODULE, cases=40, seed=int(os.environ.get("FUZZ_SEED", "0")))
    assert found.failures == []
    assert found.total == 40


@pytest.mark.slow
def test_every_odd_value_of_every_option() -> None:
    found = run_cases(MODULE, cases=len(commands()), seed=1)
    assert found.failures == []
    assert found.total == len(commands()) > 5_000
    assert min(found.outcomes["done"], found.outcomes["refused"]) > 100
