"""Which version a service begins with, and a check of it that needs nothing and writes nothing."""

import os
from pathlib import Path

import pytest

from lostsales.apps.service.versions import PolicyFolder
from lostsales.errors import SettingError
from lostsales.learn.baselines.threshold_tuning import BaseStock
from tests.apps.running import Fails, run, run_json
from tests.apps.service.desks import running, shop
from tests.learn.small import small_log


def version_of(folder: Path, name: str) -> str:
    return next(each.version for each in PolicyFolder(folder).versions() if each.name == name)


def test_a_folder_of_several_policies_is_told_which_one_to_begin_with(tmp_path: Path, fails: Fails) -> None:
    policy = shop(tmp_path)
    for more in (("--check",), ()):
        assert not (tmp_path / "decisions.db").exists()
        message = fails("serve", tmp_path, *more)
        assert "has 2 policy files, and none of them was activated" in message
        assert f"lostsales serve {tmp_path}" in message
    with running(tmp_path, policy):
        (tmp_path / "keys.json").unlink()
    with running(tmp_path, tmp_path) as desk:  # what it began with is remembered
        assert desk.service.desk.version.name == "planner"
        desk.post(f"/v1/policies/{version_of(tmp_path, 'rule')}/activate", {})
        (tmp_path / "keys.json").unlink()
    small = small_log("released", episodes=5, horizon=20)
    BaseStock().fit(small).save(tmp_path / "rule")  # a job replaces the file
    with running(tmp_path, tmp_path) as desk:
        assert desk.service.desk.version.version == version_of(tmp_path, "rule")
        told = [(each.who, each.version.split("-")[0]) for each in desk.service.store.activations()]
        assert told == [("start", "rule"), ("admin", "rule"), ("start", "planner")]
        assert desk.service.previous is not None
        assert desk.service.previous.name == "planner"
    (tmp_path / "rule").unlink()
    BaseStock().fit(small).save(tmp_path / "other")
    with pytest.raises(SettingError, match="none of them was activated"):
        PolicyFolder(tmp_path).initial("rule-000000000000")


def test_check_runs_beside_a_service_and_writes_nothing(tmp_path: Path) -> None:
    policy = shop(tmp_path)
    assert run_json("serve", policy, "--check")["products"] == 6
    assert sorted(each.name for each in tmp_path.iterdir()) == ["log.parquet", "log.toml", "planner", "rule"]
    with running(tmp_path, policy) as desk:
        desk.post(f"/v1/policies/{version_of(tmp_path, 'rule')}/activate", {})
        before = {each.name: (each.stat().st_mtime_ns, each.stat().st_size) for each in os.scandir(tmp_path)}
        assert run_json("serve", policy, "--check")["version"] == version_of(tmp_path, "rule")
        assert "rule" in run("serve", policy, "--check")
        after = {each.name: (each.stat().st_mtime_ns, each.stat().st_size) for each in os.scandir(tmp_path)}
        assert {name: each for name, each in after.items() if not name.endswith("-shm")} == {
            name: each for name, each in before.items() if not name.endswith("-shm")
        }
