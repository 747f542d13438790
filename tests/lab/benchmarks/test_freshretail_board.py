"""Recovery of masked demand on made-up days: cuts by hand, ours against hidden truth, and files that cannot be used."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lostsales.errors import LostSalesError
from lostsales.lab.benchmarks.board import run_board
from lostsales.lab.benchmarks.boards import open_board
from lostsales.lab.benchmarks.freshretail import (
    ALL_DAYS,
    CutDays,
    CutRun,
    FreshRetail,
    cut_at_hours,
    cut_at_supplies,
    log_of,
    read_days,
    scaled,
)
from tests.lab.benchmarks.made_up import freshretail_file


def test_a_cut_leaves_what_was_sold_before_its_hour(tmp_path: Path) -> None:
    days = read_days(freshretail_file(tmp_path / "train.parquet"))
    rows = np.flatnonzero(days.clean)[:40]
    cut = cut_at_hours(days, rows, np.random.default_rng(0))
    for row, sold, hour in zip(cut.rows, cut.sales, cut.hour, strict=True):
        assert sold == days.hourly[row, :hour].sum()
    assert set(cut.hour) <= set(days.sold_out[~days.clean].argmax(axis=1))
    short = cut_at_supplies(days, rows, np.random.default_rng(0))
    assert 0 < len(short.rows) < len(rows)
    assert (short.sales < days.sales[short.rows]).all()
    closed = ~days.clean
    for row, supply in zip(short.rows, short.sales, strict=True):
        assert supply in days.sales[closed & (days.series == days.series[row])]


def test_scalings_by_hand(tmp_path: Path) -> None:
    days = read_days(freshretail_file(tmp_path / "train.parquet"))
    row = np.flatnonzero(days.clean)[:2]
    found = scaled(days, CutDays(row, np.array([3.0, 0.0]), np.array([14, 6])))
    same = days.clean & (days.series == days.series[row[0]])
    same[row] = False
    assert found["scaled by open hours"].tolist() == pytest.approx([6.0, days.sales[same].mean()])


def test_a_log_of_cut_days_has_them_censored_and_the_others_as_they_were(tmp_path: Path) -> None:
    days = read_days(freshretail_file(tmp_path / "train.parquet"))
    row = np.flatnonzero(days.clean)[:1]
    log = log_of(days, CutDays(row, np.array([1.0]), np.array([12])), np.ones(len(days.sales), dtype=bool))
    expected = days.sales.copy()
    expected[row] = 1.0
    np.testing.assert_array_equal(log.sales, expected)
    is_hidden = ~days.clean
    is_hidden[row] = True
    np.testing.assert_array_equal(log.censored, is_hidden)


def test_ours_is_nearer_to_the_hidden_demand_than_the_simple_ways(tmp_path: Path) -> None:
    """Demand is the same in law on all days, so that days of real stock-outs do not mislead."""
    days = read_days(freshretail_file(tmp_path / "train.parquet", series=20))
    found = {key: float(np.asarray(value)) for key, value in CutRun(days, "hours", 0).run().items()}
    assert abs(found[f"bias: {ALL_DAYS}"]) < 6
    assert found["bias: sales read as demand"] < -25
    simple = [value for key, value in found.items() if key.startswith("error: s")]
    assert len(simple) == 3
    assert found[f"error: {ALL_DAYS}"] < min(simple)


def test_the_board_runs_and_the_sample_s_names_are_read_as_the_published_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lostsales.lab.benchmarks.freshretail.DRAWS", 2)
    path = freshretail_file(tmp_path / "train.parquet", series=4, days=40)
    board = open_board("freshretail", tmp_path)
    rows = run_board(board, tmp_path / "out")
    assert len(rows) == 2 * 2 * 2 * 3  # cuts, figures, ours, simple ways
    assert len(list((tmp_path / "out").glob("freshretail-*.json"))) == len(board.parts) == 4
    renamed = {"sale_amount": "sales", "discount": "price_ratio", "activity_flag": "promo"}
    renamed |= {"stock_hour6_22_cnt": "oos_hours_6_22", "hours_stock_status": "hours_oos"}
    pd.read_parquet(path).rename(columns=renamed).to_parquet(tmp_path / "sample.parquet")
    sample = FreshRetail.read(tmp_path / "sample.parquet")
    assert [part.fingerprint for part in sample.parts] == [part.fingerprint for part in board.parts]


def test_what_cannot_be_used_is_said(tmp_path: Path) -> None:
    path = freshretail_file(tmp_path / "train.parquet", series=2, days=10)
    table = pd.read_parquet(path)
    wrong = {
        "it has no column discount, hours_sale": table.drop(columns=["discount", "hours_sale"]),
        "hours_sale must be a list of 24 numbers": table.assign(
            hours_sale=table["hours_sale"].map(lambda day: day[:2])
        ),
        "must be numbers of at least 0": table.assign(sale_amount=-1.0),
        "must have days with a stock-out": table.assign(
            hours_stock_status=table["hours_stock_status"].map(lambda day: 0 * day)
        ),
    }
    for message, changed in wrong.items():
        changed.to_parquet(path)
        with pytest.raises(LostSalesError, match=message):
            open_board("freshretail", path)
