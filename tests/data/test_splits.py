"""Rows that are held out and resampled together (trap 10)."""

import numpy as np
import pytest

from lostsales.data.splits import FEW_SERIES, cross_fit_folds, folds_of, hold_out, resample_counts, units_of
from tests.demand.logs import log_of_flags
from tests.learn.small import small_log


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


def test_train_and_test_masks_follow_the_holdout() -> None:
    log = log_of_flags("5" * 50, "5" * 50)
    rows = np.arange(40, 90)
    holdout = hold_out(log, gap=3)
    folds = folds_of(holdout, rows)
    np.testing.assert_array_equal(np.sum([test for test, _ in folds], axis=0), 1)
    for test, train in folds:
        row = rows[test][0]
        used = (holdout.clock < holdout.lower[row]) | (holdout.clock >= holdout.upper[row])
        np.testing.assert_array_equal(train, used[rows])


def test_one_threshold_decides_between_series_and_blocks_in_time() -> None:
    for series, by in ((FEW_SERIES - 1, "blocks in time"), (FEW_SERIES, "series")):
        log = log_of_flags(*["5" * 20] * series)
        assert hold_out(log, gap=1).by == by
        assert cross_fit_folds(log, seed=0, gap=1)[1] == by
        assert units_of(log, 50).by == by


def test_cross_fitting_holds_out_every_series_once() -> None:
    log = small_log("steady", 11)
    folds, by = cross_fit_folds(log, 3, gap=2)
    assert by == "series"
    assert sorted(name for fold in folds for name in fold.names) == sorted(log.names)
    np.testing.assert_array_equal(np.sum([fold.held_out for fold in folds], axis=0), 1)
    for fold in folds:
        assert set(log.names[log.series[fold.held_out]]) == set(fold.names)


@pytest.mark.parametrize("series", [2, 9])
def test_cross_fitting_of_few_series_holds_out_blocks_in_time_with_gaps(series: int) -> None:
    folds, by = cross_fit_folds(small_log("steady", series), 0, gap=4)
    assert by == "blocks in time"
    assert all(not fold.names for fold in folds)
    held_out = np.array([fold.held_out.reshape(series, 50)[-1] for fold in folds])
    assert held_out.any(axis=0).all()
    assert [int(each.sum()) for each in held_out] == [10 + 4] + [10 + 2 * 4] * 3 + [10 + 4]


def test_resampling_units_are_series_groups_of_series_or_blocks_in_time() -> None:
    assert units_of(small_log("steady", 12), 50).by == "series"
    many = units_of(small_log("steady", 12), 5)
    assert (many.by, len(many)) == ("groups of series", 5)
    few = units_of(small_log("steady", 2), 50)
    assert (few.by, len(few)) == ("blocks in time", 10)
    values = np.arange(100.0)
    assert few.mean(values).mean() == pytest.approx(values.mean())
