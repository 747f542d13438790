"""Learning a fleet: the same bytes whoever works, what cannot be learned, versions, and input that is refused."""

import os
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import lostsales
from lostsales.apps.fleet.engine import Processes
from lostsales.apps.fleet.fit import fit_fleet
from lostsales.apps.fleet.fleet import Fleet
from lostsales.apps.fleet.shard_tasks import FittedShard, ShardTask, fit_shard
from lostsales.apps.fleet.store import Store
from lostsales.data.sublogs import series_of
from lostsales.data.writing import write_table
from lostsales.errors import LostSalesError, SettingError
from lostsales.policy.file_format import load
from tests.apps.fleet.shops import shop_columns, taken, tree, write_source
from tests.apps.running import Fails, run, run_json

METHOD = "base-stock"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    shop, columns = shop_columns(12)
    return write_source(tmp_path / "source", columns, shop)


def fitted(source: Path, store: Path, **options: Any) -> Any:
    return fit_fleet(source, store, METHOD, **({"shard_size": 4} | options))


def failures(store: Path) -> dict[str, tuple[str, str]]:
    found = (
        duckdb.connect()
        .execute(f"SELECT series, reason, fallback FROM '{store}/versions/00001/failures.parquet'")
        .fetchall()
    )
    return {series: (reason, fallback) for series, reason, fallback in found}


def test_one_and_two_workers_write_the_same_bytes(source: Path, tmp_path: Path) -> None:
    fitted(source, tmp_path / "one")
    fitted(source, tmp_path / "two", engine=Processes(2))
    assert tree(tmp_path / "one") == tree(tmp_path / "two")
    assert str(tmp_path).encode() not in b"".join(tree(tmp_path / "one").values())


def test_a_shard_is_what_fit_learns_from_its_products(source: Path, tmp_path: Path) -> None:
    fitted(source, tmp_path / "store")
    fleet = Fleet.open(tmp_path / "store")
    members = fleet.products["series"][fleet.products["shard"] == 1]
    log = lostsales.read_log(source)
    chosen = series_of(log, np.flatnonzero(np.isin(log.names, members)))
    wanted, found = lostsales.fit(chosen, METHOD), fleet.policy(1)
    assert found.summary() == wanted.summary()


def test_what_is_finished_is_not_done_again(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[int] = []

    def until_two(task: ShardTask) -> FittedShard:
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(task.rows.shard)
        return fit_shard(task)

    monkeypatch.setattr("lostsales.apps.fleet.fit.fit_shard", until_two)
    with pytest.raises(KeyboardInterrupt):
        fitted(source, tmp_path / "store")
    version = Store.at(tmp_path / "store").versions()[0]
    written = {path: path.stat().st_mtime_ns for path in version.folder.rglob("*") if path.is_file()}
    assert sorted(version.entries()) == done
    assert not version.is_finished
    with pytest.raises(LostSalesError, match="no finished version"):
        Fleet.open(tmp_path / "store")
    monkeypatch.setattr("lostsales.apps.fleet.fit.fit_shard", fit_shard)
    fitted(source, tmp_path / "store")
    assert all(path.stat().st_mtime_ns == time for path, time in written.items())
    fitted(source, tmp_path / "whole")
    assert tree(tmp_path / "store") == tree(tmp_path / "whole")
    fitted(source, tmp_path / "store")
    assert [each.name for each in Store.at(tmp_path / "store").versions()] == ["00001"]


def _dies_once(task: ShardTask) -> FittedShard:
    mark = Path(os.environ["LOSTSALES_TEST_MARK"])
    if task.rows.shard == 1 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return fit_shard(task)


@pytest.mark.slow
def test_a_worker_that_is_killed_is_replaced(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOSTSALES_TEST_MARK", str(tmp_path / "mark"))
    monkeypatch.setattr("lostsales.apps.fleet.fit.fit_shard", _dies_once)
    fitted(source, tmp_path / "store", engine=Processes(2))
    assert (tmp_path / "mark").exists()
    monkeypatch.undo()
    fitted(source, tmp_path / "whole")
    assert tree(tmp_path / "store") == tree(tmp_path / "whole")


def test_products_that_cannot_be_learned_leave_the_others(tmp_path: Path) -> None:
    shop, columns = shop_columns(12)
    keep = (columns["series"] != "product 3") | (columns["period"] > 36)
    columns = taken(columns, keep)
    columns["price"] = np.where((columns["series"] == "product 5") & (columns["period"] == 7), -1.0, columns["price"])
    source = write_source(tmp_path / "source", columns, shop)
    fitted(source, tmp_path / "store")
    own = "the policy of its shard, as for an unknown product"
    assert failures(tmp_path / "store") == {
        "product 3": ("3 rows, and 10 are needed", own),
        "product 5": ("price must not be negative", own),
    }
    status = run_json("fleet", "status", tmp_path / "store")
    assert (status["products"], status["products_learned"], status["products_failed"]) == (12, 10, 2)
    fitted(source, tmp_path / "dropped", drop_bad_rows=True)
    assert set(failures(tmp_path / "dropped")) == {"product 3"}


def _one_fails(task: ShardTask) -> FittedShard:
    with pytest.MonkeyPatch.context() as patch:
        if task.rows.shard == 1:
            patch.setattr("lostsales.apps.fleet.shard_tasks.fit", lambda *_: 1 / 0)
        return fit_shard(task)


def test_a_shard_that_cannot_be_learned_is_decided_by_its_neighbour(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lostsales.apps.fleet.fit.fit_shard", _one_fails)
    fitted(source, tmp_path / "store")
    found = failures(tmp_path / "store")
    reasons = {
        (
            "its shard could not be fitted: ZeroDivisionError: division by zero",
            "the policy of shard 0, as for an unknown product",
        )
    }
    assert (len(found), set(found.values())) == (4, reasons)
    _, columns = shop_columns(12)
    write_table(taken(columns, columns["period"] == 39), tmp_path / "today.parquet")
    today = run_json("fleet", "recommend", tmp_path / "store", "--today", tmp_path / "today.parquet")
    assert len(today["recommendations"]) == 12


def test_a_fleet_of_which_nothing_can_be_learned_is_one_error(tmp_path: Path) -> None:
    shop, columns = shop_columns(3, periods=5)
    source = write_source(tmp_path / "source", columns, shop)
    with pytest.raises(LostSalesError, match="no product could be fitted; the first one: 5 rows, and 10 are needed"):
        fitted(source, tmp_path / "store")
    assert Store.at(tmp_path / "store").current_name() is None


def test_a_new_fit_is_a_new_version_and_readers_keep_theirs(source: Path, tmp_path: Path) -> None:
    fitted(source, tmp_path / "store")
    reader, before = Fleet.open(tmp_path / "store"), tree(tmp_path / "store" / "versions" / "00001")
    fitted(source, tmp_path / "store", least_rows=11)
    assert Fleet.open(tmp_path / "store").name == "00002"
    assert tree(tmp_path / "store" / "versions" / "00001") == before
    assert reader.name == "00001"
    reader.policy(2)
    run("fleet", "activate", tmp_path / "store", "00001")
    assert Fleet.open(tmp_path / "store").name == "00001"


def test_a_policy_that_was_altered_or_swapped_is_refused(source: Path, tmp_path: Path) -> None:
    version = fitted(source, tmp_path / "store")
    version.policy_path(0).write_bytes(version.policy_path(1).read_bytes())
    load(version.policy_path(0))
    with pytest.raises(LostSalesError, match="does not match its checksum"):
        Fleet.open(tmp_path / "store").policy(0)


def test_an_unfinished_version_of_other_settings_is_kept_until_restart(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("lostsales.apps.fleet.fit.fit_shard", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            fitted(source, tmp_path / "store")
    with pytest.raises(SettingError, match=r"with other least_rows; .*--restart"):
        fitted(source, tmp_path / "store", least_rows=11)
    fitted(source, tmp_path / "store", least_rows=11, restart=True)
    assert Fleet.open(tmp_path / "store").version.manifest.least_rows == 11


def test_a_second_writer_is_refused(source: Path, tmp_path: Path) -> None:
    fitted(source, tmp_path / "store")
    before = tree(tmp_path / "store")
    with Store.at(tmp_path / "store").lock():
        assert run_json("fleet", "status", tmp_path / "store")["is_being_written"]
        with pytest.raises(LostSalesError, match="another process is writing"):
            fitted(source, tmp_path / "store", least_rows=11)
    assert tree(tmp_path / "store") == before
    assert not run_json("fleet", "status", tmp_path / "store")["is_being_written"]


def test_a_store_of_another_problem_is_refused(source: Path, tmp_path: Path) -> None:
    fitted(source, tmp_path / "store")
    before = tree(tmp_path / "store")
    text = (source / "problem.toml").read_text().replace('"before"', '"after"')
    (source / "problem.toml").write_text(text)
    with pytest.raises(SettingError, match="made for another problem, which differs in arrival"):
        fitted(source, tmp_path / "store")
    assert tree(tmp_path / "store") == before


def test_a_folder_that_is_no_store_is_left_alone(source: Path) -> None:
    before = tree(source)
    with pytest.raises(LostSalesError, match="exists and is not a store"):
        fitted(source, source)
    assert tree(source) == before


def test_a_refused_source_leaves_nothing(source: Path, tmp_path: Path, fails: Fails) -> None:
    whole = (source / "part-1.parquet").read_bytes()
    (source / "part-1.parquet").write_bytes(whole[:-100])
    message = fails("fleet", "fit", source, "--out", tmp_path / "store", "--method", METHOD)
    assert "part-1.parquet cannot be read" in " ".join(message.split())
    assert set(tree(tmp_path / "store")) <= {"lock"}
    (source / "part-1.parquet").unlink()
    (source / "problem.toml").write_text((source / "problem.toml").read_text().replace('"unit_cost"', '"cost"'))
    message = fails("fleet", "fit", source, "--out", tmp_path / "store", "--method", METHOD)
    assert "missing column 'cost'" in " ".join(message.split())
    assert set(tree(tmp_path / "store")) <= {"lock"}


@contextmanager
def small_disk(most: int) -> Iterator[None]:
    """No file may be longer, as on a disk that is nearly full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_is_one_error_and_leaves_nothing(source: Path, tmp_path: Path) -> None:
    with small_disk(2_000), pytest.raises(LostSalesError, match="cannot be written: File too large"):
        fitted(source, tmp_path / "store")
    assert set(tree(tmp_path / "store")) <= {"lock"}
    fitted(source, tmp_path / "store")


def test_a_disk_that_fills_up_keeps_what_is_finished(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[int] = []

    def then_full(task: ShardTask) -> FittedShard:
        if done:
            monkeypatch.setattr(os, "fsync", full)
        done.append(task.rows.shard)
        return fit_shard(task)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("lostsales.apps.fleet.fit.fit_shard", then_full)
    with pytest.raises(LostSalesError, match=r"policy cannot be written: No space left on device"):
        fitted(source, tmp_path / "store")
    monkeypatch.undo()
    version = Store.at(tmp_path / "store").versions()[0]
    assert sorted(version.entries()) == done[:1]
    assert len(list((version.folder / "policies").iterdir())) == 1
    fitted(source, tmp_path / "store")
