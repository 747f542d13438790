"""Sub-logs: which rows and series stay, and the part of a large log that is evaluated."""

from datetime import date

import numpy as np
import pandas as pd
import pytest

import lostsales
from lostsales.data.encoding import costs_as_features
from lostsales.data.log import SalesLog
from lostsales.data.problem import Costs, Problem
from lostsales.data.reading.gate import read_log
from lostsales.data.sublogs import evaluated_part, series_of, without
from lostsales.errors import LostSalesError, SettingError
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


def lengths(log: SalesLog) -> list[int]:
    return [int(each) for each in np.bincount(log.series)]


def test_a_small_log_is_judged_whole() -> None:
    log = small_log("steady")
    assert evaluated_part(log, len(log), 0) == (log, ())


def test_of_many_series_some_are_drawn_whole() -> None:
    log = small_log("steady", 60)
    part, notes = evaluated_part(log, 1_500, 3)
    assert lengths(part) == [50] * 30
    assert notes == ("evaluated on 30 of 60 series, drawn at random",)
    assert set(part.names) < set(log.names)
    again, _ = evaluated_part(log, 1_500, 3)
    np.testing.assert_array_equal(again.names, part.names)


def test_few_long_series_are_judged_from_their_last_periods() -> None:
    log = small_log("steady", 2, horizon=400)
    part, notes = evaluated_part(log, 200, 0)
    assert notes == ("evaluated on the last 100 periods of each series",)
    assert lengths(part) == [100, 100]
    np.testing.assert_array_equal(part.sales, log.sales.reshape(2, 400)[:, 300:].ravel())
    np.testing.assert_array_equal(part.last_sales, log.sales.reshape(2, 400)[:, 299])


def test_long_series_are_shortened_before_fewer_than_twenty_are_kept() -> None:
    log = small_log("steady", 30, horizon=100)
    part, notes = evaluated_part(log, 1_000, 0)
    assert lengths(part) == [50] * 20
    assert len(notes) == 2


@pytest.mark.parametrize("most", [100, 777, 2_000])
def test_no_more_rows_than_were_asked_for(most: int) -> None:
    part, _ = evaluated_part(small_log("steady", 60), most, 1)
    assert 0.8 * most <= len(part) <= most


def test_fewer_rows_than_series_are_refused() -> None:
    log = small_log("released", 12)
    with pytest.raises(SettingError, match="rows must be at least 12, one per series, but 5 came"):
        evaluated_part(log, 5, 0)


def test_a_log_between_two_dates_has_their_rows_and_knows_the_sales_before() -> None:
    whole = lostsales.load_example()
    part = lostsales.between(whole, "2026-03-01", date(2026, 3, 31))
    inside = (whole.period >= np.datetime64("2026-03-01")) & (whole.period <= np.datetime64("2026-03-31"))
    assert len(part) == inside.sum() == 12 * 31
    np.testing.assert_array_equal(part.sales, whole.sales[inside])
    np.testing.assert_array_equal(part.last_sales, whole.sales[whole.period == np.datetime64("2026-02-28")])
    assert len(lostsales.between(whole, last="2026-01-05")) == 12


@pytest.mark.parametrize(
    ("limits", "reason"),
    [(("2027-01-01",), "no row from 2027-01-01 to None"), ((7,), "limited by a date such as 2026-03-01, but 7 came")],
)
def test_limits_that_a_log_cannot_have(limits: tuple[object, ...], reason: str) -> None:
    with pytest.raises(LostSalesError, match=reason):
        lostsales.between(lostsales.load_example(), *limits)
