"""The life of a product: keys of a problem, columns of a log, and what is refused."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import lostsales
from lostsales.data.log import SalesLog
from lostsales.data.problem import Problem
from lostsales.errors import LogError, SettingError

TABLE = pd.DataFrame(
    {
        "series": ["a", "a", "b", "b"],
        "period": [1, 2, 1, 2],
        "stock": [5, 4, 5, 4],
        "price": [2, 2, 2, 1.5],
        "order": [0, 3, 0, 0],
        "sales": [1, 4, 1, 2],
        "ends": [9, 9, 2, 2],
        "worth": [0.5, 0.5, 0.25, 0.25],
    }
)
DATED = TABLE.assign(period=pd.Timestamp("2026-01-01") + pd.to_timedelta(TABLE.period, "D"))


def read(table: pd.DataFrame = TABLE, **keys: Any) -> SalesLog:
    costs = {"lost": 0, "order": 1, "holding": 0}
    return lostsales.read_log(table, Problem(arrival="after", costs=costs, **keys))


def test_without_the_keys_a_log_has_no_seasons() -> None:
    log = read()
    assert log.season_end is None
    assert log.salvage is None


def test_a_season_of_all_products_is_a_constant() -> None:
    log = read(product={"season_end": 9, "salvage": 0.5})
    assert log.season_end is not None
    assert log.season_end.tolist() == [9] * 4
    assert log.salvage is not None
    assert log.salvage.tolist() == [0.5] * 4


@pytest.mark.parametrize("attributes", [(), ("ends",)])
def test_a_season_is_a_column_or_an_attribute(attributes: tuple[str, ...]) -> None:
    log = read(product={"season_end": "ends", "salvage": "worth"}, attributes=attributes)
    assert log.season_end is not None
    assert log.season_end.tolist() == [9, 9, 2, 2]
    assert log.salvage is not None
    assert log.salvage.tolist() == [0.5, 0.5, 0.25, 0.25]
    again = lostsales.read_log(log.to_frame(), Problem.of(log.problem, None))
    assert again.season_end is not None
    assert np.array_equal(again.season_end, log.season_end)
    assert again.salvage is not None
    assert np.array_equal(again.salvage, log.salvage)


def test_a_season_may_end_on_a_date() -> None:
    log = read(DATED, product={"season_end": "2026-03-01"})
    assert log.season_end is not None
    assert log.season_end.dtype == log.period.dtype
    assert (log.season_end == np.datetime64("2026-03-01")).all()
    assert log.salvage is not None
    assert (log.salvage == 0).all()


def test_the_keys_survive_a_file() -> None:
    problem = Problem(product={"season_end": "2026-12-24", "salvage": 2})
    assert '[product]\nseason_end = "2026-12-24"\nsalvage = 2.0' in problem.to_toml()
    assert "[product]" not in Problem().to_toml()


@pytest.mark.parametrize(
    ("table", "product", "told"),
    [
        (TABLE, {"season_end": 1}, r"season_end must not lie before the period of a row, but row 1 .*series=a.* has 1"),
        (TABLE, {"season_end": 9, "salvage": 1.75}, r"salvage must not exceed the price, but row 3 .* has 1.75 of 1.5"),
        (
            TABLE,
            {"season_end": "2026-12-24"},
            r"season_end must be a whole number as period is, but it is '2026-12-24'",
        ),
        (TABLE, {"season_end": "nope"}, r"missing column 'nope'"),
        (DATED, {"season_end": 4}, r"season_end must be a date as period is, but it is 4"),
        (DATED, {"season_end": "ends"}, r"ends must be a date as period is, but it has a whole number"),
        (
            TABLE.assign(ends="soon"),
            {"season_end": "ends"},
            r"ends must be a whole number or a date .* row 0 .* 'soon'",
        ),
        (TABLE.assign(worth=-1), {"season_end": 9, "salvage": "worth"}, r"worth must not be negative, but row 0"),
    ],
)
def test_a_contradiction_names_row_and_column(table: pd.DataFrame, product: dict[str, Any], told: str) -> None:
    with pytest.raises(LogError, match=told):
        read(table, product=product)


@pytest.mark.parametrize(
    ("product", "told"),
    [
        ({"salvage": 2}, "salvage is what units bring when a season has ended: it needs season_end"),
        ({"season_end": True}, r"product.season_end: must be a number, but it is True"),
        ({"season_end": 9, "salvage": -1}, r"product.salvage: .* greater than or equal to 0"),
        ({"end": 9}, r"product.end: no such key; the keys are season_end, salvage"),
    ],
)
def test_a_key_that_cannot_be_is_refused(product: dict[str, Any], told: str) -> None:
    with pytest.raises(SettingError, match=told):
        Problem(product=product)
