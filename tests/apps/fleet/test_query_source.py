"""A query as the source of a fleet: streamed into the store, and asked again for every new version."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pytest

from lostsales.apps.fleet.fit import fit_fleet
from lostsales.apps.fleet.query_source import QuerySource
from lostsales.apps.fleet.store import Store
from lostsales.errors import LostSalesError
from lostsales.types import Array
from tests.apps.fleet.shops import shop_columns, tree, write_source


@dataclass
class Rows:
    """Rows in memory as a query returns them."""

    columns: dict[str, Array]
    sql: str = "SELECT * FROM sales"
    asked: list[int] = field(default_factory=list)

    def __str__(self) -> str:
        return "postgresql://ann@db/shop"

    @contextmanager
    def batches(self) -> Iterator[Iterator[pa.RecordBatch]]:
        """A hundred rows at a time."""
        self.asked.append(1)
        yield iter(pa.table(dict(self.columns)).to_batches(max_chunksize=100))


def test_a_query_gives_the_same_policies_as_files(tmp_path: Path) -> None:
    shop, columns = shop_columns(8)
    source = write_source(tmp_path / "source", columns, shop)
    fit_fleet(source, tmp_path / "files", "base-stock", shard_size=4)
    fit_fleet(QuerySource(Rows(columns)), tmp_path / "query", "base-stock", shard_size=4, problem=shop.problem)
    files, query = (tree(tmp_path / name / "versions" / "00001") for name in ("files", "query"))
    assert files.keys() == query.keys()
    assert {name for name in files if files[name] != query[name]} == {"fleet.json"}
    assert b"SELECT" not in query["fleet.json"]


def test_a_finished_query_is_asked_again(tmp_path: Path) -> None:
    shop, columns = shop_columns(4)
    rows = Rows(columns)
    for _ in range(2):
        fit_fleet(QuerySource(rows), tmp_path / "store", "base-stock", problem=shop.problem)
    assert [each.name for each in Store.at(tmp_path / "store").versions()] == ["00001", "00002"]
    assert len(rows.asked) == 2


def test_an_interrupted_fit_asks_no_second_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shop, columns = shop_columns(4)
    rows = Rows(columns)
    with monkeypatch.context() as patch:
        patch.setattr("lostsales.apps.fleet.fit.fit_shard", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            fit_fleet(QuerySource(rows), tmp_path / "store", "base-stock", problem=shop.problem)
    fit_fleet(QuerySource(rows), tmp_path / "store", "base-stock", problem=shop.problem)
    assert len(rows.asked) == 1


def test_a_query_without_rows_is_one_error(tmp_path: Path) -> None:
    shop, columns = shop_columns(4)
    nothing = {name: values[:0] for name, values in columns.items()}
    with pytest.raises(LostSalesError, match="the query has none"):
        fit_fleet(QuerySource(Rows(nothing)), tmp_path / "store", "base-stock", problem=shop.problem)
