"""New data of the shop: refused ones are told everywhere and older ones stay, a bad row costs one product."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.apps.service.desks import ROW, Running, running, shop


def metric(desk: Running, name: str) -> float:
    families = text_string_to_metric_families(desk.get("/metrics").text)
    return next(float(each.samples[0].value) for each in families if each.name == name)


def write_today(folder: Path, rows: list[dict[str, Any]]) -> None:
    pd.DataFrame(rows).to_csv(folder / "today.csv", index=False)


TODAY = [ROW | {"series": str(each)} for each in range(6)]


def log_of(folder: Path) -> pd.DataFrame:
    """The log as CSV in place of Parquet, to be damaged."""
    table = pd.read_parquet(folder / "log.parquet")
    (folder / "log.parquet").unlink()
    table.to_csv(folder / "log.csv", index=False)
    return table


def damage(path: Path) -> None:
    path.write_text("this,is\nno,log\n")
    os.utime(path, (2e9, 2e9))


def test_refused_data_are_told_on_the_list_by_probe_metric_and_log(tmp_path: Path) -> None:
    policy = shop(tmp_path)
    log_of(tmp_path)
    with running(tmp_path, policy, reload_seconds=0.05) as desk:
        whole = (tmp_path / "log.csv").read_bytes()
        before = desk.service.desk
        assert f"data of {before.data.moment}" in desk.get("/").text
        assert desk.client.get("/readyz").status_code == 200
        assert metric(desk, "lostsales_import_refused") == 0
        damage(tmp_path / "log.csv")
        wait_for(lambda: desk.service.refused is not None and '"import"' in desk.log.getvalue())
        assert desk.service.desk is before
        text = desk.get("/").text
        assert "These are not the newest data." in text
        assert f"The list is of {before.data.moment}" in text
        assert "2033-05-18 03:33 UTC were refused" in text
        assert "missing column" in text
        ready = desk.client.get("/readyz")
        assert ready.status_code == 503
        assert "newer data were refused" in ready.json()["message"]
        assert metric(desk, "lostsales_import_refused") == 1
        lines = [json.loads(line) for line in desk.log.getvalue().splitlines()]
        told = [line for line in lines if line["event"] == "import"]
        assert len(told) == 1  # and not every time that the files are looked at
        assert "missing column" in told[0]["refused"][0]
        (tmp_path / "log.csv").write_bytes(whole)
        wait_for(lambda: desk.service.refused is None)
        assert desk.client.get("/readyz").status_code == 200
        assert "These are not the newest data." not in desk.get("/").text


def wait_for(condition: Any, seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_versions_are_left_while_the_log_is_broken(tmp_path: Path) -> None:
    policy = shop(tmp_path)
    log_of(tmp_path)
    with running(tmp_path, policy) as desk:
        versions = {each["name"]: each["version"] for each in desk.get("/v1/policies").json()["versions"]}
        assert desk.post(f"/v1/policies/{versions['rule']}/activate", {}).status_code == 200
        damage(tmp_path / "log.csv")
        desk.service.reload_if_changed()
        assert desk.post("/v1/policies/rollback", {}).json()["active"] == versions["planner"]
        again = desk.post("/v1/policies/rollback", {})
        assert (again.status_code, desk.service.desk.version.version) == (409, versions["planner"])
        token = desk.sign_in("admin")
        for _ in range(2):  # the page names the version to go back to: twice is once
            form = {"csrf": token, "version": versions["rule"]}
            assert desk.client.post("/policies/activate", data=form).status_code == 200
        assert len(desk.service.store.activations()) == 4  # the first when it began


def test_a_roll_back_goes_on_where_it_was_after_a_restart(tmp_path: Path) -> None:
    policy = shop(tmp_path)
    with running(tmp_path, policy) as desk:
        versions = {each["name"]: each["version"] for each in desk.get("/v1/policies").json()["versions"]}
        desk.post(f"/v1/policies/{versions['rule']}/activate", {})
        desk.post("/v1/policies/rollback", {})
    (tmp_path / "keys.json").unlink()
    with running(tmp_path, policy) as desk:
        assert desk.get("/v1/policies").json()["active"] == versions["planner"]
        assert desk.post("/v1/policies/rollback", {}).status_code == 409


@pytest.mark.parametrize("bad", [{"stock": -1}, {"stock": "many"}, {"interest": None}, {"period": 5}])
def test_a_bad_row_of_today_costs_one_product(tmp_path: Path, bad: dict[str, Any]) -> None:
    policy = shop(tmp_path)
    write_today(tmp_path, [row | (bad if row["series"] == "2" else {}) for row in TODAY])
    with running(tmp_path, policy) as desk:
        assert sorted(desk.service.desk.morning.name) == ["0", "1", "3", "4", "5"]
        assert list(desk.service.desk.left_out) == ["2"]
        text = desk.get("/").text
        assert "One product is left out" in text
        assert f"<li>2: {desk.service.desk.left_out['2']}" in text
        assert metric(desk, "lostsales_products_left_out") == 1
        assert desk.client.get("/readyz").status_code == 200


def test_a_bad_row_of_the_log_costs_one_product(tmp_path: Path) -> None:
    policy = shop(tmp_path)
    table = log_of(tmp_path)
    table.loc[table.index[table["series"].astype(str) == "4"][-1], "sales"] = -3
    table.to_csv(tmp_path / "log.csv", index=False)
    write_today(tmp_path, TODAY)
    with running(tmp_path, policy) as desk:
        assert sorted(desk.service.desk.morning.name) == ["0", "1", "2", "3", "5"]
        assert "sales must not be negative" in desk.service.desk.left_out["4"]
        assert "<li>4: " in desk.get("/").text


def test_today_without_a_usable_row_is_refused(tmp_path: Path) -> None:
    policy = shop(tmp_path)
    write_today(tmp_path, TODAY)
    with running(tmp_path, policy) as desk:
        write_today(tmp_path, [row | {"period": 5} for row in TODAY])  # the log is newer
        assert not desk.service.reload_if_changed()
        assert desk.service.refused is not None
        assert "today must come after every recent row" in desk.service.refused.reasons[0]
        assert desk.service.refused.kinds == ("today must come after every recent row",)
        assert len(desk.service.desk.morning) == 6
