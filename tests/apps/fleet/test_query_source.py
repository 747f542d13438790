"""A query as the source of a fleet: streamed into the store, and asked again for every new version."""

import sqlite3
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from lostsales.apps.fleet.fit import fit_fleet
from lostsales.apps.fleet.fleet import Fleet
from lostsales.apps.fleet.store import Store
from lostsales.data.databases.query import DatabaseQuery
from lostsales.errors import LostSalesError
from tests.apps.fleet.shops import shop_columns, tree, write_source
from tests.apps.running import run_json

SQL = "SELECT * FROM sales"
METHOD = "base-stock"


def database(folder: Path, products: int) -> tuple[str, Path]:
    """The address of a database with the rows of a shop, and its problem."""
    shop, columns = shop_columns(products)
    path = folder / "shop.db"
    with sqlite3.connect(path) as connection:
        pd.DataFrame(columns).astype({"stockout": int}).to_sql("sales", connection, index=False)
    connection.close()
    (folder / "problem.toml").write_text(shop.problem.to_toml())
    return f"sqlite:///{path}", folder / "problem.toml"


def test_a_query_gives_the_same_policies_as_files(tmp_path: Path) -> None:
    shop, columns = shop_columns(8)
    fit_fleet(write_source(tmp_path / "source", columns, shop), tmp_path / "files", METHOD, shard_size=4)
    address, problem = database(tmp_path, 8)
    options = ("--query", SQL, "--problem", problem, "--method", METHOD, "--shard-size", 4, "--workers", 1)
    found = run_json("fleet", "fit", address, "--out", tmp_path / "query", *options)
    assert (found["products_learned"], found["is_finished"]) == (8, True)
    files, query = (Fleet.open(tmp_path / name) for name in ("files", "query"))
    for shard in files.version.shards:
        assert files.policy(shard).summary() == query.policy(shard).summary()
    stored = b"".join(tree(tmp_path / "query").values())
    assert SQL.encode() not in stored
    assert not list((tmp_path / "query").rglob("fetched*"))


def test_a_finished_query_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    address, problem = database(tmp_path, 4)
    asked: list[str] = []
    batches = DatabaseQuery.batches

    def noted(self: DatabaseQuery) -> Any:
        asked.append(self.sql)
        return batches(self)

    monkeypatch.setattr(DatabaseQuery, "batches", noted)
    with monkeypatch.context() as patch:
        patch.setattr("lostsales.apps.fleet.fit.fit_shard", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            fit_fleet(address, tmp_path / "store", METHOD, query=SQL, problem=problem)
    fit_fleet(address, tmp_path / "store", METHOD, query=SQL, problem=problem)
    assert asked == [SQL]  # what was interrupted has its rows
    fit_fleet(address, tmp_path / "store", METHOD, query=SQL, problem=problem)
    assert asked == [SQL, SQL]
    assert [each.name for each in Store.at(tmp_path / "store").versions()] == ["00001", "00002"]


def test_a_query_without_rows_is_one_error(tmp_path: Path) -> None:
    address, problem = database(tmp_path, 4)
    with pytest.raises(LostSalesError, match="at least one product"):
        fit_fleet(address, tmp_path / "store", METHOD, query=f"{SQL} WHERE period < 0", problem=problem)
    assert set(tree(tmp_path / "store")) <= {"lock"}
