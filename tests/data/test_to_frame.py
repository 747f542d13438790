"""Results as frames: with keys, and in the order of the table that was read."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import lostsales
from tests.apps.shop_tables import shop
from tests.learn.small import small_log
from tests.tables import frame

ROLES = {"series": "Product", "period": "Date", "stock": "Stock", "price": "Price", "order": "Order", "sales": "Sales"}


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_a_log_comes_back_in_the_order_of_its_table(backend: str) -> None:
    table = frame().sample(frac=1.0, random_state=3).reset_index(drop=True)
    found = lostsales.read_log(table).to_frame(backend)  # type: ignore[arg-type]
    again = found if backend == "pandas" else found.to_pandas()
    pd.testing.assert_frame_equal(again[list(table)], table, check_dtype=False)


def test_imputed_demand_carries_its_keys_in_the_order_of_the_table() -> None:
    table = shop(56).drop(columns=["Store", "Left"]).sample(frac=1.0, random_state=1).reset_index(drop=True)
    log = lostsales.read_log(table, lostsales.Problem(columns=ROLES))
    found = lostsales.impute(log, replicates=0).to_frame()
    assert found["Product"].tolist() == table["Product"].tolist()
    assert found["Date"].tolist() == table["Date"].tolist()
    np.testing.assert_array_equal(found["sales"], table["Sales"])
    np.testing.assert_array_equal(found["censored"], table["Sales"] >= table["Stock"])


def test_the_situations_of_an_audit_are_rows() -> None:
    found = lostsales.audit(small_log("released", 6))
    rows = found.to_frame("polars")
    assert rows["what"].to_list() == [each.what for each in found.verdicts]


def test_days_with_a_time_zone_stay_that_day() -> None:
    days = pd.to_datetime(["2026-03-01", "2026-03-02", "2026-03-03", "2026-03-01", "2026-03-02"])
    for zone in ("Europe/Berlin", "America/New_York"):
        log = lostsales.read_log(frame(period=days.tz_localize(zone)))
        assert log.period[:3].astype("datetime64[D]").tolist() == days[:3].date.tolist()
    moments = days.tz_localize("Europe/Berlin") + pd.Timedelta(hours=9)
    log = lostsales.read_log(frame(period=moments))
    assert log.period[0] == np.datetime64("2026-03-01T08:00")


def test_a_policy_is_one_line_and_decides_for_the_next_day_of_a_lazy_frame() -> None:
    table = shop(84).drop(columns=["Store", "Left"])
    problem = lostsales.Problem(
        columns=ROLES, features=["Promotion"], costs={"lost": 0, "order": "Unit cost", "holding": 0.01}
    )
    log = lostsales.read_log(table, problem)
    policy = lostsales.fit(log)
    assert "\n" not in repr(policy)
    assert len(repr(policy)) < 200
    found = policy.recommend(pl.from_pandas(table).lazy())
    assert isinstance(found, pl.DataFrame)
    last = table[table["Date"] == table["Date"].max()].set_index("Product")
    left = last["Stock"] - last["Sales"] + last["Order"]
    days = [pd.Timestamp("2026-03-30")] * len(left)
    today = pl.DataFrame({"Product": list(left.index), "Date": days, "Stock": left.to_list(), "Promotion": 0})
    by_hand = policy.recommend(table, today.lazy())
    assert isinstance(by_hand, pl.DataFrame)
    chosen = ["Product", "Price", "Order"]
    assert found.select(chosen).sort("Product").equals(by_hand.select(chosen).sort("Product"))
