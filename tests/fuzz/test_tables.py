"""Tables at random: every one is read right or refused in one clear error; none crashes, none is accepted wrongly."""

import gzip
import os
import signal
import tomllib
from pathlib import Path

import numpy as np
import pytest

from lostsales.data.problem import Problem
from lostsales.data.reading.gate import read_log
from lostsales.errors import LostSalesError
from tests.fuzz.odd_files import damaged_file
from tests.fuzz.running import run_cases
from tests.tables import frame

MODULE = "tests.fuzz.tables"


def test_some_hundred_tables_at_random_are_read_right_or_refused() -> None:
    found = run_cases(MODULE, cases=400, seed=int(os.environ.get("FUZZ_SEED", "0")), batch=400)
    assert found.failures == []
    assert found.total == 400
    assert min(found.outcomes["read"], found.outcomes["refused"]) > 80
    assert found.outcomes["used"] > 5


@pytest.mark.slow
def test_a_hundred_thousand_tables_at_random_are_read_right_or_refused() -> None:
    found = run_cases(MODULE, cases=100_000, seed=int(os.environ.get("FUZZ_SEED", "1")), batch=2_000)
    assert found.failures == []
    assert found.total == 100_000
    assert min(found.outcomes["read"], found.outcomes["refused"]) > 20_000


def test_a_case_that_fails_dies_or_hangs_is_counted() -> None:
    """The counting itself."""
    found = run_cases("tests.fuzz.failing_cases", cases=6, seed=0)
    assert found.outcomes == {"well": 2}
    wrong, died, waited, computed = found.failures
    assert "case 1: ValueError: wrong" in wrong
    assert "case 2: the process ended with -11" in died
    assert "case 3: the process ended with 1" in waited
    assert "Timeout" in waited
    assert f"case 4: the process ended with {-signal.SIGPROF}" in computed
    assert "failing_case" in computed


def test_an_error_of_a_damaged_file_names_it(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    refused = []
    for _ in range(40):
        table = damaged_file(rng, tmp_path)
        try:
            read_log(table.source)
        except LostSalesError as error:
            refused.append(str(table.source) in str(error))
    assert len(refused) > 20
    assert all(refused)


@pytest.mark.parametrize(
    "key", ["costs.lost = true", "price = true", "capacity = true", "longest_run = true", "discount = false"]
)
def test_a_truth_value_is_no_number(tmp_path: Path, key: str) -> None:
    assert tomllib.loads(key)
    (tmp_path / "problem.toml").write_text(key)
    with pytest.raises(LostSalesError, match="must be a number"):
        Problem.from_toml(tmp_path / "problem.toml")


def test_a_file_within_a_compressed_file_is_no_table(tmp_path: Path) -> None:
    path = tmp_path / "log.csv.gz"
    path.write_bytes(gzip.compress(gzip.compress(frame().to_csv(index=False).encode())))
    with pytest.raises(LostSalesError, match="cannot be read"):
        read_log(path)
