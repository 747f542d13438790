"""The part of a large log that policies are judged from."""

import numpy as np
import pytest

from lostsales.data.log import SalesLog
from lostsales.data.sublogs import evaluated_part
from lostsales.errors import SettingError
from tests.learn.small import small_log


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
