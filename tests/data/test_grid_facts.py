"""CandidateGrid as people and programs read them."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from lostsales.data.candidate_grid import CandidateGrid
from lostsales.data.describe import HEADING, GridFacts, describe, recommendable
from lostsales.data.log import SalesLog
from lostsales.data.problem import Problem
from lostsales.data.reading.gate import read_log

COSTS = {"lost": 1, "order": 1, "holding": 1}


def shop(problem: dict[str, Any], usual: tuple[float, ...] = (5.0,), size: tuple[int, ...] = (10,)) -> SalesLog:
    """Series of a usual price and size each, thirty periods long."""
    rng, frames = np.random.default_rng(0), []
    for number, (price, sold) in enumerate(zip(usual, size, strict=True)):
        sales = rng.integers(sold // 2, 2 * sold, 30)
        own = {"price": np.round(price * rng.choice([0.8, 1.0, 1.2], 30), 2), "order": 6 * rng.integers(0, sold, 30)}
        frames.append(
            pd.DataFrame({"series": f"s{number}", "period": range(30), "stock": 9 * sold, "sales": sales, **own})
        )
    return read_log(pd.concat(frames), Problem.model_validate({"arrival": "before", "costs": COSTS} | problem))


def test_few_candidates_are_listed_and_many_are_a_range() -> None:
    log = shop({"prices": {"from": 3.49, "to": 4.99, "step": 0.5}, "orders": {"multiple": 12, "most": 480}})
    found = GridFacts.of(CandidateGrid.of(log), log)
    assert found.as_lines() == [
        (HEADING, "prices 3.49, 3.99, 4.49, 4.99"),
        ("", "orders 0 to 480, in steps of 12 (41 values)"),
    ]
    assert found.as_json()["orders"] == {
        "count": 41,
        "lowest": 0.0,
        "highest": 480.0,
        "multiple": 12.0,
        "relative": False,
        "values": tuple(12.0 * np.arange(41)),
    }
    assert found.series == ()


def test_where_series_differ_each_has_its_range() -> None:
    log = shop({}, usual=(5.0, 50.0, 20.0, 2.0), size=(10, 20, 400, 15))
    candidates = CandidateGrid.of(log)
    found = GridFacts.of(candidates, log)
    assert found.prices.relative
    assert found.orders is not None
    assert found.orders.relative
    assert [each.series for each in found.series] == ["s0", "s1", "s2", "s3"]
    for each, usual in zip(found.series, (5.0, 50.0, 20.0, 2.0), strict=True):
        assert (each.lowest_price, each.highest_price) == pytest.approx((0.8 * usual, 1.2 * usual))
        assert each.highest_order % 6 == 0
    lines = [text for _, text in found.as_lines()]
    assert lines[0].startswith("prices 0.8, 1, 1.2 times each product's usual price, rounded to ")
    assert "times each product's mean sales, in multiples of 6" in lines[1]
    assert lines[2].startswith("s0: prices 4 to 6, orders 0 to ")
    assert lines[-1] == "... and 1 more products"


def test_a_log_without_orders_has_prices_only() -> None:
    log = read_log(pd.DataFrame({"series": "a", "period": [1, 2], "price": [4, 5], "sales": [1, 2], "stockout": False}))
    found = recommendable(log)
    assert isinstance(found, GridFacts)
    assert found.as_lines() == [(HEADING, "prices 4, 5")]


def test_rules_that_leave_nothing_are_told_by_inspect_and_no_error() -> None:
    log = shop({"prices": [4, 5], "rules": {"price_endings": [0.99]}})
    lines = dict(describe(log).as_lines())
    assert lines[HEADING].startswith("nothing: no action of the grid passes the rules")
    assert describe(shop({})).as_json()["may_recommend"]["prices"]["values"] == (4.0, 5.0, 6.0)
