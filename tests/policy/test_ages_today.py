"""Stock by age in today's rows: as given, or as recent rows tell it."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import lostsales
from lostsales.data.problem import Problem
from lostsales.data.reading.table import open_table
from lostsales.errors import LogError
from lostsales.policy.open_day import UNKNOWN_AGES, OpenDay, read_open_day
from lostsales.policy.recent_rows import RecentRows

COSTS = {"lost": 1, "order": 2, "holding": 0.1}
RECENT = {
    "series": ["a"] * 3,
    "period": [1, 2, 3],
    "stock": [4, 7, 10],
    "price": [5.0] * 3,
    "order": [5, 4, 6],
    "sales": [2, 1, 3],
}


def opened(today: dict[str, Any], recent: dict[str, Any] | None = None, **product: Any) -> OpenDay:
    problem = Problem.model_validate({"product": {"shelf_life": 3} | product, "costs": COSTS})
    rows = None if recent is None else RecentRows.read(problem, open_table(pd.DataFrame(recent)))
    return read_open_day(problem, rows, open_table(pd.DataFrame(today)), 3.0)


def today(**columns: Any) -> dict[str, Any]:
    return {"series": ["a"], "period": [4], "stock": [9]} | columns


def test_ages_by_hand() -> None:
    """Period 1 leaves 2 of 4, and 5 arrive; period 2 sells an old one, and 4 arrive; period 3 sells 1 + 2 of 5."""
    found = [opened(today(stock=[stock]), RECENT).view.ages for stock in (13, 12)]
    assert [each.tolist() for each in found if each is not None] == [[[3, 4, 6]], [[2, 4, 6]]]  # 1 thrown away


def test_given_ages_are_taken_by_remaining_life() -> None:
    day = opened(today(age_1=[4], age_2=[3], age_3=[2]))
    assert day.view.ages is not None
    assert day.view.ages.tolist() == [[2, 3, 4]]
    assert not day.flags[UNKNOWN_AGES].any()


def test_without_recent_rows_stock_arrived_last() -> None:
    day = opened(today())
    assert day.view.ages is None
    assert day.flags[UNKNOWN_AGES].all()


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"age_1": [4], "age_2": [3], "age_3": [3]}, "age_1, age_2, ... must add up to stock"),
        ({"age_1": [4], "age_2": [5]}, "missing column 'age_3'"),
        ({"age_1": [4], "age_2": [3], "age_3": [1], "age_4": [1]}, "older than the shelf life must be 0"),
        ({"age_1": [10], "age_2": [-1], "age_3": [0]}, "age_2"),
    ],
)
def test_contradictory_ages_are_refused(columns: dict[str, Any], message: str) -> None:
    with pytest.raises(LogError, match=message):
        opened(today(**columns))


def test_old_stock_is_ordered_for_as_if_it_were_less() -> None:
    """An assortment with a shelf life of each product: the same stock, fresh or in the last period of its life."""
    rng, days = np.random.default_rng(0), np.arange(60)
    rows = [
        {
            "series": name,
            "period": np.datetime64("2026-01-01") + day,
            "stock": 20.0,
            "price": 4.0,
            "order": float(rng.integers(0, 25)),
            "sales": float(rng.poisson(8)),
            "life": life,
        }
        for name, life in (("milk", 2), ("cheese", 30))
        for day in days
    ]
    table = pd.DataFrame(rows)
    problem = Problem.model_validate({"product": {"shelf_life": "life", "waste_cost": 1}, "costs": COSTS})
    log = lostsales.read_log(table, problem)
    policy = lostsales.fit(log)
    order = {}
    for name, ages in (("fresh", (16.0, 0.0)), ("old", (0.0, 16.0))):
        frame = pd.DataFrame(
            {"series": ["milk"], "period": [np.datetime64("2026-03-02")], "stock": [16.0], "life": [2]}
            | {"age_1": [ages[0]], "age_2": [ages[1]]}
        )
        order[name] = float(policy.recommend(table[table.series == "milk"], frame)["order"].iloc[0])
    assert order["old"] > order["fresh"] + 3
