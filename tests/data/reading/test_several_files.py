"""Logs in several files, and lazy tables."""

from pathlib import Path

import polars as pl
import pytest

from lostsales.data.problem import Problem
from lostsales.data.reading.gate import read_log
from lostsales.errors import LostSalesError
from tests.tables import assert_equal_logs, columns, findings, frame, log_of


def parts(folder: Path, ending: str = "csv") -> list[Path]:
    """The rows of `frame` in two files, whose columns stand in another order."""
    whole = frame()
    paths = [folder / f"sales-{part}.{ending}" for part in ("a", "b")]
    for path, part in zip(paths, (whole.iloc[:2], whole.iloc[2:][whole.columns[::-1]]), strict=True):
        if ending == "csv":
            part.to_csv(path, index=False, sep=";" if path is paths[1] else ",")
        else:
            part.to_parquet(path)
    return paths


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_list_a_pattern_and_a_folder_are_one_log(tmp_path: Path, ending: str) -> None:
    paths = parts(tmp_path, ending)
    for source in (paths, [str(path) for path in paths], tuple(paths), tmp_path / f"sales-*.{ending}", tmp_path):
        assert_equal_logs(read_log(source), log_of())


def test_errors_name_file_and_row(tmp_path: Path) -> None:
    paths = parts(tmp_path)
    bad = frame(sales=[1, 2, "x", 3, 1]).iloc[2:]
    bad.to_csv(paths[1], index=False)
    (found,) = findings(paths)
    assert found == "sales must be a number, but row 0 of sales-b.csv (series=a, period=3) has 'x'"
    frame().iloc[1:].to_csv(paths[1], index=False)
    (found,) = findings(tmp_path)
    assert found.endswith("but row 0 of sales-b.csv (series=a, period=2) repeats row 1 of sales-a.csv")
    log = read_log(tmp_path, drop_bad_rows=True)
    assert log.notes.dropped_file == str(tmp_path.parent / f"{tmp_path.name}.dropped.csv")
    Path(log.notes.dropped_file).unlink()
    assert_equal_logs(log_of(), read_log([paths[0], paths[1]], drop_bad_rows=tmp_path / "bad.csv"), but=("notes",))


def test_dropped_rows_do_not_become_part_of_a_folder_or_pattern(tmp_path: Path) -> None:
    parts(tmp_path)
    (tmp_path / "sales-a.dropped.csv").write_text("dropped_row,reason\n")
    (tmp_path / "README.txt").write_text("notes")
    (tmp_path / ".hidden.csv").write_text("x\n")
    assert len(read_log(tmp_path)) == len(read_log(tmp_path / "*.csv")) == 5


def test_the_problem_of_a_folder_lies_in_it_or_beside_it(tmp_path: Path) -> None:
    folder = tmp_path / "sales"
    folder.mkdir()
    parts(folder)
    (folder / "shop.toml").write_text('balance = "netted"\n')
    assert read_log(folder).problem == Problem(balance="netted")
    (tmp_path / "sales.toml").write_text('arrival = "before"\n')
    assert read_log(folder).problem == Problem(arrival="before")


def test_files_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    first, second = parts(tmp_path)
    frame(note=list("vwxyz"), stock=None).to_csv(second, index=False)
    with pytest.raises(LostSalesError, match=r"sales-b.csv lacks 'stock', also has 'note', unlike .*sales-a.csv"):
        read_log([first, second])
    frame().to_parquet(tmp_path / "sales-c.parquet")
    with pytest.raises(LostSalesError, match="must be all CSV or all Parquet"):
        read_log(tmp_path)
    with pytest.raises(LostSalesError, match="a file must come once"):
        read_log([first, first])
    with pytest.raises(LostSalesError, match="there is no file"):
        read_log([first, tmp_path / "none.csv"])
    with pytest.raises(LostSalesError, match=r"there is no file .*none-\*.csv"):
        read_log(tmp_path / "none-*.csv")


def test_types_of_parquet_files_may_differ(tmp_path: Path) -> None:
    first, second = tmp_path / "1.parquet", tmp_path / "2.parquet"
    frame().iloc[:3].astype({"stock": "int64", "period": "int32"}).to_parquet(first)
    frame().iloc[3:].to_parquet(second)
    assert_equal_logs(read_log([first, second]), log_of())


def test_a_lazy_table_is_read_as_the_table_is(tmp_path: Path) -> None:
    lazy = pl.DataFrame(columns(note=list("vwxyz"))).lazy()
    assert_equal_logs(read_log(lazy), log_of(note=list("vwxyz")))
    frame().to_parquet(tmp_path / "log.parquet")
    assert_equal_logs(read_log(pl.scan_parquet(tmp_path / "log.parquet")), log_of())
    assert read_log(lazy.with_columns(sales=-1.0).head(5).with_columns(sales=pl.Series([-1, 2, 2, 3, 1])), None,
                    drop_bad_rows=True).notes.rows_dropped == 1  # fmt: skip


def test_of_a_lazy_table_only_what_is_needed_is_computed() -> None:
    def fail(_: pl.Series) -> pl.Series:
        raise AssertionError("not needed")

    lazy = pl.DataFrame(columns()).lazy().with_columns(dear=pl.col("price").map_batches(fail, return_dtype=pl.Float64))
    assert read_log(lazy).notes.unused_columns == ("dear",)


def test_a_lazy_table_without_an_order_keeps_its_rows_together() -> None:
    """Grouping gives rows in another order each time: all columns come of one computation."""
    rows = [(name, period) for name in range(200) for period in range(5)]
    table = pl.DataFrame({"series": [name for name, _ in rows], "period": [period for _, period in rows]})
    table = table.with_columns(price=pl.col("series") * 1.0, stock=10.0 + pl.col("series"), order=0.0, units=1.0)
    lazy = table.lazy().group_by("series", "period", "price", "stock", "order").agg(sales=pl.col("units").sum())
    log = read_log(lazy)
    assert (log.price == log.names[log.series].astype(float)).all()


def test_a_lazy_table_that_fails_is_named(tmp_path: Path) -> None:
    with pytest.raises(LostSalesError, match="the lazy table cannot be computed"):
        read_log(pl.scan_parquet(tmp_path / "none.parquet"))
    with pytest.raises(LostSalesError, match="the lazy table cannot be computed"):
        read_log(pl.DataFrame(columns()).lazy().with_columns(pl.col("nothing")))


def test_a_log_prints_as_one_line() -> None:
    assert repr(log_of(stockout=[False, False, True, True, False])) == (
        "SalesLog: 5 rows, 2 series, periods 1 to 3, 40% stock-outs, prices 2 to 4 (2 values), orders 0 to 4 (3 values)"
    )
