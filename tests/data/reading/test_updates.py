"""Later rows and corrections of a table: the newest counts, whatever kind of table each of them is."""

from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from lostsales.data.problem import Problem
from lostsales.data.reading.gate import read_table
from lostsales.data.reading.table import Table, open_table
from lostsales.data.reading.updates import TableUpdate, with_updates
from lostsales.errors import LogError
from tests.tables import assert_equal_logs, columns

PROBLEM = Problem(arrival="after")
BASE = columns(
    series=["a", "a", "b", "b"],
    period=[date(2026, 3, 1), date(2026, 3, 2), date(2026, 3, 1), date(2026, 3, 2)],
    stock=[5.0, 4.0, 9.0, 8.0],
    price=[2.0, 2.0, 3.0, 3.0],
    order=[0.0, 3.0, 0.0, 0.0],
    sales=[1.0, 2.0, 1.0, 2.0],
)
NEW = columns(
    series=["a", "b", "c"],
    period=[date(2026, 3, 3), date(2026, 3, 2), date(2026, 3, 3)],
    stock=[5.0, 8.0, 7.0],
    price=[2.0, 3.0, 1.0],
    order=[1.0, 4.0, 0.0],
    sales=[1.0, 2.0, 3.0],
)
MERGED = {
    "series": ["a", "a", "a", "b", "b", "c"],
    "period": [date(2026, 3, day) for day in (1, 2, 3, 1, 2, 3)],
    "stock": [5.0, 4.0, 5.0, 9.0, 8.0, 7.0],
    "price": [2.0, 2.0, 2.0, 3.0, 3.0, 1.0],
    "order": [0.0, 3.0, 1.0, 0.0, 4.0, 0.0],
    "sales": [1.0, 2.0, 1.0, 1.0, 2.0, 3.0],
}


def table_of(values: dict[str, Any], kind: str, folder: Path) -> Table:
    if kind in ("csv", "parquet"):
        path = folder / f"{len(list(folder.iterdir()))}.{kind}"
        table = pd.DataFrame(values)
        table.to_csv(path, index=False) if kind == "csv" else table.to_parquet(path)
        return open_table(path)
    return open_table({"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}[kind](values))


@pytest.mark.parametrize("first", ["csv", "parquet", "pandas", "polars", "arrow"])
@pytest.mark.parametrize("second", ["csv", "parquet", "arrow"])
def test_rows_replace_those_of_their_series_and_period_whatever_the_kind(
    tmp_path: Path, first: str, second: str
) -> None:
    updates = [TableUpdate(table_of(BASE, first, tmp_path)), TableUpdate(table_of(NEW, second, tmp_path))]
    found = read_table(with_updates(updates, list(BASE), PROBLEM), PROBLEM)
    whole = read_table(table_of(MERGED, "arrow", tmp_path), PROBLEM)
    assert_equal_logs(found, whole, ("source_row", "notes"))


def counts(period: int, **stock: float) -> TableUpdate:
    rows = {"series": list(stock), "period": [date(2026, 3, period)] * len(stock), "stock": list(stock.values())}
    return TableUpdate(open_table(pd.DataFrame(rows)), ("stock",))


def stocks(updates: list[TableUpdate]) -> list[float]:
    table = with_updates(updates, list(BASE), PROBLEM)
    found: list[float] = np.asarray(table.cells("stock").numbers).tolist()
    return found


def test_a_correction_changes_older_rows_and_the_newest_one_counts() -> None:
    base, new = TableUpdate(open_table(pd.DataFrame(BASE))), TableUpdate(open_table(pd.DataFrame(NEW)))
    assert stocks([base, counts(2, a=40, b=80, nobody=1)]) == [5, 40, 9, 80]
    assert stocks([base, counts(2, a=40), counts(2, a=41)]) == [5, 41, 9, 8]
    assert stocks([base, counts(2, b=80), new]) == [5, 4, 9, 5, 8, 7]  # the row of b in `new` is later


def test_a_correction_fills_what_a_later_row_lacks(tmp_path: Path) -> None:
    lacking = {name: values for name, values in NEW.items() if name != "stock"}
    late = TableUpdate(table_of(lacking, "csv", tmp_path))
    found = stocks([TableUpdate(table_of(BASE, "csv", tmp_path)), counts(3, a=6), late])
    np.testing.assert_equal(found, [np.nan, np.nan, np.nan, 6, np.nan, np.nan])  # the others are text of the files
    with pytest.raises(LogError) as error:
        read_table(with_updates([late, counts(3, a=6)], list(BASE), PROBLEM), PROBLEM)
    assert "row 1 (series=b, period=2026-03-02) has none; row 2 (series=c" in error.value.findings[0]
    assert "series=a" not in error.value.findings[0]


def test_rows_without_a_readable_period_replace_nothing_and_are_found(tmp_path: Path) -> None:
    bad = TableUpdate(table_of(NEW | {"period": ["2026-03-03", "someday", "2026-03-03"]}, "csv", tmp_path))
    with pytest.raises(LogError) as error:
        read_table(with_updates([TableUpdate(open_table(pd.DataFrame(BASE))), bad], list(BASE), PROBLEM), PROBLEM)
    assert "row 1 of" in error.value.findings[0]
    assert "'someday'" in error.value.findings[0]
