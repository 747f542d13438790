"""Tables of sales alone, and the column names of forecasting libraries."""

import pandas as pd
import pytest

from lostsales.data.problem import Problem
from lostsales.data.reading.gate import read_log
from lostsales.demand.survival.imputation import impute
from lostsales.errors import LogError

OURS = pd.DataFrame({"series": ["a"] * 3, "period": [1, 2, 3], "sales": [4.0, 2.0, 5.0]})
THEIRS = OURS.rename(columns={"series": "unique_id", "period": "ds", "sales": "y"})


def test_the_names_of_forecasting_libraries_are_understood() -> None:
    log = read_log(THEIRS)
    assert log.sales.tolist() == [4, 2, 5]
    assert log.problem.columns.series == "unique_id"
    assert log.price.tolist() == [1, 1, 1]
    assert not log.censored.any()
    assert log.demand_only


def test_a_flag_of_stock_outs_is_read_and_filled() -> None:
    table = pd.concat([THEIRS.assign(unique_id=f"s{i}", stockout=[False, True, False]) for i in range(20)])
    log = read_log(table)
    assert log.censored.sum() == 20
    assert (impute(log, replicates=0).expected_demand[log.censored] > 2).all()


def test_our_own_names_win_where_a_table_has_both() -> None:
    log = read_log(OURS.assign(y=0.0, stockout=False, price=2.0))
    assert log.sales.tolist() == [4, 2, 5]
    assert "y" in log.notes.unused_columns


def test_a_feature_may_be_called_y() -> None:
    log = read_log(OURS.assign(y=[1.0, 2.0, 3.0], stockout=False, price=2.0), Problem(features=("y",)))
    assert log.features[:, 0].tolist() == [1, 2, 3]


def test_sales_alone_are_read_only_where_that_is_asked_for() -> None:
    with pytest.raises(LogError, match="missing column 'price', 'stockout'"):
        read_log(OURS)
    log = read_log(OURS, sales_only=True)
    assert not log.censored.any()
    assert log.price.tolist() == [1, 1, 1]


def test_stock_without_orders_is_still_incomplete() -> None:
    with pytest.raises(LogError, match="missing column 'price', 'order'"):
        read_log(THEIRS.assign(stock=9.0))
