"""Which products learn together, and that the rows of a source reach their shards whole."""

from pathlib import Path

import duckdb
import numpy as np
import pytest

from lostsales.apps.fleet.sharding import LEAST_PRODUCTS, assign, partition
from lostsales.apps.fleet.source import FileSource
from lostsales.data.problem import Problem
from lostsales.data.writing import write_table
from lostsales.errors import LostSalesError, SettingError
from tests.apps.fleet.shops import shop_columns, taken, write_source


def names(count: int) -> np.ndarray:
    return np.array([f"product {each}" for each in range(count)], dtype=object)


def test_a_group_is_split_evenly_whatever_the_order_of_its_products() -> None:
    shard = assign([], names(1_000), np.full(1_000, 104), size=300)
    assert np.bincount(shard).tolist() == [250, 250, 250, 250]
    again = assign([], names(1_000)[::-1], np.full(1_000, 104), size=300)
    np.testing.assert_array_equal(again[::-1], shard)


def test_shards_do_not_mix_groups_that_are_large_enough() -> None:
    group = np.array(["a", "b"] * 50, dtype=object)
    shard = assign([group], names(100), np.full(100, 104), size=30)
    assert all(len(set(group[shard == each])) == 1 for each in range(shard.max() + 1))


def test_small_groups_join_those_that_share_the_coarser_attributes() -> None:
    store = np.array(["x"] * 12 + ["y"] * 60, dtype=object)
    category = np.array(["milk"] * 6 + ["bread"] * 6 + ["milk"] * 50 + ["bread"] * 10, dtype=object)
    shard = assign([store, category], names(72), np.full(72, 104), size=100)
    together = {
        tuple(sorted({*zip(store[shard == each], category[shard == each], strict=True)})) for each in set(shard)
    }
    assert LEAST_PRODUCTS > 12
    # x is small as a whole; y has a group of its own for milk, and its bread joins the rest.
    assert together == {(("y", "milk"),), (("x", "bread"), ("x", "milk"), ("y", "bread"))}


def test_products_with_many_rows_get_smaller_shards() -> None:
    assert assign([], names(4), np.full(4, 200_000), size=500).max() + 1 == 3


def test_every_row_reaches_one_shard_in_order(tmp_path: Path) -> None:
    shop, columns = shop_columns(30, periods=9)
    source = write_source(tmp_path / "source", columns, shop)
    files = FileSource(source).parquet_files(tmp_path)
    sharding, checksums = partition(files, shop.problem, ("department",), 10, tmp_path / "rows", "source")
    written = f"'{tmp_path}/rows/*.parquet'"
    assert len(checksums) == sharding.shards == len(list((tmp_path / "rows").iterdir()))
    both = duckdb.connect().execute(f"SELECT series, period, sales FROM {written}").fetchall()
    given = zip(*(columns[name].tolist() for name in ("series", "period", "sales")), strict=True)
    assert sorted(both) == sorted(given)
    shard_of = dict(zip(sharding.names, sharding.shard.tolist(), strict=True))
    for shard in range(sharding.shards):
        rows = duckdb.connect().execute(f"SELECT series, period FROM '{tmp_path}/rows/{shard:05}.parquet'").fetchall()
        assert rows == sorted(rows)
        assert {shard_of[series] for series, _ in rows} == {shard}
    assert not (tmp_path / "sorting").exists()


def test_series_of_several_columns_and_numbers_are_named_as_a_log_names_them(tmp_path: Path) -> None:
    table = {
        "store": np.array([1.0, 1.0, 2.0]),
        "item": np.array(["a", "a", "b"], dtype=object),
        "period": np.arange(3),
    }
    write_table(table, tmp_path / "t.parquet")
    problem = Problem.model_validate({"columns": {"series": ["store", "item"]}})
    sharding, _ = partition((tmp_path / "t.parquet",), problem, (), 10, tmp_path / "rows", "t")
    assert sharding.names.tolist() == ["1 / a", "2 / b"]
    assert sharding.rows.tolist() == [2, 1]


def test_rows_without_a_product_are_counted(tmp_path: Path) -> None:
    series = np.ma.masked_array(np.arange(4), [False, True, False, False])
    write_table({"series": series, "period": np.arange(4)}, tmp_path / "t.parquet")
    sharding, _ = partition((tmp_path / "t.parquet",), Problem(), (), 10, tmp_path / "rows", "t")
    assert (sharding.nameless, sharding.rows.tolist()) == (1, [1, 1, 1])


def test_a_row_in_two_files_is_named_with_both(tmp_path: Path) -> None:
    shop, columns = shop_columns(5, periods=9)
    source = write_source(tmp_path / "source", columns, shop)
    write_table(
        taken(columns, (columns["series"] == "product 3") & (columns["period"] == 4)), source / "part-9.parquet"
    )
    with pytest.raises(LostSalesError, match=r"series=product 3, period=4 is in part-1.parquet and again in part-9"):
        partition(FileSource(source).parquet_files(tmp_path), shop.problem, (), 10, tmp_path / "rows", "source")


def test_a_column_that_changes_its_type_is_named_with_both_files(tmp_path: Path) -> None:
    shop, columns = shop_columns(5, periods=9)
    source = write_source(tmp_path / "source", columns, shop)
    rows = taken(columns, columns["period"] == 8)
    write_table(rows | {"price": rows["price"].astype(str).astype(object)}, source / "part-9.parquet")
    with pytest.raises(LostSalesError, match=r"'price' is DOUBLE in .*part-0.parquet and VARCHAR in .*part-9.parquet"):
        FileSource(source).parquet_files(tmp_path)


def test_a_truncated_file_is_named(tmp_path: Path) -> None:
    shop, columns = shop_columns(5, periods=9)
    source = write_source(tmp_path / "source", columns, shop)
    whole = (source / "part-1.parquet").read_bytes()
    (source / "part-1.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(LostSalesError, match=r"part-1.parquet cannot be read"):
        FileSource(source).parquet_files(tmp_path)


def test_attributes_to_group_by_must_be_columns(tmp_path: Path) -> None:
    shop, columns = shop_columns(5, periods=9)
    files = FileSource(write_source(tmp_path / "source", columns, shop)).parquet_files(tmp_path)
    with pytest.raises(SettingError, match="'shop' is none"):
        partition(files, shop.problem, ("shop",), 10, tmp_path / "rows", "source")


def test_csv_is_written_as_parquet_first(tmp_path: Path) -> None:
    _, columns = shop_columns(3, periods=5)
    (tmp_path / "source").mkdir()
    write_table(columns, tmp_path / "source" / "log.csv")
    (path,) = FileSource(tmp_path / "source").parquet_files(tmp_path)
    assert duckdb.connect().execute(f"SELECT count(*), count(DISTINCT series) FROM '{path}'").fetchall() == [(15, 3)]
