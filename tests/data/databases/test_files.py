"""Logs in SQLite and DuckDB files, and decisions written to them."""

import sqlite3
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

import lostsales
from lostsales.data.databases.address import DatabaseAddress
from lostsales.data.databases.decisions import run_name, write_decisions
from lostsales.data.databases.query import DatabaseQuery, sales_source
from lostsales.errors import LostSalesError
from tests.data.databases.server import log_frame
from tests.tables import assert_equal_logs

QUERY = "SELECT * FROM sales"


def database(kind: str, folder: Path, frame: pd.DataFrame) -> str:
    """A file with the table `sales`, by its address."""
    path = folder / f"shop.{kind}"
    if kind == "sqlite":
        with sqlite3.connect(path) as connection:
            frame.to_sql("sales", connection, index=False)
        connection.close()
    else:
        with duckdb.connect(path) as duck:
            duck.register("frame", frame)
            duck.execute("CREATE TABLE sales AS SELECT * FROM frame")
    return f"{kind}:///{path}"


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_log_from_a_file_is_the_log_of_its_frame(kind: str, tmp_path: Path) -> None:
    address = database(kind, tmp_path, log_frame())
    wanted = lostsales.read_log(log_frame())
    assert_equal_logs(lostsales.read_log(address, query=QUERY), wanted)
    assert_equal_logs(lostsales.read_log(tmp_path / f"shop.{kind}", query=f"{QUERY};"), wanted)


def test_every_value_of_sqlite_has_a_type_of_its_own_and_is_read_exactly(tmp_path: Path) -> None:
    address = database("sqlite", tmp_path, log_frame().drop(columns="price"))
    connection = sqlite3.connect(tmp_path / "shop.sqlite")
    connection.execute("ALTER TABLE sales ADD COLUMN price")  # of no type, so that values keep their own
    for row, price in ((0, 1), (1, "12345678.25"), (7, 12345678.123456789)):
        connection.execute("UPDATE sales SET price = ? WHERE rowid = ?", (price, row + 1))
    connection.execute("UPDATE sales SET price = 2.5 WHERE price IS NULL")
    connection.commit()
    connection.close()
    log = lostsales.read_log(address, query=QUERY)
    np.testing.assert_array_equal(log.price[[0, 1, 7]], [1, 12345678.25, 12345678.123456789])


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_batches_hold_some_rows_at_a_time(kind: str, tmp_path: Path) -> None:
    address = database(kind, tmp_path, pd.DataFrame({"a": np.arange(150_000), "b": "x"}))
    query = sales_source(address, QUERY)
    assert isinstance(query, DatabaseQuery)
    with query.batches(["a"]) as batches:
        found = [(batch.num_rows, batch.schema.names, batch.column(0)[0].as_py()) for batch in batches]
    assert sum(rows for rows, _, _ in found) == 150_000
    assert max(rows for rows, _, _ in found) < 130_000
    assert {tuple(names) for _, names, _ in found} == {("a",)}
    assert found[0][2] == 0


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT nothing FROM sales", "cannot be read: .*nothing"),
        ("SELECT * FROM sales WHERE 1 = 0", "a log needs at least one row"),
        ("DROP TABLE sales", "cannot be read|must return rows"),
        ("", "needs a query"),
        ("SELECT series, series FROM sales", "different names|missing column"),
        ("SELECT * FROM sales; DROP TABLE sales", "cannot be read"),
    ],
)
def test_a_query_that_is_none_is_one_error_and_changes_nothing(
    kind: str, query: str, expected: str, tmp_path: Path
) -> None:
    address = database(kind, tmp_path, log_frame())
    with pytest.raises(LostSalesError, match=expected):
        lostsales.read_log(address, query=query)
    assert len(lostsales.read_log(address, query=QUERY)) == len(log_frame())


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_database_that_is_not_there_is_not_made(kind: str, tmp_path: Path) -> None:
    with pytest.raises(LostSalesError, match=r"there is no database"):
        lostsales.read_log(f"{kind}:///{tmp_path}/none.db", query=QUERY)
    assert not list(tmp_path.iterdir())


def test_a_view_of_duckdb_reads_no_other_file(tmp_path: Path) -> None:
    log_frame().to_csv(tmp_path / "other.csv")
    address = database("duckdb", tmp_path, log_frame())
    with duckdb.connect(tmp_path / "shop.duckdb") as connection:
        connection.execute(f"CREATE VIEW planted AS SELECT * FROM read_csv('{tmp_path}/other.csv')")
    with pytest.raises(LostSalesError, match=r"shop.duckdb cannot be read: .*disabled"):
        lostsales.read_log(address, query="SELECT * FROM planted")


def test_a_query_needs_an_address() -> None:
    with pytest.raises(LostSalesError, match=r"a query needs the address of a database, but a DataFrame came"):
        lostsales.read_log(log_frame(), query=QUERY)


COLUMNS = {
    "series": np.array(["a", "b"], dtype=object),
    "period": np.array(["2026-03-05", "2026-03-05"], dtype="datetime64[us]"),
    "price": np.array([2.5, 3.0]),
    "order": np.array([4.0, 0.0]),
    "advantage": np.array([0.25, np.nan]),
    "safe_action": np.array([True, False]),
    "flag": np.array(["", "outside the data"], dtype=object),
}
KEYS = ("series", "period")


def stored(path: Path, kind: str, what: str = "*") -> list[tuple[object, ...]]:
    sql = f"SELECT {what} FROM lostsales_decisions ORDER BY run, series"
    if kind == "sqlite":
        connection = sqlite3.connect(path)
        try:
            return connection.execute(sql).fetchall()
        finally:
            connection.close()
    with duckdb.connect(path) as duck:
        return duck.execute(sql).fetchall()


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_decisions_are_written_once_for_every_run(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"out.{kind}"
    address = DatabaseAddress.of(f"{kind}:///{path}")
    assert write_decisions(address, COLUMNS, KEYS, "monday") == 2
    once = stored(path, kind)
    assert write_decisions(address, COLUMNS, KEYS, "monday") == 0
    assert stored(path, kind) == once
    assert stored(path, kind, "price, advantage") == [(2.5, 0.25), (3.0, None)]
    other = COLUMNS | {"price": np.array([2.5, 9.0])}
    with pytest.raises(
        LostSalesError, match=r"the run 'monday' is already in lostsales_decisions of .* for 1 of these rows"
    ):
        write_decisions(address, other, KEYS, "monday")
    assert stored(path, kind) == once
    assert write_decisions(address, other, KEYS, "tuesday") == 2
    assert len(stored(path, kind)) == 4


def test_a_run_is_named_by_what_it_decided(tmp_path: Path) -> None:
    (tmp_path / "policy").write_bytes(b"a policy")
    name = run_name(tmp_path / "policy", COLUMNS)
    assert name == run_name(tmp_path / "policy", dict(COLUMNS))
    assert name != run_name(tmp_path / "policy", COLUMNS | {"price": np.array([2.5, 9.0])})


@pytest.mark.parametrize("table", ["", "a.b.c", ".", "a\0b"])
def test_a_table_has_a_name(table: str, tmp_path: Path) -> None:
    with pytest.raises(LostSalesError, match=r"a table must be a name such as lostsales_decisions"):
        write_decisions(DatabaseAddress.of(f"sqlite:///{tmp_path}/x.db"), COLUMNS, KEYS, "run", table)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_link_is_no_database_to_write_to(kind: str, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "mine")
    with pytest.raises(LostSalesError, match=r"it is no regular file"):
        write_decisions(DatabaseAddress.of(f"{kind}:///{tmp_path}/link"), COLUMNS, KEYS, "run")
    assert not (tmp_path / "mine").exists()
