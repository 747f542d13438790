"""The reader of FreshRetailNet-50K on a few days in its layout."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lostsales.data.reading.freshretail import SHORT_WEEKDAYS, read_freshretail
from lostsales.demand.audit.audit import audit
from lostsales.errors import LogError, LostSalesError


def published() -> pd.DataFrame:
    """Two series over three days; the second is sold out for some hours of its second day."""
    hours, sold, out = np.zeros(24), np.zeros(24), np.zeros(24)
    sold[[8, 18]] = 0.75, 0.25  # a quarter is usually sold in the hour from 18
    out[17:22] = 1
    return pd.DataFrame(
        {
            "city_id": 0,
            "store_id": [7, 7, 7, 7, 7, 7],
            "management_group_id": 1,
            "first_category_id": 2,
            "second_category_id": 3,
            "third_category_id": 4,
            "product_id": [38, 38, 38, 5, 5, 5],
            "dt": ["2024-03-28", "2024-03-29", "2024-03-30"] * 2,
            "sale_amount": np.array([0.1, 0.3, 0.2, 1.5, 0.7, 2.5], dtype=np.float32),
            "hours_sale": [sold] * 6,
            "stock_hour6_22_cnt": [0, 0, 0, 0, 5, 0],
            "hours_stock_status": [hours, hours, hours, hours, out, hours],
            "discount": np.array([1.0, 0.9, 1.0, 0.8, 1.0, 1.0], dtype=np.float32),
            "holiday_flag": [0, 0, 1, 0, 0, 1],
            "activity_flag": [0, 1, 0, 1, 0, 0],
            "precpt": 1.5,
            "avg_temperature": 15.0,
            "avg_humidity": 70.0,
            "avg_wind_level": 2.0,
        }
    )


RENAMED = {
    "discount": "price_ratio",
    "activity_flag": "promo",
    "sale_amount": "sales",
    "stock_hour6_22_cnt": "oos_hours_6_22",
    "hours_stock_status": "hours_oos",
}


@pytest.mark.parametrize("renamed", [False, True])
def test_the_published_layout_and_the_sample_of_it(tmp_path: Path, renamed: bool) -> None:
    path = tmp_path / "train.parquet"
    (published().rename(columns=RENAMED) if renamed else published()).to_parquet(path)
    log = read_freshretail(path)
    assert log.demand_only
    assert list(log.names) == ["7 / 38", "7 / 5"]
    np.testing.assert_array_equal(log.sales, [0.1, 0.3, 0.2, 1.5, 0.7, 2.5])  # not 0.10000000149
    np.testing.assert_array_equal(log.price, [1, 0.9, 1, 0.8, 1, 1])
    np.testing.assert_array_equal(log.censored, [False, False, False, False, True, False])
    np.testing.assert_allclose(log.is_share, [False, False, False, False, True, False])
    assert log.out_share is not None
    np.testing.assert_allclose(log.out_share, [0, 0, 0, 0, 0.25, 0])
    assert str(log.period[0]) == "2024-03-28T00:00:00.000000"
    names = [feature.name for feature in log.problem.features]
    assert names == ["promotion", "holiday", "rain", "temperature", "humidity", "wind", "weekday"]
    np.testing.assert_array_equal(log.features[:, 0], [0, 1, 0, 1, 0, 0])
    assert [SHORT_WEEKDAYS[int(day)] for day in log.features[:3, 6]] == ["Thu", "Fri", "Sat"]
    # The mean of the days without stock-out: (1.5 + 2.5) / 2 in the second series.
    np.testing.assert_allclose(log.attributes["usual_sales"].astype(float), [0.2, 2.0])
    assert "has no stock and no orders" in audit(log).conclusion


def test_a_series_that_was_always_sold_out_has_its_mean_sales(tmp_path: Path) -> None:
    frame = published().drop(columns="hours_sale").assign(stock_hour6_22_cnt=[0, 0, 0, 1, 1, 1])
    frame.to_parquet(tmp_path / "train.parquet")
    log = read_freshretail(tmp_path / "train.parquet")
    np.testing.assert_allclose(log.attributes["usual_sales"].astype(float)[1], (1.5 + 0.7 + 2.5) / 3, atol=1e-4)


def test_another_layout_is_refused_with_what_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "train.parquet"
    published().drop(columns=["discount", "dt"]).to_parquet(path)
    with pytest.raises(LostSalesError, match="it has no column dt, discount or price_ratio"):
        read_freshretail(path)
    published().assign(sale_amount=-1.0).to_parquet(path)
    with pytest.raises(LogError, match="sales must not be negative"):
        read_freshretail(path)
