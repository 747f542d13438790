"""Damaged and hostile policy files end in one error or in a decision: no traceback, no death, no differing answers."""

import io
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import lostsales
from lostsales.errors import LostSalesError
from lostsales.policy import file_format
from tests.fuzz.made_policies import made_file
from tests.fuzz.policy_files import NAMES, npy, opened, sealed
from tests.fuzz.running import run_cases

MODULE = "tests.fuzz.policy_files"


def test_some_damaged_and_hostile_files() -> None:
    found = run_cases(MODULE, cases=60, seed=int(os.environ.get("FUZZ_SEED", "0")))
    assert found.failures == []
    assert found.total == 60
    assert found.outcomes["refused"] > 30
    assert found.outcomes["used"] > 0


@pytest.mark.slow
def test_ten_thousand_damaged_and_hostile_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FUZZ_LONG", "1")
    found = run_cases(MODULE, cases=10_000, seed=int(os.environ.get("FUZZ_SEED", "1")))
    assert found.failures == []
    assert found.total == 10_000
    assert found.outcomes["refused"] > 5_000
    assert found.outcomes["used"] > 100


@pytest.fixture(scope="module")
def plan() -> Path:
    return made_file("planner released")


def refusal(origin: Path, path: Path, settings: dict[str, Any], **arrays: Any) -> str:
    """The message about a policy whose fields and arrays are changed, its checksums with them."""
    members, metadata = opened(origin)
    metadata["policy"] |= settings
    sealed(members | {f"array_{name}": each for name, each in arrays.items()}, metadata, path)
    with pytest.raises(LostSalesError) as refused:
        lostsales.load(path)
    return str(refused.value)


@pytest.mark.parametrize(
    ("settings", "arrays", "expected"),
    [
        ({"demand_max": -1e9}, {}, "demand_max: Input should be greater than or equal to"),
        ({"integer": 1}, {}, "integer: Input should be a valid boolean"),
        ({}, {"ranges": np.full((2, 2), np.nan)}, "'ranges' must lie between"),
        ({}, {"steps": np.zeros(2)}, "'steps' must lie between 1e-30 and 1e+30, but has 0"),
        ({}, {"latents": np.zeros((1, 3, 2, 399, 33, 32), np.float32)}, "'latents' must have the shape (laws, "),
        ({}, {"states.w_nodes": np.array([1.0, 0.0])}, "'states.w_nodes' must rise"),
        ({}, {"attributes.names": np.zeros(3)}, "names' must hold texts, but holds float64"),
        ({}, {"steps": np.ones(2, ">f8")}, "'steps' must hold numbers, but holds >f8"),
        ({}, {"foreign": np.zeros(6)}, "an array 'foreign', which this kind of policy does not have"),
        ({"extra": 1}, {}, "extra: no such key"),
        ({"physics": {}}, {}, "physics: no such key"),
        ({"following": {"is": "os.system"}}, {}, "its following must be one of ByStock, ByPipeline, ByPaths"),
        ({"states": None}, {}, "its states must be a table"),
    ],
)
def test_hostile_numbers_of_a_plan_are_refused_before_a_loop_runs(
    plan: Path, settings: dict[str, Any], arrays: dict[str, Any], expected: str, tmp_path: Path
) -> None:
    assert expected in refusal(plan, tmp_path / "policy", settings, **arrays)


def test_a_plan_of_impossible_grids_is_refused(plan: Path, tmp_path: Path) -> None:
    """A grid of more actions than memory holds, and values of other market states than the plan has."""
    members, _ = opened(plan)
    many = np.arange(1_000.0)
    message = refusal(plan, tmp_path / "policy", {}, **{"candidates.prices": many, "candidates.orders": many})
    assert "it decides among 1,000 prices and 1,000 orders; at most 100,000 pairs can be" in message
    values = members["array_following.values"]
    fewer = {"following.values": np.ascontiguousarray(np.repeat(values, 2, axis=1))}
    assert "its values must be of its market states" in refusal(plan, tmp_path / "policy", {}, **fewer)
    longer = {"states.w_nodes": members["array_states.w_nodes"][:1] + np.arange(50.0)}
    assert "its values must be of its market states" in refusal(plan, tmp_path / "policy", {}, **longer)
    one_lag = {"latents": members["array_latents"][..., :1, :], "following.values": values[:, :, :, :1]}
    assert "must have the shape" in refusal(plan, tmp_path / "policy", {}, **one_lag)


def test_a_plan_without_orders_on_the_way_cannot_decide_for_a_shop_with_lead_times(plan: Path, tmp_path: Path) -> None:
    problem = opened(plan)[1]["policy"]["problem"]
    problem |= {"arrival": "after", "supply": problem["supply"] | {"lead_time": 3}}
    assert "its orders take time" in refusal(plan, tmp_path / "policy", {"problem": problem})


def test_a_missing_array_is_refused(plan: Path, tmp_path: Path) -> None:
    members, metadata = opened(plan)
    del members["array_steps"]
    sealed(members, metadata, tmp_path / "policy")
    with pytest.raises(LostSalesError, match="its array 'steps' is missing"):
        lostsales.load(tmp_path / "policy")


def test_a_penalty_without_posterior_variance_is_refused(tmp_path: Path) -> None:
    origin = made_file("pc-fqi released")
    members, metadata = opened(origin)
    for q in metadata["policy"]["q"]:
        q["basis"]["uncertainty"] = None
    members = {name: each for name, each in members.items() if not re.match(r"array_q\..*uncertainty", name)}
    sealed(members, metadata, tmp_path / "policy")
    with pytest.raises(LostSalesError, match="needs the posterior variance of every Q"):
        lostsales.load(tmp_path / "policy")


@pytest.mark.parametrize(
    ("member", "content"),
    [
        ("array_x.npy", b"\x93NUMPY\x01\x00\x10\x00{'descr': (((((     "),
        ("array_x.npy", npy("<f8", (10**12,))),
        ("array_x.npy", npy("|O", (3,)) + bytes(24)),
        ("foreign.txt", b"hello"),
        ("../../evil.npy", npy("<f8", (1,)) + bytes(8)),
    ],
)
@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_a_foreign_member_is_refused(plan: Path, member: str, content: bytes, method: int, tmp_path: Path) -> None:
    path = tmp_path / "policy"
    path.write_bytes(plan.read_bytes())
    with zipfile.ZipFile(path, "a", method) as archive:
        archive.writestr(member, content)
    with pytest.raises(LostSalesError, match=r"not a policy file|damaged or was altered"):
        lostsales.load(path)


BOMB = """
import resource, sys, lostsales
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
from lostsales.errors import LostSalesError
try:
    lostsales.load(sys.argv[1])
except LostSalesError as error:
    print(error)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_a_small_file_that_unpacks_to_a_thousand_times_its_size_is_refused_without_unpacking(
    plan: Path, tmp_path: Path
) -> None:
    path = tmp_path / "policy"
    path.write_bytes(plan.read_bytes())
    zeros = bytes(1 << 24)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive, archive.open("array_x.npy", "w") as member:
        member.write(npy("|u1", (20 << 24,)))
        for _ in range(20):
            member.write(zeros)
    assert path.stat().st_size < 1e6
    ended = subprocess.run([sys.executable, "-c", BOMB, path], capture_output=True, text=True, check=True)  # noqa: S603
    message, kilobytes = ended.stdout.strip().rsplit("\n", 1)
    assert "it would unpack to 336 MB" in message
    assert int(kilobytes) < 100_000


def test_a_policy_that_compresses_too_well_is_saved_so_that_it_loads(
    plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = lostsales.load(plan)
    monkeypatch.setattr(file_format, "FREE_BYTES", 1_000)
    monkeypatch.setattr(file_format, "FREE_RATIO", 1)
    with pytest.raises(LostSalesError, match="it would unpack to"):
        lostsales.load(plan)
    policy.save(tmp_path / "again")
    assert lostsales.load(tmp_path / "again").summary() == policy.summary()


def test_bytes_after_the_archive_do_not_count_as_content(plan: Path, tmp_path: Path) -> None:
    path = tmp_path / "policy"
    stream = io.BytesIO(plan.read_bytes())
    path.write_bytes(b"#!/bin/sh\n" + stream.getvalue())
    assert lostsales.load(path).summary() == {"method": "planner"}


@pytest.mark.parametrize("name", ["planner", "planner with weekdays", "planner released", "replay-fqi"])
def test_a_stock_far_beyond_the_plan_is_decided_as_a_large_one(name: str) -> None:
    """Its position among the stocks of the plan is bounded before it becomes a whole number."""
    policy: Any = lostsales.load(made_file(name))
    today = pd.read_csv(made_file(name).with_name("today.csv"), dtype=NAMES)
    large, beyond = (policy.recommend(None, today.assign(stock=stock)) for stock in (1e6, 1e9))
    pd.testing.assert_frame_equal(large[["price", "order"]], beyond[["price", "order"]])
    for _ in range(3):
        again = policy.recommend(None, today.assign(stock=1e15))
        pd.testing.assert_frame_equal(again, policy.recommend(None, today.assign(stock=1e15)))
    with pytest.raises(LostSalesError, match=r"stock must be at most 1e\+15, but row 0"):
        policy.recommend(None, today.assign(stock=1e25))
