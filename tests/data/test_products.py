"""Products of a log, when series are products, and the length of their periods."""

import numpy as np
import pandas as pd
import pytest

from lostsales.data.assortment import is_assortment, periods_a_week
from lostsales.data.log import SalesLog
from lostsales.data.problem import Problem
from lostsales.data.reading.gate import read_log
from tests.learn.small import small_log


def log_of(
    names: str, periods: "pd.Index[int] | pd.DatetimeIndex", sales: tuple[float, ...], price: float = 2
) -> SalesLog:
    """The same periods for every name, each with sales of its own."""
    parts = [
        pd.DataFrame({"series": name, "period": periods, "stock": 99.0, "order": sold, "sales": sold, "price": price})
        for name, sold in zip(names, sales, strict=True)
    ]
    return read_log(pd.concat(parts), Problem(arrival="before", costs={"lost": 1, "order": 1, "holding": 0}))


def test_parts_of_a_series_that_a_hole_splits_are_one_product() -> None:
    log = log_of("ba", pd.Index([1, 2, 3, 9, 10, 11]), (4, 1))
    products = log.products
    assert len(log.names) == 4
    assert products.names.tolist() == ["b", "a"]
    np.testing.assert_array_equal(products.counts(), [6, 6])
    np.testing.assert_array_equal(products.means(log.sales), [4, 1])


def test_products_without_a_kept_row_have_the_mean_of_all() -> None:
    log = log_of("ab", pd.Index(range(4)), (4, 1))
    kept = np.r_[True, np.zeros(7, dtype=bool)]
    values = np.arange(8.0)
    np.testing.assert_array_equal(log.products.means(values, kept), [0.0, 5.5])


def test_episodes_of_a_simulated_shop_are_no_products() -> None:
    assert not is_assortment(small_log("released", 12))
    assert not is_assortment(log_of("ab", pd.Index(range(9)), (4, 4)))
    assert not is_assortment(log_of("a", pd.date_range("2026-01-01", periods=9), (4,)))


def test_series_with_dates_or_of_another_size_or_price_are_products() -> None:
    assert is_assortment(log_of("ab", pd.date_range("2026-01-01", periods=9), (4, 4)))
    assert is_assortment(log_of("ab", pd.Index(range(9)), (4, 40)))
    cheap, dear = log_of("ab", pd.Index(range(9)), (4, 4)), log_of("ab", pd.Index(range(9)), (4, 4))
    price = np.where(dear.series == 1, 8.0, 2.0)
    assert not is_assortment(cheap)
    table = {"series": dear.names[dear.series], "period": dear.period, "price": price}
    table |= {name: getattr(dear, name) for name in ("stock", "order", "sales")}
    assert is_assortment(read_log(pd.DataFrame(table), dear.problem))


@pytest.mark.parametrize(("frequency", "wanted"), [("D", 7.0), ("W", 1.0), ("2D", 3.5)])
def test_periods_of_a_week_follow_the_dates(frequency: str, wanted: float) -> None:
    log = log_of("ab", pd.date_range("2026-01-01", periods=30, freq=frequency), (4, 8))
    weekly = periods_a_week(log)
    assert weekly is not None
    np.testing.assert_allclose(weekly, wanted)


def test_plain_numbers_have_no_week() -> None:
    log = log_of("ab", pd.Index(range(9)), (4, 40))
    assert periods_a_week(log) is None
