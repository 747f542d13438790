"""The product table and the relative log, by hand."""

from dataclasses import replace

import numpy as np
import pandas as pd

from lostsales.data.candidate_grid import CandidateGrid
from lostsales.data.log import DecisionLog
from lostsales.data.problem import Problem
from lostsales.data.product_table import ProductTable
from lostsales.data.reading.gate import read_log
from lostsales.data.relative import Counts, relative_log
from lostsales.policy.rules import Rules
from tests.demand.logs import COSTS, log_of_draws


def shop(gap: bool = False) -> DecisionLog:
    """Tea at 4 sells 1 or 3 a period, rice at 40 sells 60 or 180; rice comes in sixties."""
    rows = []
    for name, size, price in (("tea", 1.0, 4.0), ("rice", 60.0, 40.0)):
        for period in range(120):
            sales = size * (1 if period % 2 else 3)
            if not (gap and name == "tea" and 50 <= period < 60):
                rows.append((name, period, 10 * size, price * (1 if period % 3 else 1.25), 3 * size, sales))
    columns = ["series", "period", "stock", "price", "order", "sales"]
    return read_log(pd.DataFrame(rows, columns=columns), Problem(costs=COSTS)).decisions("fit")


def test_a_gap_in_the_periods_makes_no_new_product() -> None:
    whole, split = (ProductTable.of(shop(gap)) for gap in (False, True))
    assert len(shop(gap=True).names) > len(split) == 2
    assert split.names.tolist() == whole.names.tolist()
    np.testing.assert_array_equal(split.price, whole.price)
    np.testing.assert_array_equal(split.case_size, whole.case_size)
    asked = np.array(["rice", "salt", "tea"], dtype=object)
    at = split.attributes.places(asked, 3)
    assert at[1] == -1
    assert split.names[at[[0, 2]]].tolist() == ["rice", "tea"]
    assert split.attributes.places(None, 2).tolist() == [-1, -1]


def test_quantities_are_counted_in_the_unit_of_each_product() -> None:
    counts = Counts.of(shop())
    by_name = dict(zip(counts.log.products.names, counts.units, strict=True))
    assert by_name == {"tea": 1.0, "rice": 60.0}
    assert set(counts.log.sales) == {1.0, 3.0}
    table = counts.in_shop_units(ProductTable.of(counts.log))
    by_name = dict(zip(table.names.tolist(), table.case_size.tolist(), strict=True))
    assert by_name == {"tea": 3.0, "rice": 180.0}
    # A capacity is one of the whole shop, so that all products have its unit.
    limited = Counts.of(
        log_of_draws(np.full((2, 120), 6.0), np.full((2, 120), 60.0), Problem(capacity=600, costs=COSTS)).decisions(
            "fit"
        )
    )
    assert (limited.units == limited.shop_unit).all()


def test_relative_rows_are_divided_by_scale_and_usual_price() -> None:
    log = shop()
    table = ProductTable.of(log)
    relative = relative_log(log, table, CandidateGrid.of(log), Rules())
    scale, usual = table.scale[log.products.of_row], table.usual_price[log.products.of_row]
    assert scale.max() / scale.min() > 50
    assert usual.max() / usual.min() == 10
    np.testing.assert_allclose(relative.sales * scale, log.sales)
    np.testing.assert_allclose(relative.order * scale, log.order)
    np.testing.assert_allclose(relative.price * usual, log.price)
    np.testing.assert_allclose(relative.costs.order * usual, 3.0)
    np.testing.assert_allclose(relative.cash * scale * usual, log.cash)  # profit is relative in both


def test_a_product_that_was_never_ordered_comes_in_the_cases_of_the_others() -> None:
    log = shop()
    never = replace(log, order=np.where(log.names[log.series] == "rice", 0.0, log.order)).decisions("fit")
    table = ProductTable.of(Counts.of(never).log)
    assert dict(zip(table.names.tolist(), table.case_size.tolist(), strict=True)) == {"tea": 3.0, "rice": 3.0}
