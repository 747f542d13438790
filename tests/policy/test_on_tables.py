"""`decide(frame)`: price and order for the rows of any table, each alone, as `recommend` has them."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import lostsales
from lostsales.errors import LostSalesError
from lostsales.policy.policy import SavedPolicy
from tests.learn.small import small_log

STATES = pd.DataFrame(
    {
        "economy": [0, 1, 1, 0],
        "interest": [0.0, 0.1, -0.1, 0.0],
        "stock": [0, 5, 20, 3],
        "last_sales": [5.0, 3.0, 9.0, 7.0],
    },
    index=[7, 3, 9, 1],
)


@pytest.fixture(scope="module", params=["base-stock", "c-fqi"])
def policy(request: pytest.FixtureRequest) -> SavedPolicy:
    settings: dict[str, Any] = {"iterations": 2, "function": {"kind": "linear"}} if request.param == "c-fqi" else {}
    return lostsales.fit(small_log("released"), request.param, **settings)


def test_rows_are_decided_as_recommend_decides_them(policy: SavedPolicy) -> None:
    named = STATES.assign(series=["a", "b", "c", "d"], period=50)
    decided: Any = policy.decide
    found, other = decided(named), policy.recommend(None, named)
    assert found.columns.tolist() == ["series", "period", "price", "order"]
    pd.testing.assert_frame_equal(found, other[found.columns])


def test_without_names_the_rows_stay_as_they_came(policy: SavedPolicy) -> None:
    decided: Any = policy.decide
    found = decided(STATES)
    assert found.columns.tolist() == ["price", "order"]
    assert found.index.tolist() == [7, 3, 9, 1]
    of_polars = decided(pl.from_pandas(STATES))
    assert isinstance(of_polars, pl.DataFrame)
    np.testing.assert_array_equal(found.to_numpy(), of_polars.to_numpy())
    backwards = decided(STATES[::-1])
    np.testing.assert_array_equal(backwards.to_numpy(), found.to_numpy()[::-1])


def test_one_series_may_have_several_rows(policy: SavedPolicy) -> None:
    decided: Any = policy.decide
    same = STATES.assign(series="a", period=50)
    np.testing.assert_array_equal(decided(same)[["price", "order"]].to_numpy(), decided(STATES).to_numpy())


def test_recent_rows_are_the_second_argument(policy: SavedPolicy) -> None:
    """A stock-out just before makes the depth 1, for both."""
    decided: Any = policy.decide
    recent = pd.DataFrame({"series": "a", "period": [48, 49], "economy": 1, "interest": 0.0, "stock": [9, 4]})
    recent = recent.assign(price=4.0, order=0.0, sales=[5, 4], stockout=[False, True])
    today = STATES.iloc[:1].assign(series="a", period=50).drop(columns="last_sales")
    found, other = decided(today, recent), policy.recommend(recent, today)
    assert other["depth"].tolist() == [1]
    pd.testing.assert_frame_equal(found, other[found.columns])


def test_a_table_without_stock_is_refused(policy: SavedPolicy) -> None:
    decided: Any = policy.decide
    with pytest.raises(LostSalesError, match="missing column 'stock'"):
        decided(STATES.drop(columns="stock"))
