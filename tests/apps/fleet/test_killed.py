"""A fleet that is killed again and again: nothing finished is lost or repeated, and the store can always be read."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from lostsales.apps.fleet.fit import fit_fleet
from lostsales.apps.fleet.fleet import Fleet
from lostsales.apps.fleet.overview import status_of
from lostsales.apps.fleet.store import Store
from tests.apps.fleet.shops import shop_columns, tree, write_source

CODE = "from lostsales.apps.cli import main; main()"
METHOD, SHARD_SIZE = "base-stock", 2


def start(source: Path, store: Path) -> subprocess.Popen[bytes]:
    """The command in a process group of its own."""
    options = ("--method", METHOD, "--shard-size", SHARD_SIZE, "--workers", 2)
    command = [sys.executable, "-c", CODE, "fleet", "fit", str(source), "--out", str(store), *map(str, options)]
    nowhere = subprocess.DEVNULL
    return subprocess.Popen(command, start_new_session=True, stdout=nowhere, stderr=nowhere)  # noqa: S603


def kill_one(driver: subprocess.Popen[bytes], rng: np.random.Generator) -> None:
    """Kill the driver, or one of its workers and a little later the driver."""
    children = Path(f"/proc/{driver.pid}/task/{driver.pid}/children")
    workers = children.read_text().split() if children.exists() else []
    if workers and rng.random() < 0.5:
        os.kill(int(rng.choice(workers)), signal.SIGKILL)
        time.sleep(float(rng.uniform(0.0, 1.0)))
    driver.kill()
    driver.wait()


def await_moment(driver: subprocess.Popen[bytes], ledger: Path, rng: np.random.Generator, early: bool) -> None:
    """A moment before the first shard, or one a little after some more shards were finished."""
    if early:
        time.sleep(float(rng.uniform(0.1, 3.0)))
        return
    enough = len(list(ledger.glob("*.json"))) + int(rng.integers(1, 5))
    while driver.poll() is None and len(list(ledger.glob("*.json"))) < enough:
        time.sleep(0.005)
    time.sleep(float(rng.exponential(0.1)))


def finished(store: Path) -> dict[str, tuple[int, int]]:
    """The files of finished shards, with what changes when one is written again."""
    versions = Store.at(store).versions() if (store / "versions").is_dir() else []
    found = {}
    for version in versions:
        for shard in version.entries():
            for path in (version.ledger.path(shard), version.policy_path(shard)):
                found[str(path)] = (path.stat().st_ino, path.stat().st_mtime_ns)
    return found


def check_kills(folder: Path, products: int, kills: int) -> None:
    shop, columns = shop_columns(products)
    source = write_source(folder / "source", columns, shop)
    fit_fleet(source, folder / "whole", METHOD, shard_size=SHARD_SIZE)
    rng, store, known = np.random.default_rng(7), folder / "store", dict[str, tuple[int, int]]()
    counts = []
    for kill in range(kills):
        driver = start(source, store)
        await_moment(driver, store / "versions" / "00001" / "ledger", rng, early=kill % 5 == 0)
        kill_one(driver, rng)
        now = finished(store)
        assert {path: now[path] for path in known} == known  # none lost, none repeated
        known = now
        if (store / "versions").is_dir():
            assert status_of(store).shards_finished * 2 == len(known)
        counts.append(len(known) // 2)
    end = start(source, store)
    assert end.wait(timeout=300) == 0
    after = finished(store)
    assert {path: after[path] for path in known} == known
    assert tree(store) == tree(folder / "whole")
    assert len(Fleet.open(store).products["series"]) == products
    assert 0 < counts[1] < counts[-1]  # the kills came while there was work left


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").exists(), reason="finds workers in /proc")
def test_killed_a_few_times_it_goes_on(tmp_path: Path) -> None:
    check_kills(tmp_path, products=40, kills=3)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").exists(), reason="finds workers in /proc")
def test_killed_fifty_times_it_goes_on(tmp_path: Path) -> None:
    check_kills(tmp_path, products=800, kills=50)
