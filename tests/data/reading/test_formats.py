"""Numbers and dates as people write them: read when declared, named when not, never guessed."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from lostsales.data.format import Format
from lostsales.data.problem import Problem
from lostsales.data.reading.gate import read_log
from tests.tables import columns, findings, frame, log_of

GERMAN = Format(decimal=",", thousands=".", currency="€", dates="%d.%m.%Y")
DAYS = ["01.02.2026", "02.02.2026", "03.02.2026", "01.02.2026", "02.02.2026"]


def source(kind: str, folder: Path, table: dict[str, Any]) -> Any:
    table = {name: [int(v) if isinstance(v, float) else v for v in values] for name, values in table.items()}
    if kind == "csv":
        pd.DataFrame(table).to_csv(folder / "log.csv", index=False, sep=";")
        return folder / "log.csv"
    return {"pandas": pd.DataFrame, "polars": pl.DataFrame}[kind](table)


@pytest.mark.parametrize("kind", ["csv", "pandas", "polars"])
def test_declared_formats_are_read_from_files_and_frames_alike(tmp_path: Path, kind: str) -> None:
    table = columns(price=["1.234,50 €", "€ 2", "-0,0", "2.000.000,25€", "+3,"], period=DAYS)
    log = read_log(source(kind, tmp_path, dict(table)), Problem(format=GERMAN))
    assert log.price.tolist() == [1234.5, 2, 0, 2000000.25, 3]
    assert log.period[0] == np.datetime64("2026-02-01")
    assert log.notes.holes == 0


@pytest.mark.parametrize(
    ("written", "text", "number"),
    [
        (Format(), "1e3", 1000),
        (Format(), " 7 ", 7),
        (Format(thousands=","), "12,34,567.5", 1234567.5),  # as in India
        (Format(thousands=","), "1234567.5", 1234567.5),
        (Format(thousands="'"), "1\u2019234.5", 1234.5),
        (Format(decimal=",", thousands=" "), "1\u202f234\u00a0567,5", 1234567.5),
        (Format(decimal=",", currency="kr"), "kr 5,5", 5.5),
        (Format(currency="R$"), "R$ 10.25", 10.25),
        (Format(currency="$"), "$5", 5),
        (Format(currency="$"), "+ $5", 5),
        (Format(currency="Fr."), "Fr. 5.50", 5.5),
    ],
)
def test_the_number_that_a_text_is(written: Format, text: str, number: float) -> None:
    assert log_of(Problem(format=written), price=[text] * 5).price.tolist() == [number] * 5


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (Format(), "1,5"),
        (Format(), "1_000"),
        (Format(), "٣"),
        (Format(), "+-7"),
        (Format(), "0x10"),
        (Format(), "yes"),
        (Format(), "true"),
        (Format(), "5 €"),
        (Format(), "1 234"),
        (Format(thousands=","), "1,23"),
        (Format(thousands=","), "12,3456"),
        (Format(thousands=","), ",123"),
        (Format(decimal=",", thousands="."), "12.5"),
        (Format(decimal=",", thousands="."), "1.2.345.678"),
        (Format(currency="€"), "€5€"),
        (Format(currency="€"), "$5"),
        (Format(currency="€"), "€"),
        (Format(currency="€"), "--5 €"),
    ],
)
def test_text_that_is_no_number_is_refused(tmp_path: Path, written: Format, text: str) -> None:
    table = dict(columns(price=[text] * 5))
    for kind in ("csv", "pandas", "polars"):
        (found,) = findings(source(kind, tmp_path, table), Problem(format=written))
        assert found.startswith(f"price must be a number, but row 0 (series=a, period=1) has {text!r}; row 1"), kind


def test_numbers_that_are_not_as_declared_are_told_so() -> None:
    (found,) = findings(frame(price=["1.5"] * 5, period=DAYS), Problem(format=GERMAN))
    assert found.endswith('more rows): it is not as declared, [format] decimal = ",", thousands = ".", currency = "€"')


def test_truth_values_are_no_prices() -> None:
    (found,) = findings(frame(price=[True, False, True, True, True]))
    assert found.startswith("price must be a number, but row 0 (series=a, period=1) has true; row 1")


@pytest.mark.parametrize(
    ("prices", "declaration"),
    [
        (["1.234,50 €", "2,00 €"], '[format] decimal = ",", thousands = ".", currency = "€"'),
        (["1,5", "2,25"], '[format] decimal = ","'),
        (["$1.5", "2.25"], '[format] currency = "$"'),
        (["1,234.5", "2,000.0"], '[format] thousands = ","'),
        (["1'234.50", "2.00"], '[format] thousands = "\'"'),
        (["1 234,50 kr", "2,00 kr"], '[format] decimal = ",", thousands = " ", currency = "kr"'),
        (["1,234", "2,000"], '[format] decimal = ",", or [format] thousands = ",": it can be read both ways'),
        (["1,234", "2,000,000"], '[format] thousands = ","'),
        (["1,234", "n/a", "3,5", "4,5"], '[format] decimal = ","'),
    ],
)
def test_what_would_read_the_numbers_is_named(tmp_path: Path, prices: list[str], declaration: str) -> None:
    table = dict(columns(price=(prices * 5)[:5]))
    for kind in ("csv", "pandas"):
        (found,) = findings(source(kind, tmp_path, table))
        assert found.endswith(f": declare {declaration}"), found


@pytest.mark.parametrize("price", ["1O", "two", "5 apples", "#REF!", "1.2.3"])
def test_where_nothing_would_read_it_nothing_is_advised(price: str) -> None:
    (found,) = findings(frame(price=[price, "2", "2", "2", "2"]))
    assert "declare" not in found


@pytest.mark.parametrize(
    ("days", "declaration"),
    [
        (["31.01.2024", "01.02.2024"], '[format] dates = "%d.%m.%Y"'),
        (["1/31/2024", "2/1/2024"], '[format] dates = "%m/%d/%Y"'),
        (["31/1/24", "1/2/24"], '[format] dates = "%d/%m/%y"'),
        (["01-Jan-2024", "02-Jan-2024"], '[format] dates = "%d-%b-%Y"'),
        (["2024/01/31", "2024/02/01"], '[format] dates = "%Y/%m/%d"'),
        (["Jan 2024", "Feb 2024"], '[format] dates = "%b %Y"'),
        (["31.01.2024 13:00", "01.02.2024 13:00"], '[format] dates = "%d.%m.%Y %H:%M"'),
        (
            ["01/02/2024", "02/02/2024"],
            '[format] dates = "%d/%m/%Y", or [format] dates = "%m/%d/%Y": it can be read both ways',
        ),
    ],
)
def test_what_would_read_the_dates_is_named(tmp_path: Path, days: list[str], declaration: str) -> None:
    table = {name: values[:2] for name, values in columns(period=days * 5).items()}
    for kind in ("csv", "pandas", "polars"):
        (found,) = findings(source(kind, tmp_path, table))
        assert found.endswith(f": declare {declaration}"), found


@pytest.mark.parametrize(
    ("dates", "days", "expected"),
    [
        ("%m/%d/%Y", ["1/31/2024", "02/01/2024"], "2024-01-31"),
        (("%d.%m.%Y", "%Y-%m-%d"), ["31.01.2024", "2024-02-01"], "2024-01-31"),
        ("%d.%m.%y", ["31.01.24", "01.02.24"], "2024-01-31"),
        ("%b %Y", ["Jan 2024", "Feb 2024"], "2024-01-01"),
        ("%G-W%V-%u", ["2024-W05-1", "2024-W06-1"], "2024-01-29"),
        ("%d.%m.%Y %H:%M %z", ["31.01.2024 00:30 +0100", "01.02.2024 00:30 +0100"], "2024-01-30T23:30"),
        ("%Y%m%d", ["20240131", "20240201"], "2024-01-31"),
        ("%Y%m%d", [20240131, 20240201], "2024-01-31"),
    ],
)
def test_declared_dates(tmp_path: Path, dates: Any, days: list[Any], expected: str) -> None:
    table = {name: values[:2] for name, values in columns(period=days * 5).items()}
    for kind in ("csv", "pandas", "polars"):
        log = read_log(source(kind, tmp_path, table), Problem(format=Format(dates=dates)))
        assert log.period[0] == np.datetime64(expected), kind
        assert len(log.names) == 1, kind


@pytest.mark.parametrize(
    ("dates", "day"),
    [
        ("%d.%m.%Y", "31.01.24"),  # of two digits: not the year 24
        ("%d.%m.%Y", "30.02.2024"),
        ("%d.%m.%Y", "2024-01-31"),
        ("%d.%m.%Y", "31.01.2024 12:00"),
        ("%Y-%m-%d", "infinity"),
        ((), "infinity"),
        ((), "today"),
        ((), "2024-02-30"),
        ((), "24-01-31"),
    ],
)
def test_text_that_is_no_declared_date_is_refused(tmp_path: Path, dates: Any, day: str) -> None:
    for kind in ("csv", "pandas", "polars"):
        (found, *_) = findings(source(kind, tmp_path, columns(period=[day] * 5)), Problem(format=Format(dates=dates)))
        assert found.startswith("period must be a")
        assert f"row 0 (series=a) has {day!r}" in found


def test_a_date_that_two_declared_formats_read_differently_is_refused() -> None:
    both = Problem(format=Format(dates=("%d/%m/%Y", "%m/%d/%Y")))
    (found,) = findings(frame(period=["13/01/2024", "01/14/2024", "02/01/2024", "13/01/2024", "02/02/2024"]), both)
    assert found == (
        "period must be one date, whichever declared format (%d/%m/%Y, %m/%d/%Y) reads it, "
        "but row 2 (series=a) has '02/01/2024'"
    )


def test_a_problem_with_formats_is_written_and_read_again(tmp_path: Path) -> None:
    problem = Problem(format=GERMAN, price=2.5)
    (tmp_path / "problem.toml").write_text(problem.to_toml(), encoding="utf-8")
    assert Problem.from_toml(tmp_path / "problem.toml") == problem


def test_a_constant_price_stands_in_for_the_column(tmp_path: Path) -> None:
    for text in ("price = 2\n", "[columns]\nprice = 2\n"):
        (tmp_path / "problem.toml").write_text(text, encoding="utf-8")
        log = read_log(frame(price=None), tmp_path / "problem.toml")
        assert log.price.tolist() == [2.0] * 5
        assert log.problem.price == 2
    (found,) = findings(frame(price=None))
    assert found.endswith("; where the price never changes, the problem may say price = 2 instead")


def test_a_constant_price_beside_a_column_of_prices_is_refused() -> None:
    (found,) = findings(frame(), Problem(price=3))
    assert found == (
        "the problem says price = 3, but the table has a column 'price' too: "
        "take the key out of the problem to read the column, or the column out of the table"
    )
