"""The store of decisions, in SQLite and in PostgreSQL where its server is installed."""

import os
import pwd
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp

import pytest

from benchmarks.load import free_port
from lostsales.apps.service import connections
from lostsales.apps.service.decisions import Activation, DecisionStore, StoredDecision, TakenError, TrailQuery
from lostsales.errors import LostSalesError, SettingError

ONE = StoredDecision(
    "id-1", "2026-01-01T00:00:00Z", "anna", "v", "milk", "50", "changed", 4.0, 3.0, 5.0, 2.0, "it's late"
)


def postgres_tools() -> Path | None:
    """The folder of PostgreSQL's programs."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb")) if os.name == "posix" else []
    where = shutil.which("initdb")
    return found[-1].parent if found else Path(where).parent if where else None


@contextmanager
def postgres() -> Iterator[str]:
    """A server of its own, which refuses to run as root: then it runs as the user that its package made."""
    tools = postgres_tools()
    if tools is None:
        pytest.skip("there is no PostgreSQL server on this machine")
    user = None
    folder = Path(mkdtemp(prefix="lostsales-pg-", dir="/tmp"))
    if os.geteuid() == 0:
        try:
            user = pwd.getpwnam("postgres").pw_name
        except KeyError:
            pytest.skip("PostgreSQL does not run as root, and there is no user for it")
        shutil.chown(folder, user)
    port, data = free_port(), folder / "data"

    def run(*command: object) -> None:
        subprocess.run([str(each) for each in command], check=True, capture_output=True, user=user, cwd=folder)  # noqa: S603

    run(tools / "initdb", "-D", data, "-U", "shop", "-A", "trust", "--no-sync")
    options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1"
    run(tools / "pg_ctl", "-D", data, "-o", options, "-l", folder / "log", "-w", "start")
    try:
        yield f"postgresql://shop@127.0.0.1:{port}/postgres"
    finally:
        run(tools / "pg_ctl", "-D", data, "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["sqlite", "postgresql"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield str(tmp_path / "decisions.db")
        return
    with postgres() as url:
        yield url


def test_what_is_stored_is_found_again(target: str) -> None:
    store = DecisionStore(target)
    first = store.add([ONE, replace(ONE, id="id-2", series="x' OR 1=1 --", status="declined", price=None)]).result(10)
    assert [each.seq for each in first] == [1, 2]
    assert store.add([replace(ONE, time="later")]).result(10) == first[:1]  # the same id is stored once
    for other in (replace(ONE, reason="another"), replace(ONE, who="eve"), replace(ONE, order=2.5)):
        with pytest.raises(TakenError, match="belongs to another decision"):
            store.add([replace(ONE, id="new"), other]).result(10)
    assert store.known(["id-1", "new", *map(str, range(600))]) == {"id-1": first[0]}
    last = store.add_many([replace(ONE, id=f"many-{each}", series=str(each)) for each in range(1000)]).result(10)
    assert last == store.decisions(limit=1)[0].seq
    with pytest.raises(TakenError, match="decided meanwhile"):
        store.add_many([replace(ONE, id=f"twice-{each}", series=each) for each in ("bread", "milk")]).result(10)
    store.add([replace(ONE, id="undone", series="7", status="withdrawn")]).result(10)
    assert "7" not in store.latest("50")
    store.add_many([replace(ONE, id="again", series="7")]).result(10)
    store.add([replace(ONE, id="id-3", status="accepted")]).result(10)
    assert store.decisions(TrailQuery(series="x' OR 1=1 --")) == first[1:]
    assert [each.id for each in store.decisions(TrailQuery(series="milk"))] == ["id-3", "id-1"]
    assert [each.id for each in store.decisions(TrailQuery(status="declined"))] == ["id-2"]
    older = store.decisions(before=store.decisions(limit=10)[-1].seq, limit=10)
    assert older[0].id == "many-992"
    assert store.latest("50")["milk"].status == "accepted"
    assert len(store.latest("50")) == 1002
    assert store.latest("51") == {}
    late = replace(ONE, id="late", series="Crème Brûlée 9", time="2999-03-05T23:59:59Z", who="zoë", period="52")
    store.add([late]).result(10)
    for query in (
        TrailQuery(q="BRULEE creme"), TrailQuery(q="9 é"), TrailQuery(who="zoë"), TrailQuery(since="2999-03-05"),
        TrailQuery(q="brul", since="2999-01-01", until="2999-03-05"),
    ):  # fmt: skip
        assert [each.id for each in store.decisions(query)] == ["late"], query
    for query in (TrailQuery(q="%brul"), TrailQuery(q="brul", until="2999-03-04"), TrailQuery(since="2999-03-06")):
        assert store.decisions(query) == [], query
    assert store.people() == sorted({ONE.who, "zoë"})
    store.add_activation(Activation("2026-01-01T00:00:00Z", "anna", "b", "a", "better")).result(10)
    assert [each.version for each in store.activations()] == ["b"]
    assert store.is_alive()
    store.close()
    again = DecisionStore(target)
    assert len(again.decisions(limit=10_000)) == 1006
    again.close()


def test_the_writer_outlives_those_who_give_up_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock on the file holds the writer up; futures that are cancelled meanwhile, waiting or in work, end nothing."""
    monkeypatch.setattr(connections, "BUSY_SECONDS", 1)
    store = DecisionStore(tmp_path / "decisions.db")
    with closing(sqlite3.connect(tmp_path / "decisions.db")) as other:
        other.execute("BEGIN IMMEDIATE")
        in_work = store.add([ONE])
        while not in_work.running():
            time.sleep(0.01)
        waiting = store.add([replace(ONE, id="id-2")])
        assert waiting.cancel()
        assert not in_work.cancel()  # too late: it is told what came of it
        with pytest.raises(LostSalesError, match="locked"):
            in_work.result(20)
        other.rollback()
    assert store.add([replace(ONE, id="id-3")]).result(20)[0].id == "id-3"
    assert store.is_alive()
    assert [each.id for each in store.decisions()] == ["id-3"]
    store.close()


def test_the_writer_outlives_any_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = DecisionStore(tmp_path / "decisions.db")
    monkeypatch.setattr(store, "_write", lambda _: 1 / 0)
    with pytest.raises(LostSalesError, match="ZeroDivisionError"):
        store.add([ONE]).result(20)
    monkeypatch.undo()
    assert store.add([ONE]).result(20)[0].id == "id-1"
    store.close()


def test_one_that_cannot_be_stored_does_not_spoil_others(tmp_path: Path) -> None:
    store = DecisionStore(tmp_path / "decisions.db")
    futures = [store.add([replace(ONE, id=f"id-{each}", reason=None if each == 3 else "")]) for each in range(6)]  # type: ignore[arg-type]
    for number, future in enumerate(futures):
        if number == 3:
            with pytest.raises(LostSalesError, match="could not be stored"):
                future.result(10)
        else:
            assert future.result(10)[0].id == f"id-{number}"
    store.close()


def test_a_place_that_does_not_do_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="a folder that exists"):
        DecisionStore(tmp_path / "none" / "decisions.db")
    (tmp_path / "text.db").write_text("no database, but a text that is long enough to be taken for one" * 100)
    with pytest.raises(LostSalesError, match="file is not a database"):
        DecisionStore(tmp_path / "text.db")
    with pytest.raises(LostSalesError, match=r"cannot be stored in postgresql://127.0.0.1:1/x") as refused:
        DecisionStore("postgresql://anna:secret@127.0.0.1:1/x")
    assert "secret" not in str(refused.value)
    first = DecisionStore(tmp_path / "decisions.db")
    with pytest.raises(SettingError, match="another service"):
        DecisionStore(tmp_path / "decisions.db")
    first.close()


def test_decisions_follow_no_link_and_leave_nothing_beside_what_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to("elsewhere.db")
    os.mkfifo(tmp_path / "pipe.db")
    before = sorted(path.name for path in tmp_path.iterdir())
    for name, expected in (("link.db", "is a symbolic link"), ("pipe.db", "is a pipe")):
        with pytest.raises(LostSalesError, match=expected):
            DecisionStore(tmp_path / name)
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    (tmp_path / ".new.db.lock").symlink_to("elsewhere")
    with pytest.raises(SettingError, match="cannot be written"):
        DecisionStore(tmp_path / "new.db")
    assert not (tmp_path / "elsewhere").exists()
