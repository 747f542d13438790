"""Tables at random: every one is read right or refused in one clear error; none crashes, none is accepted wrongly."""

import gzip
import tomllib
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from lostsales.data.problem import Problem
from lostsales.data.reading.gate import read_log
from lostsales.errors import LostSalesError
from tests.data.reading.fuzzed_tables import damaged, fuzzed_table, may_be_refused
from tests.tables import frame

SHORT, LONG = 300, 20_000
KEYS = (
    'arrival = "before"',
    "balance = 5",
    "capacity = 5",
    "capacity = true",
    "capacity = nan",
    "discount = -1",
    "prices = [1, 2]",
    "prices = {}",
    "prices = {from = 1, to = 2, step = 0}",
    "prices = {from = 0, to = 1e300, step = 1e-300}",
    "orders = [[]]",
    "orders = {multiple = true, most = 3}",
    "features = [{}]",
    "features = ['price']",
    "features = 1979-05-27",
    "attributes = ['a', 1]",
    "price = true",
    "price = 2",
    "price = 1979-05-27T07:32:00Z",
    "longest_run = 1e30",
    "longest_run = true",
    "open_time = 0",
    "[costs]\nlost = true",
    "[costs]\nlost = 1e300",
    "[costs]\nlost = []",
    "[columns]\nseries = []",
    "[columns]\nprice = 2",
    "[columns]\nprice = {}",
    "[columns]\nseries = ['a', 'a']",
    "[columns]\nseries = ''",
    "[format]\ndecimal = ','",
    "[format]\nthousands = '\\\\'",
    "[format]\nthousands = ']'",
    "[format]\nthousands = '^'",
    "[format]\ncurrency = '(('",
    "[format]\ncurrency = ''''",
    "[format]\ndates = []",
    "[format]\ndates = '%Y%'",
    "[format]\ndates = ''",
    '[format]\ndates = "%Y\'"',
    "[rules]\nmultiple = true",
    "[rules]\nprice_endings = [2]",
    "x = 1",
    "[",
    "\x00",
    "a.b.c.d = 1",
    "price.x = 1",
    "[[costs]]",
)


def counted(seeds: range, folder: Path) -> Counter[str]:
    """What became of each table; raises where one crashed or was accepted wrongly."""
    count: Counter[str] = Counter()
    for seed in seeds:
        table = fuzzed_table(seed, folder)
        try:
            log = read_log(table.source)
        except LostSalesError as error:
            if table.price is not None and not may_be_refused(table):
                pytest.fail(f"{table.what} is refused: {error}")
            count["refused"] += 1
            continue
        except Exception as error:  # noqa: BLE001, whatever comes is a finding
            pytest.fail(f"{table.what} crashes: {type(error).__name__}: {error}")
        assert table.price is not None, f"{table.what} is accepted"
        np.testing.assert_array_equal(np.sort(log.price), np.sort(table.price), err_msg=table.what)
        count["read"] += 1
    return count


def test_tables_at_random_are_read_right_or_refused(tmp_path: Path) -> None:
    count = counted(range(SHORT), tmp_path)
    assert min(count["read"], count["refused"]) > SHORT / 5


@pytest.mark.slow
def test_very_many_tables_at_random_are_read_right_or_refused(tmp_path: Path) -> None:
    assert counted(range(SHORT, SHORT + LONG), tmp_path).total() == LONG


def damages(seeds: range, folder: Path) -> Counter[str]:
    count: Counter[str] = Counter()
    for ending in ("csv", "csv.gz", "parquet"):
        path = folder / f"log.{ending}"
        frame().to_parquet(path) if ending == "parquet" else frame().to_csv(path, index=False)
        whole = path.read_bytes()
        for seed in seeds:
            path.write_bytes(damaged(whole, np.random.default_rng(seed)))
            try:
                read_log(path)
                count["read"] += 1
            except LostSalesError as error:
                count["refused" if str(path) in str(error) else "unnamed"] += 1
            except Exception as error:  # noqa: BLE001, whatever comes is a finding
                pytest.fail(f"damage {seed} of {ending} crashes: {type(error).__name__}: {error}")
    return count


def test_damaged_files_are_read_or_refused(tmp_path: Path) -> None:
    count = damages(range(60), tmp_path)
    assert count["unnamed"] == 0
    assert count["refused"] > 60


@pytest.mark.slow
def test_very_many_damaged_files_are_read_or_refused(tmp_path: Path) -> None:
    count = damages(range(60, 3_060), tmp_path)
    assert (count.total(), count["unnamed"]) == (9_000, 0)


def test_problems_at_random_are_read_or_refused(tmp_path: Path) -> None:
    """Keys of any kind, also together: a problem, or one error; a log under it, or one error."""
    path, rng = tmp_path / "problem.toml", np.random.default_rng(0)
    frame().to_csv(tmp_path / "log.csv", index=False)
    read = 0
    for trial in range(len(KEYS) + 100):
        chosen = (
            [KEYS[trial]] if trial < len(KEYS) else sorted(rng.choice(KEYS, 2).tolist(), key=lambda key: "[" in key[:1])
        )
        path.write_text("\n".join(chosen), encoding="utf-8")
        try:
            read_log(tmp_path / "log.csv", path)
            read += 1
        except LostSalesError:
            pass
        except Exception as error:  # noqa: BLE001, whatever comes is a finding
            pytest.fail(f"{chosen} crashes: {type(error).__name__}: {error}")
    assert read > 5


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
