"""Files as spreadsheets save them: workbooks, old encodings, titles, notes and totals."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lostsales.data.problem import Problem
from lostsales.data.reading.gate import read_log
from lostsales.data.writing import write_table
from lostsales.errors import LostSalesError
from tests.tables import frame

COMMAS = Problem.model_validate({"format": {"decimal": ",", "thousands": "."}})


def saved(path: Path, lines: list[str], encoding: str = "utf-8") -> Path:
    path.write_bytes("\r\n".join(lines).encode(encoding))
    return path


def lines(delimiter: str = ",") -> list[str]:
    return frame().to_csv(index=False, sep=delimiter).splitlines()


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-8-sig"])
def test_a_file_that_windows_wrote_is_read(tmp_path: Path, encoding: str) -> None:
    text = [line.replace("a,", "Käse für 2 €,", 1) if line[:2] == "a," else line for line in lines()]
    log = read_log(saved(tmp_path / "sales.csv", text, encoding))
    assert log.names.tolist() == ["Käse für 2 €", "b"]
    assert not log.notes.outside_table


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_titles_notes_and_totals_are_left_out_and_named(tmp_path: Path, delimiter: str) -> None:
    around = ["Sales of spring, all stores", "", *lines(delimiter), delimiter.join(["Total", "", "", "", "", "9"])]
    log = read_log(saved(tmp_path / "sales.csv", [*around, "", "Source: till"]))
    np.testing.assert_array_equal(log.sales, frame()["sales"])
    assert log.notes.outside_table == ("the line above the column names", "2 lines of totals or notes")


def test_a_total_in_a_plain_file_is_left_out(tmp_path: Path) -> None:
    log = read_log(saved(tmp_path / "sales.csv", [*lines(), "Grand total,,,,,9"]))
    assert len(log) == 5
    assert log.notes.outside_table == ("1 line of totals",)


def test_a_product_called_total_is_no_total(tmp_path: Path) -> None:
    named = [line.replace("a,", "Total,", 1) if line[:2] == "a," else line for line in lines()]
    log = read_log(saved(tmp_path / "sales.csv", named))
    assert log.names.tolist() == ["Total", "b"]


def test_thousands_and_decimal_commas_are_read_as_declared(tmp_path: Path) -> None:
    text = ["series;period;stock;price;order;sales", "a;1;2.500;1,50;0;1.200", "a;2;1.300;1,50;0;10", "Summe;;;;;1.210"]
    log = read_log(saved(tmp_path / "sales.csv", text, "cp1252"), COMMAS)
    assert log.sales.tolist() == [1200, 10]
    assert log.price.tolist() == [1.5, 1.5]


def test_the_largest_sheet_of_a_workbook_is_read(tmp_path: Path) -> None:
    path = tmp_path / "sales.xlsx"
    days = frame(period=pd.to_datetime(["2026-03-01", "2026-03-02", "2026-03-03", "2026-03-01", "2026-03-02"]))
    with pd.ExcelWriter(path, engine="xlsxwriter") as writer:
        pd.DataFrame({"about": ["made in March"]}).to_excel(writer, sheet_name="About", index=False)
        days.to_excel(writer, sheet_name="Sales", index=False)
    log = read_log(path)
    assert log.period[0] == np.datetime64("2026-03-01")
    np.testing.assert_array_equal(log.stock, frame()["stock"])
    assert log.notes.outside_table == ("the sheets 'About'",)


def test_what_is_written_as_a_workbook_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "sales.xlsx"
    days = np.array(["2026-03-01", "2026-03-02", "2026-03-03", "2026-03-01", "2026-03-02"], dtype="datetime64[D]")
    columns = {name: values.to_numpy() for name, values in frame().items()}
    columns["series"] = np.array(["=1+1", "=1+1", "=1+1", "b", "b"], dtype=object)
    write_table(columns | {"period": days}, path)
    log = read_log(path)
    assert log.names.tolist() == ["=1+1", "b"]  # a text, not a formula
    np.testing.assert_array_equal(log.period.astype("datetime64[D]"), days)
    np.testing.assert_array_equal(log.sales, frame()["sales"])


@pytest.mark.parametrize(
    ("content", "reason"), [(b"PK\x03\x04 no workbook", "cannot be read"), (b"", "cannot be read")]
)
def test_a_damaged_workbook_is_refused_in_one_sentence(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "sales.xlsx"
    path.write_bytes(content)
    with pytest.raises(LostSalesError, match=reason):
        read_log(path)
