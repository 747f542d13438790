"""CSV and Parquet files: what is read, and what is refused in one message."""

from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

from lostsales.data.reading.gate import read_log
from lostsales.data.reading.table import open_table
from tests.tables import assert_equal_logs, columns, findings, frame, log_of, refusal, write_csv

HEADER = "series,period,stock,price,order,sales\n"
ROWS = HEADER + "a,1,5,2,0,1\na,2,4,2,0,1\n"


def csv(folder: Path, text: str, name: str = "log.csv", encoding: str = "utf-8") -> Path:
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_other_delimiters(tmp_path: Path, delimiter: str) -> None:
    plain = read_log(csv(tmp_path, ROWS))
    assert_equal_logs(read_log(csv(tmp_path, ROWS.replace(",", delimiter), "other.csv")), plain)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-8"])
def test_quotes_commas_and_a_byte_order_mark(tmp_path: Path, encoding: str) -> None:
    log = read_log(csv(tmp_path, HEADER + '"milk, 1 l",1,5,2,0,1\n"say ""cheese""",1,4,2,0,1\n', encoding=encoding))
    assert log.names.tolist() == ["milk, 1 l", 'say "cheese"']


def test_blank_lines_are_no_rows_and_quoted_paths_are_paths(tmp_path: Path) -> None:
    path = csv(tmp_path, ROWS.replace("\n", "\n\n", 1), "shop's log[1]*.csv")
    assert len(read_log(path)) == 2


def test_the_index_that_pandas_writes_is_an_unused_column(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    frame().to_csv(path)
    assert read_log(path).notes.unused_columns == ("column0",)


def test_compressed_csv(tmp_path: Path) -> None:
    path = tmp_path / "log.csv.gz"
    frame().to_csv(path, index=False)
    assert_equal_logs(read_log(path), log_of())


def test_a_broken_number_in_the_middle_is_named(tmp_path: Path) -> None:
    text = HEADER + "".join(f"a,{t},5,2,{'1O' if t == 70_000 else 0},0\n" for t in range(100_000))
    assert findings(csv(tmp_path, text)) == ("order must be a number, but row 70000 (series=a, period=70000) has '1O'",)


def test_a_gap_in_a_csv_is_a_missing_value(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "log.csv", columns(stock=[5.0, None, 2.0, 3.0, 4.0]))
    assert findings(path) == ("stock must be present, but row 1 (series=a, period=2) has none",)


@pytest.mark.parametrize(
    ("moments", "expected"),
    [
        (("2026-03-01", "2026-03-02"), "2026-03-01"),
        (("2026-03-01 12:30:00", "2026-03-02 12:30:00"), "2026-03-01T12:30"),
        (("2026-03-01T00:00:00+01:00", "2026-03-02T00:00:00+01:00"), "2026-02-28T23:00"),
        (("2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z"), "2026-03-01"),
        (("2026-03", "2026-04"), "2026-03-01"),
    ],
)
def test_iso_dates_in_a_csv_and_offsets_as_utc(tmp_path: Path, moments: tuple[str, str], expected: str) -> None:
    log = read_log(csv(tmp_path, HEADER + "".join(f"a,{moment},5,2,5,5\n" for moment in moments)))
    assert log.period[0] == pd.Timestamp(expected).to_datetime64()
    assert log.notes.holes == 0


def test_a_date_that_could_be_read_in_two_ways_is_refused(tmp_path: Path) -> None:
    (found,) = findings(csv(tmp_path, HEADER + "a,01/03/2026,5,2,0,1\n"))
    assert found.startswith(
        "period must be a whole number or a date such as 2026-03-01, but row 0 (series=a) has '01/03"
    )
    assert found.endswith('dates = "%d/%m/%Y", or [format] dates = "%m/%d/%Y": it can be read both ways')


def test_an_empty_path_is_refused() -> None:
    assert "the path is empty" in refusal(read_log, "")


@pytest.mark.parametrize("damage", ["cut", "zeros", "empty", "text"])
def test_damaged_parquet(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "log.parquet"
    frame().to_parquet(path)
    good = path.read_bytes()
    cut, pages = good[: len(good) // 2], good[:4] + bytes(200) + good[204:]
    path.write_bytes({"cut": cut, "zeros": pages, "empty": b"", "text": ROWS.encode()}[damage])
    assert refusal(read_log, path).startswith(f"{path} cannot be read: ")


def test_every_type_of_duckdb_has_a_reading(tmp_path: Path) -> None:
    """Numbers of any width, moments with and without zone, and text of whatever else there is."""
    day = pd.Timestamp("2026-03-01").to_datetime64()
    expected: dict[str, tuple[str, object]] = {
        "1::UTINYINT": ("numbers", 1.0),
        "1::HUGEINT": ("numbers", 1.0),
        "1.5::DECIMAL(9, 2)": ("numbers", 1.5),
        "1.5::FLOAT": ("numbers", 1.5),
        "true": ("truths", 1.0),
        "DATE '2026-03-01'": ("moments", day),
        "TIMESTAMPTZ '2026-03-01 00:00:00+01:00'": ("moments", pd.Timestamp("2026-02-28T23:00").to_datetime64()),
        "TIMESTAMP_NS '2026-03-01'": ("moments", day),
        "TIMESTAMP 'infinity'": ("others", True),
        "[1, 2]": ("texts", "[1, 2]"),
        "TIME '12:00:00'": ("texts", "12:00:00"),
        "'x'::ENUM('x')": ("texts", "x"),
        "'550e8400-e29b-41d4-a716-446655440000'::UUID": ("texts", "550e8400-e29b-41d4-a716-446655440000"),
        "NULL::INTEGER": ("missing", True),
    }
    path = tmp_path / "types.parquet"
    parts = ", ".join(f"{value} AS c{index}" for index, value in enumerate(expected))
    duckdb.sql(f"COPY (SELECT {parts}) TO '{path}'")
    table = open_table(path)
    for index, (kind, value) in enumerate(expected.values()):
        cells = table.cells(f"c{index}")
        found: Any = cells.missing() if kind == "missing" else getattr(cells, kind)
        found = found.fetch(found.expression) if kind == "texts" else found
        assert found.tolist() == [value] or found[0] == value, f"c{index}"


@pytest.mark.parametrize("kind", ["BIGINT", "DOUBLE", "VARCHAR", "DECIMAL(9, 0)", "UBIGINT"])
def test_labels_of_any_type_and_missing_ones(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "labels.parquet"
    duckdb.sql(f"COPY (SELECT unnest([7, 7, 3, NULL, 7])::{kind} AS c) TO '{path}'")
    codes, texts = open_table(path).labels("c")
    assert codes.tolist() == [0, 0, 1, -1, 0]
    assert texts.tolist() == ["7", "3"]
