"""Transactions as one row per product and period."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lostsales.data.aggregation import aggregate
from lostsales.data.proposal.propose import propose
from lostsales.data.reading.gate import read_log
from lostsales.errors import LostSalesError
from tests.apps.running import run
from tests.apps.shop_tables import shop, transactions


def test_lines_of_a_till_become_the_days_they_came_from(tmp_path: Path) -> None:
    found = pd.DataFrame(aggregate(transactions(tmp_path)).columns)
    days = shop()
    days.loc[days["Product"] == "Cola 6-pack", "Sales"] //= 6
    sold = days.set_index(["Product", "Date"])["Sales"]
    assert (days["Sales"] == 0).any()
    for product, part in found.groupby("Product"):
        true = sold[product][part["Time"].min() : part["Time"].max()]
        np.testing.assert_array_equal(part["Quantity"], true)
    prices = days.set_index(["Product", "Date"])["Price"]
    sells = found[found["Quantity"] > 0]
    np.testing.assert_allclose(
        sells["Price"], [prices[each] for each in zip(sells["Product"], sells["Time"], strict=True)]
    )


def test_a_table_of_one_product_gets_a_column_that_names_it() -> None:
    days = pd.DataFrame({"day": pd.date_range("2026-03-02", periods=30), "price": [2.0, 2.5] * 15, "sold": range(30)})
    found = pd.DataFrame(aggregate(days).columns)
    assert set(found["product"]) == {"product"}
    assert found["sold"].tolist() == list(range(30))
    assert read_log(found, propose(found).problem).names.tolist() == ["product"]


def test_the_money_of_lines_is_summed_and_gives_the_price() -> None:
    lines = pd.DataFrame(
        {
            "receipt": range(101, 161), "time": pd.date_range("2026-03-02 09:00", periods=60, freq="4h"),
            "sku": ["a", "b"] * 30, "qty": [1, 2, 3] * 20,
        }
    )  # fmt: skip
    days = aggregate(lines.assign(amount=lines["qty"] * lines["sku"].map({"a": 1.25, "b": 0.99})))
    assert set(days.columns) == {"sku", "time", "qty", "amount"}
    found = propose(pd.DataFrame(days.columns))
    assert found.columns["revenue"] == "amount"
    log = read_log(pd.DataFrame(days.columns), found.problem)
    np.testing.assert_allclose(log.price, np.where(log.names[log.series] == "a", 1.25, 0.99))


def test_days_on_which_nobody_sold_anything_get_no_row() -> None:
    lines = pd.DataFrame(
        {"day": ["2026-03-02", "2026-03-04", "2026-03-02", "2026-03-04", "2026-03-03"], "item": [*"aabbb"], "qty": 1}
    )
    closed = aggregate(lines[lines["day"] != "2026-03-03"])
    assert closed.zeros_added == 0
    assert aggregate(lines).zeros_added == 1


def test_returns_are_netted() -> None:
    lines = pd.DataFrame(
        {
            "time": ["2026-03-02 09:00", "2026-03-02 10:00", "2026-03-03 09:00", "2026-03-03 12:00"],
            "sku": "a", "quantity": [5, -2, 1, -3], "price": [2.0, 2.0, 2.0, 2.0],
        }
    )  # fmt: skip
    found = aggregate(lines)
    assert found.columns["quantity"].tolist() == [3, 0]
    assert found.notes == ("returns exceed sales in 1 rows, which count as 0",)


def test_weeks_that_are_cut_off_are_left_out() -> None:
    days = pd.DataFrame({"day": pd.date_range("2026-03-04", periods=20), "sku": "a", "sold": 1, "stock": range(20)})
    found = aggregate(days.assign(order=1), "week")
    assert found.columns["day"].tolist() == [np.datetime64("2026-03-09").item(), np.datetime64("2026-03-16").item()]
    assert found.columns["sold"].tolist() == [7, 7]
    assert found.columns["stock"].tolist() == [5, 12]  # when the week opens


def test_a_year_and_a_month_become_one_date(tmp_path: Path) -> None:
    table = pd.DataFrame(
        [(2024 + month // 12, month % 12 + 1, item, 2.0, month + 1) for item in "ab" for month in range(24)],
        columns=["Year", "Month", "Item", "Price", "Quantity sold"],
    )
    table.to_csv(tmp_path / "months.csv", index=False)
    proposed = propose(tmp_path / "months.csv")
    assert proposed.problem.columns.series == "Item"
    assert any("`lostsales aggregate TABLE --by month`" in each for each in proposed.left)
    run("aggregate", tmp_path / "months.csv", "--by", "month")
    written = tmp_path / "months-by-month.csv"
    log = read_log(written, propose(written).problem)
    assert len(log) == 48
    assert log.notes.holes == 0
    np.testing.assert_array_equal(np.sort(log.sales), np.sort(table["Quantity sold"]))


@pytest.mark.parametrize(
    ("columns", "by", "reason"),
    [
        ({"item": [*"aab"], "qty": [1, 2, 3]}, "day", "no column is a date"),
        ({"day": ["2026-03-02"] * 3, "item": [*"aab"], "colour": [*"xyz"]}, "day", "looks like units sold"),
        ({"day": ["2026-03-03", "2026-03-04", "2026-03-05"], "item": "a", "qty": 1}, "week", "one whole week"),
    ],
)
def test_tables_that_cannot_be_summed(columns: dict[str, object], by: str, reason: str) -> None:
    with pytest.raises(LostSalesError, match=reason):
        aggregate(pd.DataFrame(columns), by)
