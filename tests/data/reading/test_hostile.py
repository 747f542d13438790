"""Files that attack: names, headers, sizes and types that are not what they seem."""

import gzip
import os
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lostsales.data.feature import Feature
from lostsales.data.problem import Problem
from lostsales.data.reading.gate import read_log
from tests.tables import assert_equal_logs, columns, findings, frame, log_of, refusal


def test_the_name_of_a_folder_is_no_column(tmp_path: Path) -> None:
    folder = tmp_path / "price=99"
    folder.mkdir()
    frame().to_parquet(folder / "log.parquet")
    assert_equal_logs(read_log(folder / "log.parquet"), log_of())
    frame(price=None).to_parquet(folder / "log.parquet")
    assert "missing column 'price'" in refusal(read_log, folder / "log.parquet")


def test_a_folder_named_as_the_home_is_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "~").mkdir()
    frame().to_csv(tmp_path / "~" / "log.csv", index=False)
    assert_equal_logs(read_log("~/log.csv"), log_of())


def test_nothing_is_downloaded() -> None:
    from lostsales.data.reading.cells import connect

    names = ("autoinstall_known_extensions", "autoload_known_extensions")
    assert [connect().execute(f"SELECT current_setting('{name}')").fetchall() for name in names] == [[(False,)]] * 2


def test_a_missing_series_column_beside_attributes_is_the_only_finding() -> None:
    (found,) = findings(frame(series=None, store=list("xxxyy")), Problem(attributes=("store",)))
    assert found.startswith("missing column 'series'")


def test_an_attribute_may_be_the_text_nan() -> None:
    from lostsales.data.encoding import attribute_columns

    log = log_of(Problem(attributes=("store",)), store=["nan", "nan", "nan", "1_0", "1_0"])
    names, matrix = attribute_columns(log)
    assert names == ("store=1_0", "store=nan")
    assert matrix.tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize("end", ["\r", "\r\n", "\n"])
def test_any_end_of_line(tmp_path: Path, end: str) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes(frame().to_csv(index=False, lineterminator=end).encode())
    assert_equal_logs(read_log(path), log_of())


@pytest.mark.parametrize(("usual", "other"), [("\r\n", "\n"), ("\n", "\r\n"), ("\n", "\r"), ("\r", "\r\n")])
@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_ends_of_line_that_differ_are_named(tmp_path: Path, usual: str, other: str, ending: str) -> None:
    path, name = tmp_path / f"log.{ending}", {"\r\n": "CR LF", "\n": "LF", "\r": "CR"}
    text = frame(note=[f'"a{usual}b"', "c", "d", "e", "f"]).to_csv(index=False, lineterminator=usual)
    lines = text.split(usual)
    assert lines[1].endswith("a")  # a quoted end of a line is no end of a row
    broken = usual.join(lines[:5]) + other + usual.join(lines[5:])
    path.write_bytes(gzip.compress(broken.encode()) if ending == "csv.gz" else broken.encode())
    said = (
        f"{path} cannot be read: its lines end in different ways, line 1 with {name[usual]}, line 5 with {name[other]}"
    )
    assert refusal(read_log, path).startswith(f"{said}; write it with one kind of line end")
    quoted = text.replace(f"a{usual}b", f"a{other}b")
    path.write_bytes(gzip.compress(quoted.encode()) if ending == "csv.gz" else quoted.encode())
    assert len(read_log(path)) == 5


def test_ends_of_line_that_differ_are_found_where_a_chunk_ends_between_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, text = tmp_path / "log.csv", frame().to_csv(index=False, lineterminator="\r\n")
    path.write_bytes(text[:-2].encode() + b"\n")
    monkeypatch.setattr("lostsales.data.reading.files.CHUNK", text.index("\r") + 1)
    assert "line 1 with CR LF, line 6 with LF;" in refusal(read_log, path)


def test_a_header_of_any_usual_length_is_read_and_a_longer_one_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    many = {f"a column that has quite a long name, no. {index}": [0] * 5 for index in range(4_000)}
    pd.DataFrame(columns() | many).to_csv(path, index=False)
    assert len(path.read_text().splitlines()[0]) > 131_072
    assert len(read_log(path).notes.unused_columns) == 4_000
    frame(**{"x" * 140_000: [0] * 5}).to_csv(path, index=False)
    assert read_log(path).notes.unused_columns == ("x" * 140_000,)
    path.write_text("x" * 3_000_000)
    assert "over 2,000,000 bytes" in refusal(read_log, path)


@pytest.mark.parametrize("offset", ["+99:00", "+15:00", "-05:60", "+5"])
def test_an_offset_that_no_zone_has_is_no_moment(offset: str) -> None:
    assert "period must be" in refusal(
        read_log, frame(period=[f"2026-03-0{day}T00:00{offset}" for day in (1, 2, 3, 1, 2)])
    )


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_too_many_columns_are_refused_at_once(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"log.{ending}"
    names = [f"x{index}" for index in range(20_000)]
    if ending == "csv":
        path.write_text(",".join(names) + "\n" + ",".join("1" for _ in names) + "\n")
    else:
        pq.write_table(pa.table({name: [1] for name in names}), path)
    assert refusal(read_log, path) == f"{path} must have at most 10,000 columns, but it has 20,000"


def test_a_column_named_label_with_gaps_is_no_matter(tmp_path: Path) -> None:
    frame(label=[None, "x", None, "y", None]).to_parquet(tmp_path / "log.parquet")
    assert read_log(tmp_path / "log.parquet").names.tolist() == ["a", "b"]


@pytest.mark.parametrize("kind", ["parquet", "arrow", "pandas", "polars"])
def test_nanoseconds_with_a_zone(tmp_path: Path, kind: str) -> None:
    day = 86_400 * 10**9
    moments = pa.array([0, day, 2 * day, 0, day], pa.timestamp("ns", tz="Europe/Berlin"))
    table = pa.table(columns(period=moments))
    pq.write_table(table, tmp_path / "log.parquet")
    source = {
        "parquet": tmp_path / "log.parquet",
        "arrow": table,
        "pandas": table.to_pandas(),
        "polars": pl.from_arrow(table),
    }[kind]
    assert read_log(source).period[:2].tolist() == np.array(["1970-01-01", "1970-01-02"], "datetime64[us]").tolist()


def test_names_of_files_that_no_system_has(tmp_path: Path) -> None:
    assert "cannot be read: File name too long" in refusal(read_log, tmp_path / ("x" * 300 + ".csv"))
    assert "there is no file" in refusal(read_log, "a\0b.csv")
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.csv"))
    frame().to_csv(odd, index=False)
    assert refusal(read_log, odd).endswith("\\udcff.csv is not; rename it")


def test_infinite_moments_in_parquet_are_no_periods(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    rows = "'a' AS series, 5 AS stock, 2 AS price, 0 AS \"order\", 1 AS sales"
    duckdb.sql(f"COPY (SELECT TIMESTAMP 'infinity' AS period, {rows}) TO '{path}'")
    assert "period must be a whole number or a date such as 2026-03-01, but row 0 (series=a) has" in refusal(
        read_log, path
    )


def test_many_levels_of_a_category_are_refused() -> None:
    source = pd.DataFrame({name: np.repeat(values[:1], 3_000) for name, values in columns().items()})
    source = source.assign(period=np.arange(3_000), note=[f"note {row}" for row in range(3_000)])
    found = refusal(read_log, source, Problem(features=(Feature(name="note", kind="categorical"),)))
    assert "note must have at most 200 levels as a category, but it has 3,000" in found


@pytest.fixture
def small_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which 200 MB may be used."""
    monkeypatch.setattr("lostsales.data.reading.gate.memory_limit", lambda: 200_000_000)
    monkeypatch.setattr("lostsales.data.reading.files.memory_limit", lambda: 200_000_000)


@pytest.mark.usefixtures("small_machine")
def test_a_small_file_with_very_many_rows_is_refused_before_it_is_read(tmp_path: Path) -> None:
    row = b"a,1,5,2,0,1\n"
    with gzip.open(tmp_path / "bomb.csv.gz", "wb") as file:
        file.write(b"series,period,stock,price,order,sales\n" + row * 2_000_000)
    assert (tmp_path / "bomb.csv.gz").stat().st_size < 200_000
    found = refusal(read_log, tmp_path / "bomb.csv.gz")
    assert "needs about 0.2 GiB of memory, but the limit is 0.2 GiB: read fewer rows or columns" in found
    path = tmp_path / "bomb.parquet"
    rows = '1 AS series, 1 AS period, 5 AS stock, 2 AS price, 0 AS "order", 1 AS sales'
    duckdb.sql(f"COPY (SELECT {rows} FROM range(20000000)) TO '{path}'")
    found = refusal(read_log, path)
    assert found.startswith(f"{path} with 20,000,000 rows needs about 2.7 GiB of memory")


@pytest.mark.parametrize(
    "content",
    [b"", b"\x1f\x8b nothing", gzip.compress(b"series,period\n" + b"a,1\n" * 9_999)[:-20]],
    ids=["empty", "a header alone", "cut off"],
)
def test_damaged_compressed_files(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "log.csv.gz"
    path.write_bytes(content)
    assert str(path) in refusal(read_log, path)


@pytest.mark.parametrize("end", ["", "\n"])
def test_a_last_line_beyond_the_buffer_of_the_reader_is_not_dropped_in_silence(tmp_path: Path, end: str) -> None:
    path = tmp_path / "log.csv"
    path.write_text("series,period,stock,price,order,sales\nb,1,5,2,0,1\n" + "x" * 40_000_000 + ",1,5,2,0,1" + end)
    assert refusal(read_log, path) == f"{path} cannot be read: it has a line of over 2,097,152 bytes; a row is one line"


def test_long_lines_that_the_reader_takes_are_read(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(
        "series,period,stock,price,order,sales\n" + "".join(f"{'x' * 10**6},{n},5,2,0,1\n" for n in range(6))
    )
    assert len(read_log(path)) == 6


def test_a_compressed_file_that_unpacks_to_far_more_than_a_table_does_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log.csv.gz"
    path.write_bytes(gzip.compress(b"series,period,stock,price,order,sales\n" + b"a,1,5,2,0,1\n" * 400_000))
    monkeypatch.setattr("lostsales.data.reading.files.FREE_TEXT", 10**6)
    assert "it unpacks to more than 200 times its size and 0 GB" in refusal(read_log, path)


def test_members_of_a_compressed_file_are_one_table(tmp_path: Path) -> None:
    text = frame().to_csv(index=False).encode()
    for name in ("log.csv.gz", "LOG.CSV.GZ"):
        (tmp_path / name).write_bytes(gzip.compress(text[:60]) + gzip.compress(text[60:]))
        assert_equal_logs(read_log(tmp_path / name), log_of())


class Raises:
    """An object of a class that somebody else wrote."""

    def _raise(self, *_: object) -> Any:
        raise RuntimeError("no")

    __repr__ = __str__ = __eq__ = __ne__ = __hash__ = __float__ = __bool__ = _raise


@pytest.mark.parametrize("column", ["series", "period", "price", "sales"])
@pytest.mark.parametrize(
    "value", [Raises(), object(), [[]], 10**5_000, pd.Series([1])], ids=lambda each: type(each).__name__
)
def test_an_object_of_any_class_is_named_by_its_type(column: str, value: object) -> None:
    cells = frame()[column].tolist()
    cells[2] = value
    table = frame(**{column: pd.Series(cells, dtype=object)})
    found = refusal(read_log, table)
    assert column in found
    assert "row 2" in found


def test_a_series_may_be_named_by_dates_and_periods() -> None:
    for label in (pd.Period("2026-03"), pd.Interval(0, 1), b"x", 2.5):
        table = frame().astype(object)
        table["series"] = pd.Series([label] * 3 + ["b"] * 2, dtype=object)
        assert len(read_log(table).names) == 2
