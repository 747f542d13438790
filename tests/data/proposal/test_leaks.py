"""Features that copy the price or hold the sales of their own period."""

import numpy as np
import pandas as pd
import pytest

import lostsales
from lostsales.data.proposal.propose import propose
from tests.apps.shop_tables import shop


def table() -> pd.DataFrame:
    found = shop(120).drop(columns=["Store", "Left"])
    prices = found.groupby("Product")["Price"]
    found["usual"] = prices.transform("median")
    found["lagged"] = prices.shift(1).bfill()
    return found


def features(found: pd.DataFrame) -> set[str]:
    return {feature.name for feature in propose(found).problem.features if feature.calendar is None}


def test_copies_of_the_price_are_left_out_with_the_reason() -> None:
    found = table().drop(columns="usual")
    found["mark_up_base"] = 0.7 * found["Price"]
    found["off"] = 1 - found["Price"] / table()["usual"]
    found["moved"] = found["Price"] - found["lagged"]
    assert features(found) == {"Promotion", "lagged"}
    text = propose(found).text
    assert "'mark_up_base', follows from the price (100 % of its moves)" in text
    assert "'off', follows from the price (100 % of its moves)" in text
    assert "'moved', follows from the price and other features (100 % of its moves)" in text


@pytest.mark.parametrize("window", [3, 7])
def test_an_average_with_todays_sales_is_left_out_and_one_without_is_not(window: int) -> None:
    found = table().drop(columns=["usual", "lagged"])
    sales = found.groupby("Product")["Sales"]
    with_today = sales.transform(lambda each: each.rolling(window, min_periods=1).mean())
    assert features(found.assign(trend=with_today)) == {"Promotion"}
    before = with_today.groupby(found["Product"]).shift(1).bfill()
    assert features(found.assign(trend=before)) == {"Promotion", "trend"}


def test_a_temperature_that_moves_demand_stays() -> None:
    found = table().drop(columns=["usual", "lagged"])
    rng = np.random.default_rng(1)
    day = rng.normal(15, 6, 120)
    found["temperature"] = np.tile(day, 3)
    assert features(found) == {"Promotion", "temperature"}


def test_the_demand_model_of_a_table_with_copies_can_be_fitted() -> None:
    found = table().drop(columns="usual").rename(columns=str.lower)
    found["copy"] = 0.7 * found["price"]
    problem = lostsales.Problem(features=["copy", "lagged"], columns={"series": "product", "period": "date"})
    assert lostsales.fit_demand(lostsales.read_log(found, problem)).copies == ("copy",)
