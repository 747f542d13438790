"""Every message about tables, files and problems: how it is provoked, and its text."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lostsales.data.feature import Feature
from lostsales.data.problem import Costs, Problem
from lostsales.data.reading.gate import read_log
from lostsales.data.settings import checked
from lostsales.errors import LostSalesError, SettingError
from tests.tables import finding, log_of

COLORS = Problem(features=(Feature(name="color", kind="categorical", levels=("red", "blue")),))
CASES = Problem.model_validate({"supply": {"multiple": "case"}})
HEADER = "series,period,stock,price,order,sales\n"
ROWS = HEADER + "a,1,5,2,0,1\na,2,4,2,0,1\n"


@pytest.mark.parametrize(
    ("changes", "problem", "expected"),
    [
        ({"sales": None}, None, "missing column 'sales'"),
        ({"order": None}, None, "missing column 'order'; the table has 'series', 'period', 'stock'"),
        ({"stock": None}, None, "missing column 'stock'"),
        ({}, COLORS, "missing column 'color'"),
        ({}, Problem(attributes=("store",)), "missing column 'store'"),
        ({}, Problem(costs=Costs(lost="loss")), "missing column 'loss'"),
        (
            {"sales": [1, "two", 2, 3, 1]},
            None,
            "sales must be a number, but row 1 (series=a, period=2) has 'two'",
        ),
        ({"stock": [5, 4, 2, np.nan, 4]}, None, "stock must be present, but row 3 (series=b, period=1) has none"),
        ({"price": [2, 4, np.inf, 4, 4]}, None, "price must be finite, but row 2 (series=a, period=3) has inf"),
        ({"stock": [5, 4, 2, 3, -4]}, None, "stock must not be negative, but row 4 (series=b, period=2) has -4"),
        ({"price": [2, -0.5, 2, 4, 4]}, None, "price must not be negative, but row 1 (series=a, period=2) has -0.5"),
        ({"order": [0, 0, 1, -4, 0]}, None, "order must not be negative, but row 3 (series=b, period=1) has -4"),
        ({"sales": [-1, 2, 2, 3, 1]}, None, "sales must not be negative, but row 0 (series=a, period=1) has -1"),
        (
            {"sales": [1, 2, 2, 3, 5]},
            None,
            "sales must not exceed what was available, but row 4 (series=b, period=2) has 5 of 4",
        ),
        (
            {"period": [1, 2, 2, 1, 2]},
            None,
            "a series must have one row per period, but row 2 (series=a, period=2) repeats row 1",
        ),
        (
            {"stockout": [False, "maybe", False, False, False]},
            None,
            "stockout must be true or false, but row 1 (series=a, period=2) has 'maybe'",
        ),
        ({}, Problem(capacity=4), "stock must fit the capacity 4, but row 0 (series=a, period=1) has 5"),
        (
            {"color": ["red", "blue", "green", "red", "red"]},
            COLORS,
            "color must be one of red, blue, but row 2 (series=a, period=3) has 'green'",
        ),
        ({"series": ["a", None, "a", "b", "b"]}, None, "series must be present, but row 1 has none"),
        ({"period": [1, None, 3, 1, 2]}, None, "period must be present, but row 1 (series=a) has none"),
        (
            {"period": [1, 2.5, 3, 1, 2]},
            None,
            "period must be a whole number or a date such as 2026-03-01, but row 1 (series=a) has 2.5",
        ),
        (
            {"last_sales": [-1, None, None, None, None]},
            None,
            "last_sales must not be negative, but row 0 (series=a, period=1) has -1",
        ),
        (
            {"store": ["x", "x", "y", "z", "z"]},
            Problem(attributes=("store",)),
            "attribute store must be the same in all rows of a series, but row 2 (series=a, period=3) has 'y'",
        ),
        ({"case": [6, 7, 6, 5, 5]}, CASES, "case must be the same in all rows of a series, but row 1"),
        ({"case": [0, 0, 0, 5, 5]}, CASES, "case must be positive, but row 0"),
        ({"case": ["six", 6, 6, 5, 5]}, CASES, "case must be a number, but row 0"),
        ({}, CASES, "missing column 'case'"),
    ],
)
def test_one_fault_of_a_table_is_one_finding_that_names_the_row(
    changes: dict[str, Any], problem: Problem | None, expected: str
) -> None:
    assert finding(problem, **changes).startswith(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("arrival = 5", "arrival: Input should be 'after' or 'before', but it is 5"),
        ("prices = [3, 2]", "prices: must be a rising list of different values, but it is [3, 2]"),
        ("orders = []", "orders: must be a rising list of different values, but it is []"),
        ("prices = [-1]", "prices.0: Input should be greater than or equal to 0, but it is -1"),
        ("prices = 'cheap'", "prices: Input should be a valid tuple, but it is 'cheap'"),
        ("discount = 1", "discount: Input should be less than 1, but it is 1"),
        ("capacity = nan", "capacity: Input should be a finite number, but it is nan"),
        ("longest_run = 0", "longest_run: Input should be greater than or equal to 1, but it is 0"),
        ("costs.holding = -1", "costs.holding: Input should be greater than or equal to 0, but it is -1"),
        ("costs.lots = 1", "costs.lots: no such key; the keys are lost, order, holding, table, fixed_order"),
        ("features = [5]", "features.0: Input should be a valid dictionary or instance of Feature, but it is 5"),
        ("columns.series = []", "columns.series: Input should be a valid string, but it is []"),
        (
            "features = [{name = 'x', levels = [1, 2]}]",
            "features.0: levels belong to a categorical feature and must differ, "
            "but it is {'name': 'x', 'levels': [1, 2]}",
        ),
        ("features = ['x', 'x']", "the whole: a column must have one role, but x has several"),
        ("features = ['sales']", "the whole: a column must have one role, but sales has several"),
        ("attributes = ['series']", "the whole: a column must have one role, but series has several"),
        ("columns.stock = 'sales'", "the whole: a column must have one role, but sales has several"),
        (
            "capacity_rule = 'forbid'\norders = [1, 2]",
            "the whole: with capacity_rule 'forbid' the order grid must contain 0, or a full store could not act",
        ),
        ("[costs]\nlost = true", "costs.lost: must be a number, but it is True"),
        ("capacity = '5'", "capacity: must be a number, without quotes, but it is '5'"),
        ("discount = false", "discount: must be a number, but it is False"),
        ("prices = [1, true]", "prices: must be a number, but it is True"),
        ("prices = ['1', '2']", "prices: must be a number, without quotes, but it is '1'"),
        ("[costs]\norder = 1e300", "costs.order: must lie between -1e+15 and 1e+15, but it is 1e+300"),
        ("capacity = 99999999999999999999", "capacity: must lie between -1e+15 and 1e+15"),
        (f"capacity = {'9' * 5000}", "cannot be read as TOML"),
        (f"prices = {'[' * 5000}", "cannot be read as TOML"),
        ("capacity = nan", "capacity: Input should be"),
    ],
)
def test_a_mistake_in_a_problem_file_is_named_by_its_key(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "problem.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SettingError) as caught:
        Problem.from_toml(path)
    message = str(caught.value)
    assert expected in message
    assert message.count("\n  - ") <= 1
    assert message.endswith("proposes a problem for a table")


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        *(
            ({"supply": supply}, reason)
            for supply, reason in [
                ({"lead_time": -1}, "supply.lead_time: .*greater than or equal to 0"),
                ({"lead_time": 1.5}, "supply.lead_time"),
                ({"lead_time": True}, "supply.lead_time"),
                ({"lead_time": "soon"}, 'supply.lead_time: must be a whole number, a table such as .* or "learn"'),
                (
                    {"lead_time": {"1": 0.5, "2": 0.4}},
                    "supply.lead_time: the chances must sum to 1, but they sum to 0.9",
                ),
                (
                    {"lead_time": {"1": 1.5, "2": -0.5}},
                    "supply.lead_time: a chance must lie from 0 to 1, but that of 1 is 1.5",
                ),
                (
                    {"lead_time": {"one": 1.0}},
                    "a lead time must be a whole number up to 100 or lost, but 'one' is none",
                ),
                ({"lead_time": {"lost": 1.0}}, "an order must be able to arrive, but all are lost"),
                ({"lead_time": {"0": 0.5, "2": 0.5}}, "lead times must all be 0 or all be at least 1"),
                ({"lead_time": {"1": 0.5, "3": 0.5}, "crossing": False}, "set crossing = true"),
                ({"lead_time": 101}, "supply.lead_time: .*less than or equal to 100"),
                ({"lead_time": {}}, "supply.lead_time: the chances must sum to 1, but they sum to 0"),
                ({"lead_time": {"1": "half", "2": 0.5}}, "supply.lead_time"),
                ({"crossing": "yes"}, "supply.crossing"),
                ({"share": 0}, "supply.share: .*greater than 0"),
                ({"share": 1.2}, "supply.share: .*less than or equal to 1"),
                ({"order_days": 0}, "supply.order_days"),
                ({"order_days": []}, "supply.order_days: must name at least one weekday"),
                ({"order_days": ["Someday"]}, "supply.order_days: must be weekdays such as"),
                ({"order_days": {"every": 0}}, "supply.order_days"),
                ({"order_days": {"every": 7, "from": "soon"}}, "supply.order_days"),
                ({"order_days": {"from": 3}}, "supply.order_days"),
                ({"multiple": 0}, "supply.multiple"),
                ({"minimum": -3}, "supply.minimum"),
                ({"capacity": 0}, "supply.capacity"),
                ({"leadtime": 3}, "supply.leadtime: no such key; the keys are lead_time"),
            ]
        ),
        *(
            ({"format": written}, reason)
            for written, reason in [
                ({"decimal": ","} | {"thousands": ","}, "decimal and thousands must differ"),
                ({"decimal": ";"}, "String should match pattern"),
                ({"thousands": "5"}, "must be one mark"),
                ({"thousands": ".."}, "String should have at most 1 character"),
                ({"currency": "5"}, "must be a currency"),
                ({"currency": " "}, "must be a currency"),
                ({"dates": "%d.%m"}, "must be formats such as"),
                ({"dates": "%Q %Y"}, "must be formats such as"),
                ({"dates": "%Y%"}, "must be formats such as"),
                ({"dates": "%Y%-Q"}, "must be formats such as"),
                ({"dates": 5}, "Input should be a valid string"),
            ]
        ),
        ({"calendar": ["wekday"]}, "calendar may name weekday, week, month, or .*, but it names 'wekday'"),
        ({"calendar": ["holidays"]}, "but it names 'holidays'"),
        ({"calendar": ["holidays:XX"]}, "holidays of 'XX', which the package holidays does not know"),
        ({"calendar": ["holidays:US-QQ"]}, "holidays of 'US-QQ', which the package holidays does not know"),
        ({"calendar": ["weekday", "weekday"]}, "a list of different words"),
        ({"features": [{"name": "day", "calendar": "weekday"}]}, r"given as calendar = \['weekday'\]"),
        ({"calendar": ["weekday"], "features": ["weekday"]}, "calendar gives a feature 'weekday', and features names"),
        ({"calendar": ["weekday"], "attributes": ["weekday"]}, "one role, but weekday has several"),
    ],
)
def test_keys_that_make_no_sense_are_named(keys: dict[str, Any], reason: str) -> None:
    with pytest.raises(SettingError, match=reason):
        checked(Problem, keys, "problem p.toml")


@pytest.mark.parametrize(
    ("text", "encoding", "expected"),
    [
        ("", "utf-8", "must start with a line of column names, but it is empty"),
        (HEADER, "utf-8", "a log needs at least one row, but the table is empty"),
        (HEADER.strip(), "utf-8", "a log needs at least one row, but the table is empty"),
        (HEADER + "a,1,5,2,0,1,9\n", "utf-8", "CSV Error on Line: 2; Expected Number of Columns: 6 Found: 7"),
        (HEADER + "a,1,5,2,0,1\na,2\n", "utf-8", "CSV Error on Line: 3; Expected Number of Columns: 6 Found: 2"),
        (HEADER + '"a,1,5,2,0,1\n', "utf-8", "unterminated quote"),
        (HEADER, "utf-16", "a log needs at least one row, but the table is empty"),
        (HEADER + "a\x00\x81,1,5,2,0,1\n", "latin-1", "cannot be read"),
        (HEADER.replace("stock", "sales"), "utf-8", "must have different names, but sales comes again"),
    ],
)
def test_a_csv_that_is_no_table(tmp_path: Path, text: str, encoding: str, expected: str) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes(text.encode(encoding))
    with pytest.raises(LostSalesError) as caught:
        read_log(path)
    assert expected in str(caught.value)
    assert "Possible" not in str(caught.value)
    assert "log.csv" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("", "must have a .csv, .parquet or .xlsx file, but it has none"),
        ("nowhere.csv", "there is no file"),
        ("folder.parquet", "must have a .csv, .parquet or .xlsx file, but it has none"),
        ("log.docx", "must end in .csv, .parquet or .xlsx"),
    ],
)
def test_paths_that_are_no_table(tmp_path: Path, name: str, expected: str) -> None:
    (tmp_path / "folder.parquet").mkdir()
    (tmp_path / "log.docx").touch()
    with pytest.raises(LostSalesError) as caught:
        read_log(tmp_path / name)
    assert expected in str(caught.value)


def test_receipts_that_are_hardly_ever_the_order_are_named() -> None:
    orders = {
        "order": [3.0, 2.0, 1.0, 4.0, 2.0],
        "received": [0.0, 0.0, 1.0, 2.0, 0.0],
        "sales": [1.0, 2.0, 1.0, 3.0, 1.0],
    }
    warnings = log_of(Problem(arrival="before"), **orders).notes.warnings
    assert any(each.startswith("what was received differs from what was ordered in 80% of rows") for each in warnings)
    usual = log_of(Problem(arrival="before"), **orders | {"received": orders["order"]}).notes.warnings
    assert not any("received" in each.split(",")[0] for each in usual)


def test_the_cure_for_sales_above_the_stock_does_not_contradict_a_lead_time() -> None:
    late = Problem.model_validate({"supply": {"lead_time": 2}})
    found = finding(late, sales=[7.0, 2.0, 2.0, 3.0, 1.0], order=[3.0, 0.0, 1.0, 4.0, 0.0])
    assert 'leave out supply.lead_time and set arrival = "before"' in found
