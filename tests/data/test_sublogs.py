"""Sub-logs: some series, or all but some rows."""

import numpy as np
import pandas as pd

from lostsales.data.encoding import costs_as_features
from lostsales.data.log import SalesLog
from lostsales.data.problem import Costs, Problem
from lostsales.data.reading.gate import read_log
from lostsales.data.sublogs import series_of, without
from tests.learn.small import small_log
from tests.tables import frame


def test_some_series_and_all_but_some_rows() -> None:
    log = small_log("steady", 6)
    some = series_of(log, np.array([4, 1]))
    np.testing.assert_array_equal(some.names, log.names[[4, 1]])
    np.testing.assert_array_equal(some.sales, np.r_[log.sales[log.series == 4], log.sales[log.series == 1]])
    hole = np.zeros(len(log), dtype=bool)
    hole[[60, 61]] = True
    rest = without(log, hole)
    assert len(rest) == len(log) - 2
    assert len(rest.names) == 7
    assert rest.last_sales[2] == log.sales[61]
    assert rest.last_stockout[2] == log.censored[61]


def with_costs() -> SalesLog:
    """Five rows whose lost-sale cost is a column."""
    table = pd.concat([frame(), pd.DataFrame({"penalty": [1.0, 2.0, 3.0, 4.0, 5.0]})], axis=1)
    return read_log(table, Problem(costs=Costs(lost="penalty", order=3, holding=1)))


def test_unit_costs_follow_their_rows() -> None:
    log = with_costs()
    assert log.costs is not None
    some = series_of(log, np.array([1])).costs
    assert some is not None
    np.testing.assert_array_equal(some.lost, [4, 5])
    assert (some.order, some.holding) == (3, 1)
    mean = log.costs.mean()
    assert (mean.lost, mean.order, mean.holding) == (3, 3, 1)


def test_costs_that_vary_by_row_become_features() -> None:
    log = costs_as_features(with_costs())
    assert [feature.name for feature in log.problem.features] == ["penalty"]
    np.testing.assert_array_equal(log.features, [[1], [2], [3], [4], [5]])
    constant = read_log(frame(), Problem(costs=Costs(lost=2, order=3, holding=1)))
    assert costs_as_features(constant) is constant
