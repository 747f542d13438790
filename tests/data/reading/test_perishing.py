"""Goods that perish in a table: what is read, what is refused, and what the balance of the stock makes of waste."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from lostsales.data.balance import off_balance
from lostsales.data.problem import Problem
from lostsales.data.reading.gate import read_log
from lostsales.errors import LogError, SettingError
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import simulate

TABLE: dict[str, Any] = {
    "series": ["a", "a", "a", "b"],
    "period": [1, 2, 3, 1],
    "stock": [5, 6, 2, 4],
    "price": [2.0, 2, 2, 2],
    "order": [4, 0, 0, 0],
    "sales": [1, 1, 2, 1],
    "life": [2, 2, 2, 3],
}
COSTS = {"lost": 0, "order": 1, "holding": 0.5}


def read(table: dict[str, Any], **product: Any) -> Any:
    return read_log(pd.DataFrame(table), Problem.model_validate({"product": product, "costs": COSTS}))


def test_waste_is_read_off_the_next_stock() -> None:
    """5 - 1 + 4 is 8 and not 6; 6 - 1 is 5 and not 2; the last row of a series has no next stock."""
    log = read(TABLE, shelf_life="life", waste_cost=3)
    assert log.wasted.tolist() == [2, 3, 0, 0]
    assert log.shelf_life.tolist() == [2, 2, 2, 3]
    assert off_balance(log) == (2, 0)
    # Price 2, purchase 1, holding 0.5 of what is kept, 3 for each unit thrown away.
    assert log.cash.tolist() == [2 - 4 - 0.5 * 2 - 6, 2 - 0.5 * 2 - 9, 4, 2 - 0.5 * 3]


def test_recorded_waste_is_part_of_the_balance() -> None:
    log = read(TABLE | {"wasted": [2, 0, 0, 1]}, shelf_life=2)
    assert log.wasted.tolist() == [2, 0, 0, 1]
    assert off_balance(log) == (2, 1)


@pytest.mark.parametrize(
    ("columns", "product", "message"),
    [
        ({"life": [2, 0, 2, 3]}, {"shelf_life": "life"}, r"life must be a whole number of periods .* 0"),
        ({"life": [2, 2.5, 2, 3]}, {"shelf_life": "life"}, r"life must be a whole number of periods"),
        (
            {"wasted": [9, 0, 0, 0]},
            {"shelf_life": 2},
            r"wasted must not exceed what was left unsold.*series=a, period=1",
        ),
        ({"oldest": [0.5, 2, 1, 1]}, {"shelf_life": 2, "issuing": "oldest"}, r"oldest must be from 0 to 1"),
        ({}, {"shelf_life": "lifetime"}, r"missing column 'lifetime'"),
    ],
)
def test_bad_tables_are_refused(columns: dict[str, Any], product: dict[str, Any], message: str) -> None:
    with pytest.raises(LogError, match=message):
        read(TABLE | columns, **product)


@pytest.mark.parametrize(
    "product", [{"waste_cost": 3}, {"issuing": "lifo"}, {"shelf_life": 0}, {"shelf_life": 2, "issuing": 1.5}]
)
def test_contradictory_keys_are_refused(product: dict[str, Any]) -> None:
    with pytest.raises((SettingError, ValueError), match=r"product"):
        Problem.model_validate({"product": product})


def test_a_simulated_log_is_read_as_it_was_written(tmp_path: Any) -> None:
    from lostsales.data.writing import write_log

    log, truth = simulate(Scenario.load("perishable", ("product.issuing=lifo",)), episodes=20, seed=1)
    write_log(log, tmp_path / "log.parquet")
    back = read_log(tmp_path / "log.parquet")
    for name in ("wasted", "adjustment", "waste_cost", "shelf_life", "from_oldest", "stock"):
        assert np.array_equal(getattr(back, name), getattr(log, name)), name
    assert off_balance(back)[1] == 0
    assert np.allclose(back.profit(truth.lost), truth.profit)
    assert truth.ages is not None
    assert np.array_equal(truth.ages.sum(axis=1), log.stock)
    assert (log.wasted <= truth.ages[:, 0]).all()  # type: ignore[operator]  # it has waste
