"""Writing: what is written is read again as it was, and a failure leaves nothing behind."""

from pathlib import Path

import duckdb
import numpy as np
import pytest

from lostsales.data.feature import Feature
from lostsales.data.log import SalesLog
from lostsales.data.output_files import replacing
from lostsales.data.problem import Columns, Costs, Problem
from lostsales.data.reading.gate import read_log
from lostsales.data.writing import write_log, write_table
from lostsales.errors import LostSalesError
from tests.tables import assert_equal_logs, log_of


def everything() -> SalesLog:
    """A log that uses every column there is."""
    problem = Problem(
        arrival="before",
        capacity=40,
        prices=(2, 4),
        orders=(0, 1, 4),
        costs=Costs(lost=2, order="buying", fixed_order=1),
        columns=Columns(series=("shop", "series"), sales="sold"),
        features=(
            Feature(name="promotion", kind="categorical", levels=(True, False)),
            Feature(name="color", kind="categorical"),
            Feature(name="warmth"),
        ),
        attributes=("size",),
    )
    return log_of(
        problem,
        sales=None,
        sold=[1.0, 2.0, 2.0, 3.0, 1.0],
        shop=["x", "x", "x", "007", "007"],
        period=["2026-03-01", "2026-03-02", "2026-03-05", "2026-03-01", "2026-03-02"],
        promotion=[True, False, True, True, False],
        color=["red", "blue", "red", "red", "blue"],
        warmth=[1 / 3, -1e-9, 3.0, 4.0, 5.0],
        size=[1.5, 1.5, 1.5, 2.0, 2.0],
        buying=[3.0, 3.5, 3.0, 3.0, 3.0],
        holding_cost=[1.0, 1.0, 1.0, 1.0, 0.5],
        received=[0.0, 0.0, 1.0, 3.0, 0.0],
        adjustment=[0.0, 0.0, -1.0, 0.0, 0.0],
        stockout=[False] * 5,
        last_sales=[7.0, None, None, None, None],
        last_stockout=[True, None, None, None, None],
    )


@pytest.mark.parametrize("name", ["log.parquet", "log.csv"])
def test_a_written_log_is_read_again_as_it_was(tmp_path: Path, name: str) -> None:
    log = everything()
    write_log(log, tmp_path / name)
    assert_equal_logs(read_log(tmp_path / name), log)


@pytest.mark.parametrize("name", ["log.parquet", "log.csv"])
@pytest.mark.parametrize("series", [["7", "7", "7", "10", "10"], ["07", "07", "07", "1", "1"], list("aaabb")])
def test_series_keep_their_names(tmp_path: Path, name: str, series: list[str]) -> None:
    log = log_of(series=series)
    write_log(log, str(tmp_path / name))
    assert_equal_logs(read_log(tmp_path / name), log)


def test_a_demand_only_log_is_read_again_as_it_was(tmp_path: Path) -> None:
    log = log_of(stock=None, order=None, stockout=[False, False, True, True, False])
    write_log(log, tmp_path / "log.parquet")
    assert_equal_logs(read_log(tmp_path / "log.parquet"), log)


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    def write_half(temporary: Path) -> None:
        temporary.write_text("half")
        raise RuntimeError

    path = tmp_path / "table.csv"
    path.write_text("old")
    with pytest.raises(RuntimeError), replacing(path) as temporary:
        write_half(temporary)
    assert [file.name for file in tmp_path.iterdir()] == ["table.csv"]
    assert path.read_text() == "old"


def test_a_table_that_cannot_be_written_leaves_no_problem_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class FullDisk:
        def __enter__(self) -> "FullDisk":
            return self

        def __exit__(self, *_: object) -> None: ...

        def register(self, *_: object) -> None: ...

        def execute(self, sql: str) -> None:
            Path(sql.split("'")[1]).write_text("half")
            raise duckdb.IOException("IO Error: disk full\nand more")

    monkeypatch.setattr("lostsales.data.reading.cells.connect", FullDisk)
    with pytest.raises(LostSalesError, match=r"log\.parquet cannot be written: IO Error: disk full$"):
        write_log(log_of(), tmp_path / "log.parquet")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("table.ods", "must end in .parquet, .csv or .xlsx"),
        ("nowhere/table.csv", "there is no folder"),
        ("folder.csv", "is a folder, and an output replaces regular files only"),
    ],
)
def test_targets_that_are_none(tmp_path: Path, name: str, expected: str) -> None:
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(LostSalesError, match=expected):
        write_table({"a": np.zeros(1)}, tmp_path / name)


def test_a_path_with_quotes_is_written(tmp_path: Path) -> None:
    path = tmp_path / "it's a log.csv"
    write_table({"a": np.array([1, 2])}, path)
    assert path.read_text() == "a\n1\n2\n"


@pytest.mark.parametrize("name", ["log.csv", "log.parquet"])
def test_columns_that_differ_only_in_case_are_refused_and_nothing_is_written(name: str, tmp_path: Path) -> None:
    with pytest.raises(LostSalesError, match="columns 'Size' and 'size' differ only in upper and lower case; rename"):
        write_table({"Size": np.zeros(2), "price": np.ones(2), "size": np.ones(2)}, tmp_path / name)
    assert list(tmp_path.iterdir()) == []
