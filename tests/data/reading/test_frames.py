"""Tables in memory, lazy tables, and logs in several files."""

import decimal
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lostsales.data.describe import describe
from lostsales.data.feature import Feature
from lostsales.data.problem import Columns, Costs, Problem
from lostsales.data.proposal.propose import propose
from lostsales.data.reading.gate import read_log
from lostsales.errors import LostSalesError
from tests.tables import assert_equal_logs, columns, findings, frame, log_of, write_csv

RICH = columns(
    series=["007", "007", "007", "8", "8"],
    period=[date(2026, 3, 1), date(2026, 3, 2), date(2026, 3, 4), date(2026, 3, 1), date(2026, 3, 2)],
    stockout=[False, False, True, True, False],
    last_sales=[4.0, None, None, 2.5, None],
    last_stockout=[True, None, None, False, None],
    promotion=[True, False, True, True, False],
    color=["red", "blue", "red", "red", "blue"],
    weekday=[0, 1, 3, 0, 1],
    temperature=[1.5, -2.25, 1e-7, 1 / 3, 0.0],
    holding_cost=[0.5, 0.5, 0.25, 1.0, 1.0],
    store=["north", "north", "north", "süd", "süd"],
)
PROBLEM = Problem(
    features=(
        Feature(name="promotion", kind="categorical", levels=(True, False)),
        Feature(name="color", kind="categorical"),
        Feature(name="weekday", kind="categorical", levels=tuple(range(7))),
        Feature(name="temperature"),
    ),
    attributes=("store",),
    costs=Costs(lost=2, order=3),
)


def _parquet(folder: Path) -> Path:
    pq.write_table(pa.table(RICH), folder / "log.parquet")
    return folder / "log.parquet"


SOURCES: dict[str, Callable[[Path], Any]] = {
    "pandas": lambda _: pd.DataFrame(RICH),
    "pandas nullable": lambda _: pd.DataFrame(RICH).convert_dtypes(),
    "pandas arrow": lambda _: pd.DataFrame(RICH).convert_dtypes(dtype_backend="pyarrow"),
    "pandas category": lambda _: pd.DataFrame(RICH).astype({"series": "category", "color": "category"}),
    "pandas object": lambda _: pd.DataFrame(RICH).astype(object),
    "polars": lambda _: pl.DataFrame(RICH),
    "polars categorical": lambda _: pl.DataFrame(RICH).with_columns(
        pl.col("series").cast(pl.Categorical), pl.col("color").cast(pl.Enum(["blue", "red"]))
    ),
    "polars narrow": lambda _: pl.DataFrame(RICH).with_columns(
        pl.col("stock").cast(pl.Int8), pl.col("sales").cast(pl.Decimal(9, 2)), pl.col("weekday").cast(pl.Float32)
    ),
    "arrow": lambda _: pa.table(RICH),
    "csv": lambda folder: write_csv(folder / "log.csv", RICH),
    "parquet": _parquet,
}


@pytest.mark.parametrize("source", SOURCES)
def test_every_source_gives_the_same_log(tmp_path: Path, source: str) -> None:
    log = read_log(SOURCES[source](tmp_path), PROBLEM)
    assert_equal_logs(log, read_log(pa.table(RICH), PROBLEM))
    assert log.names.tolist() == ["007", "007", "8"]
    assert log.period[0] == np.datetime64("2026-03-01")
    assert log.period.dtype == np.dtype("datetime64[us]")
    assert log.features.tolist() == [[0, 1, 0, 1.5], [1, 0, 1, -2.25], [0, 1, 3, 1e-7], [0, 1, 0, 1 / 3], [1, 0, 1, 0]]
    np.testing.assert_array_equal(log.last_sales, [4, np.nan, 2.5])
    assert log.last_stockout.tolist() == [True, False, False]
    assert log.attributes["store"].tolist() == ["north", "north", "süd"]
    assert log.notes.holes == 1


@pytest.mark.parametrize("source", SOURCES)
def test_a_truth_value_may_be_a_numeric_feature(tmp_path: Path, source: str) -> None:
    log = read_log(SOURCES[source](tmp_path), Problem(features=("promotion",)))
    assert log.features[:, 0].tolist() == [1, 0, 1, 1, 0]


@pytest.mark.parametrize("flags", [["yes", "no", "YES", "y", "n"], ["t", "f", "T", "true", "False"], [1, 0, 1, 1, 0]])
def test_flags_in_other_words(tmp_path: Path, flags: list[Any]) -> None:
    table = columns(stock=None, order=None, stockout=flags)
    for source in (pd.DataFrame(table), pa.table(table), write_csv(tmp_path / "log.csv", table)):
        assert read_log(source).censored.tolist() == [True, False, True, True, False]


MISSING: dict[str, Any] = {
    "pandas Int64": pd.array([1, None, 2, 3, 1], dtype="Int64"),
    "pandas Float64": pd.array([1, None, 2, 3, 1], dtype="Float64"),
    "pandas string": pd.array(["1", None, "2", "3", "1"], dtype="string"),
    "pandas object": np.array([1, pd.NA, 2, 3, 1], dtype=object),
    "pandas None": np.array([1, None, 2, 3, 1], dtype=object),
    "pandas category": pd.Categorical([1, None, 2, 3, 1]),
}


@pytest.mark.parametrize("values", MISSING.values(), ids=MISSING.keys())
@pytest.mark.parametrize("column", ["series", "sales"])
def test_missing_values_of_pandas_are_named(column: str, values: Any) -> None:
    source = frame(period=[1, 2, 3, 4, 5], stock=[9, 9, 9, 9, 9], **{column: values})
    who = "" if column == "series" else " (series=a, period=2)"
    assert findings(source) == (f"{column} must be present, but row 1{who} has none",)


@pytest.mark.parametrize(
    "source",
    [
        frame(stockout=pd.array([False, None, True, True, False], dtype="boolean")),
        pl.DataFrame(columns(stockout=[False, None, True, True, False])),
        pa.table(columns(stockout=[False, None, True, True, False])),
    ],
    ids=["pandas", "polars", "arrow"],
)
def test_a_missing_flag_is_named(source: Any) -> None:
    assert findings(source) == ("stockout must be true or false, but row 1 (series=a, period=2) has none",)


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        (pd.to_datetime(["2026-03-01"] * 5), "2026-03-01"),
        (pd.to_timedelta([1] * 5, unit="D"), "1 days 00:00:00"),
        ([[1], [2], [3], [4], [5]], "[1]"),
        ([np.array([1, 2])] * 5, "[1, 2]"),
        ([1j] * 5, "1j"),
        (np.array([10**199] * 5, dtype=object) ** 2, f"1{'0' * 196}..."),
        (["1,5"] * 5, "'1,5'"),
    ],
)
def test_wrong_types_are_named(values: Any, shown: str) -> None:
    (found,) = findings(frame(sales=values))
    assert found.startswith(f"sales must be a number, but row 0 (series=a, period=1) has {shown}; row 1")


DAYS = [datetime(2026, 3, day, tzinfo=UTC) for day in (1, 2, 3, 1, 2)]
MOMENTS: dict[str, Any] = {
    "text": [f"2026-03-0{day}" for day in (1, 2, 3, 1, 2)],
    "text with offset": [f"2026-03-0{day}T01:00:00+01:00" for day in (1, 2, 3, 1, 2)],
    "pandas date objects": [day.date() for day in DAYS],
    "pandas with zone": pd.to_datetime(DAYS).tz_convert("Europe/Berlin"),
    "pandas with a zone in two words": pd.to_datetime(DAYS).tz_localize(None).tz_localize("America/New_York"),
    "pandas without zone": pd.to_datetime(DAYS).tz_localize(None),
    "pandas seconds": pd.to_datetime(DAYS).tz_localize(None).astype("datetime64[s]"),
    "pandas months": pd.PeriodIndex(["2026-03", "2026-04", "2026-05", "2026-03", "2026-04"], freq="M"),
}


@pytest.mark.parametrize("moments", MOMENTS.values(), ids=MOMENTS.keys())
def test_moments_of_any_kind_are_utc(moments: Any) -> None:
    log = log_of(period=moments)
    assert log.period[0] == np.datetime64("2026-03-01")
    assert log.notes.holes == 0


@pytest.mark.parametrize(
    "moments",
    [
        pl.Series(DAYS).dt.date(),
        pl.Series(DAYS).dt.replace_time_zone(None).dt.cast_time_unit("ms"),
        pl.Series(DAYS).dt.convert_time_zone("Europe/Berlin"),
    ],
    ids=["date", "milliseconds", "zone"],
)
def test_moments_of_polars_are_utc(moments: pl.Series) -> None:
    log = read_log(pl.DataFrame(columns()).with_columns(period=moments))
    assert log.period.tolist() == [day.replace(tzinfo=None) for day in DAYS]


def test_one_bad_moment_among_good_ones_is_named_alone() -> None:
    (found,) = findings(frame(period=["2026-03-01", "March", "2026-03-03", "2026-03-01", "2026-03-02"]))
    assert found == "period must be a whole number or a date such as 2026-03-01, but row 1 (series=a) has 'March'"


def test_text_that_is_a_number_is_a_number_not_a_year() -> None:
    assert log_of(period=["1", "2", "3", "1", "2"]).period.tolist() == [1, 2, 3, 1, 2]


@pytest.mark.parametrize("huge", [1e30, -1e30, np.inf])
def test_a_period_too_large_to_count_is_refused(huge: float) -> None:
    (found,) = findings(frame(period=[1.0, huge, 3.0, 1.0, 2.0]))
    assert found.startswith("period must be a whole number or a date such as 2026-03-01, but row 1 (series=a) has")


def test_negative_zero_and_decimals() -> None:
    source = pl.DataFrame(columns(sales=[decimal.Decimal(text) for text in ("1.0", "2.0", "2.0", "3.0", "-0.0")]))
    assert read_log(source).sales.tolist() == [1, 2, 2, 3, 0]
    assert np.unique(np.asarray(log_of(order=[-0.0, 0.0, 1.0, 4.0, 0.0]).order)).tolist() == [0, 1, 4]


@pytest.mark.parametrize("source", [None, 5, {"a": [1]}, [1, 2], pd.Series([1])])
def test_what_is_no_table_is_refused(source: Any) -> None:
    with pytest.raises(LostSalesError, match=f"but a {type(source).__name__} came"):
        read_log(source)


def test_columns_of_the_same_name_are_refused() -> None:
    with pytest.raises(LostSalesError, match="different names"):
        read_log(pd.concat([frame(), frame()], axis=1))


@pytest.mark.parametrize("name", [None, 1, 2.5, ("a", 1), b"x"])
def test_a_column_that_is_not_named_by_text_has_the_name_that_people_see(name: object) -> None:
    table = frame(x=[1, 2, 3, 4, 5])
    table.columns = pd.Index([*list(table.columns)[:-1], name], dtype=object)
    log = read_log(table)
    (unused,) = log.notes.unused_columns
    assert unused == str(name)
    assert unused in dict(describe(log).as_lines())["columns not used"]
    assert propose(table).text
    table.columns = pd.Index([*list(table.columns)[:-1], 3.5], dtype=object)
    with pytest.raises(LostSalesError, match=r"missing column 'price'; the table has .*'3\.5'"):
        read_log(table.drop(columns="price"))


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
    with pytest.raises(LostSalesError, match="must be of one kind"):
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


def test_prices_from_revenue_are_those_of_the_last_sale() -> None:
    problem = Problem(columns=Columns(revenue="takings"))
    taken = {"price": None, "sales": [0, 3, 0, 3, 0], "takings": [0, 4.5, 0, 2.97, 0]}
    found = log_of(problem, **taken)
    assert found.price.tolist() == [1.5, 1.5, 1.5, 0.99, 0.99]
    given = log_of(problem, **taken | {"price": [None, None, 2, None, None]})
    assert given.price.tolist() == [1.5, 1.5, 2, 0.99, 0.99]
    either = log_of(problem, **taken | {"price": [None, None, 2, None, None], "takings": [0, 4.5, None, 2.97, 0]})
    assert either.price.tolist() == given.price.tolist()
    never = findings(frame(**taken | {"sales": [0, 3, 0, 0, 0], "takings": [0, 4.5, 0, 0, 0]}), problem)
    assert never[0].startswith("takings must give a price in some row of each product (a column 'price' would)")


def test_reading_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", logger="lostsales"):
        log_of()
    assert "the table is read: 5 rows of 2 series" in caplog.text
