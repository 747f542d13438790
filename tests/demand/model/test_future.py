"""Known prices and features of coming periods: what a table gives, and one error for all that is wrong with it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from lostsales.data.problem import Problem
from lostsales.data.reading.gate import read_log
from lostsales.demand.forecast import forecast
from lostsales.errors import LogError, SettingError
from tests.demand.model.shops import Shop, made_up_shop

PROBLEM = Problem(features=("promo",), attributes=("group",))


@pytest.fixture(scope="module")
def shop() -> Shop:
    return made_up_shop(2, products=6, days=150, ahead=4)


def forecast_of(shop: Shop, **settings: Any) -> Any:
    return forecast(read_log(shop.log, PROBLEM, sales_only=True), 4, **settings)


def test_a_future_is_used_and_told(shop: Shop) -> None:
    usual, known = forecast_of(shop), forecast_of(shop, future=shop.future)
    assert not np.allclose(usual.mean, known.mean)
    assert usual.how.coming.startswith("usual prices and features")
    assert known.how.coming.startswith("price, promo as given")
    assert known.how.warnings == ()


def test_a_future_of_some_products_leaves_the_others(shop: Shop) -> None:
    cheap = shop.future[shop.future["series"] == "p00"].assign(price=3.0)[["series", "period", "price"]]
    usual, found = forecast_of(shop), forecast_of(shop, future=cheap)
    other = found.names == "p01"  # of another group
    np.testing.assert_array_equal(found.mean[other], usual.mean[other])
    assert (found.mean[found.names == "p00"] > usual.mean[found.names == "p00"]).all()


def test_changes_of_the_price(shop: Shop) -> None:
    usual, cheaper = forecast_of(shop), forecast_of(shop, changes=["price=-10%"])
    assert (cheaper.mean > usual.mean).all()
    assert cheaper.how.coming.endswith("changed: price=-10%")
    far = forecast_of(shop, changes=["price=100", "promo=1"])
    assert "24 planned prices lie far outside those seen (p00 at 100" in far.how.warnings[0]


@pytest.mark.parametrize("change", ["price", "price=ten", "colour=1", "price=-100%"])
def test_changes_that_cannot_be_read(shop: Shop, change: str) -> None:
    with pytest.raises(SettingError, match="change"):
        forecast_of(shop, changes=[change])


def _with(column: str, value: Any, row: int = 0) -> Callable[[pd.DataFrame], pd.DataFrame]:
    def broken(future: pd.DataFrame) -> pd.DataFrame:
        found = future.reset_index(drop=True).astype({column: object})
        found.loc[row, column] = value
        return found

    return broken


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (_with("series", "p99"), "must be in the log, but row 0"),
        (lambda future: future.iloc[1:], "p00 has none for 2025-05-31"),
        (lambda future: pd.concat([future, future.iloc[:1]]), "must come once"),
        (_with("price", "cheap", 2), "price must be a number"),
        (_with("price", 0.0), "price must be positive"),
        (_with("price", None), "price must be present"),
        (_with("period", pd.Timestamp("2025-01-02")), "must be one of the periods after the last row"),
        (lambda future: future.assign(period=range(len(future))), "must be dates"),
        (lambda future: future[["series", "period"]], "must have a price or a feature"),
        (lambda future: future.drop(columns="period"), "must have the columns period"),
    ],
)
def test_a_wrong_future_is_one_error_that_names_rows(
    shop: Shop, broken: Callable[[pd.DataFrame], pd.DataFrame], said: str
) -> None:
    with pytest.raises(LogError, match=said):
        forecast_of(shop, future=broken(shop.future))
