"""Columns of the supply, and tables without a price or an order to decide."""

from typing import Any

import pandas as pd
import pytest

from lostsales.data.problem import Problem
from lostsales.data.reading.gate import read_log
from lostsales.errors import LogError, SettingError
from lostsales.policy.rules import Rules

TABLE = pd.DataFrame(
    {
        "series": ["a", "a", "b", "b"],
        "period": [1, 2, 1, 2],
        "stock": [5, 4, 9, 8],
        "price": [2, 2, 2, 2],
        "order": [0, 6, 0, 10],
        "sales": [1, 4, 1, 8],
        "case": [6, 6, 5, 5],
        "least": [6, 6, 0, 0],
    }
)
COSTS = {"lost": 1, "order": 1, "holding": 1}


def problem(**keys: Any) -> Problem:
    return Problem.model_validate({"costs": COSTS} | keys)


def test_multiples_and_least_orders_by_series() -> None:
    log = read_log(TABLE, problem(supply={"multiple": "case", "minimum": "least"}))
    rules = Rules().over(log.problem.rules).of_names(log.names[log.series])
    assert log.problem.supply.multiple is None  # it is a rule now, which a policy keeps
    assert (rules.multiple.tolist(), rules.minimum.tolist()) == ([6, 6, 5, 5], [6, 6, 0, 0])  # type: ignore[union-attr]


def test_one_multiple_of_all_series_is_a_rule() -> None:
    assert read_log(TABLE, problem(supply={"multiple": 2})).problem.rules.multiple == 2
    with pytest.raises(SettingError, match=r"rules.multiple is 3.0, but supply.multiple is 2.0: say it once"):
        read_log(TABLE, problem(supply={"multiple": 2}, rules={"multiple": 3}))


def test_one_price_needs_no_column() -> None:
    log = read_log(TABLE.drop(columns="price"), problem(prices=[3]))
    assert log.price.tolist() == [3] * 4


def test_one_order_needs_no_column() -> None:
    log = read_log(TABLE.drop(columns="order").assign(stock=[5, 4, 9, 8]), problem(orders=[0]))
    assert log.order is not None
    assert log.order.tolist() == [0] * 4
    assert log.notes.off_balance_rows == 0


def test_a_column_of_order_days() -> None:
    log = read_log(TABLE.assign(may_order=[0, 1, 0, 1]), problem(supply={"order_days": "may_order"}))
    assert log.problem.rules.order_days == "may_order"
    assert log.features_by_name(log.starts)["may_order"].tolist() == [0, 0]
    with pytest.raises(LogError, match="missing column 'may_order'"):
        read_log(TABLE, problem(supply={"order_days": "may_order"}))
