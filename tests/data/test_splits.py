"""What is held out and resampled together (trap 10)."""

import numpy as np

from lostsales.data.splits import hold_out, resample_counts
from tests.demand.logs import log_of_flags


def test_whole_series_are_held_out() -> None:
    log = log_of_flags(*["567"] * 11)
    holdout = hold_out(log, gap=2)
    assert holdout.by == "series"
    assert holdout.units == 11
    np.testing.assert_array_equal(holdout.unit, log.series)
    for row in range(len(log)):
        out = (holdout.clock >= holdout.lower[row]) & (holdout.clock < holdout.upper[row])
        assert out[log.series == log.series[row]].all()
        assert out.sum() in (6, 9)  # a fifth of eleven series


def test_below_ten_series_blocks_in_time_are_held_out_with_a_gap() -> None:
    log = log_of_flags("5" * 50, "5" * 50)
    holdout = hold_out(log, gap=3)
    assert holdout.by == "blocks in time"
    assert holdout.units == 2 * 5
    row = 73  # period 23 of the second series: the block is 20 to 29
    out = (holdout.clock >= holdout.lower[row]) & (holdout.clock < holdout.upper[row])
    np.testing.assert_array_equal(np.flatnonzero(out), np.r_[17:33, 67:83])
    np.testing.assert_array_equal(np.bincount(holdout.unit), np.full(10, 10))


def test_every_resample_draws_as_many_units_as_there_are() -> None:
    counts = resample_counts(7, 20, seed=1)
    assert counts.shape == (20, 7)
    np.testing.assert_array_equal(counts.sum(axis=1), np.full(20, 7))
    assert counts.std() > 0.5
    np.testing.assert_array_equal(counts, resample_counts(7, 20, seed=1))
    assert (counts != resample_counts(7, 20, seed=2)).any()
