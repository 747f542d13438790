"""Rows that cannot be used, and records that contradict each other."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from lostsales.data.describe import describe
from lostsales.data.feature import Feature
from lostsales.data.problem import Problem
from lostsales.data.proposal.propose import propose
from lostsales.data.reading.gate import read_log
from lostsales.data.writing import write_log
from lostsales.demand.audit.audit import audit
from lostsales.demand.forecast import forecast
from lostsales.errors import LogError, LostSalesError
from tests.tables import assert_equal_logs, columns, frame, log_of, write_csv

BAD = columns(
    series=["a", "a", "a", "b", "b", "c", "b", None],
    period=[1, 2, 3, 1, 2, 1, 2, 1],
    stock=["5", "4", "2", "3", "4", "x", "4", "1"],
    price=[2.0, 4.0, 2.0, 4.0, 4.0, 4.0, 4.0, 4.0],
    order=[0.0, 0.0, 1.0, 4.0, 0.0, 1.0, 0.0, 1.0],
    sales=[1.0, 2.0, 2.0, 3.0, 1.0, 9.0, 1.0, 1.0],
)


def test_good_rows_remain_and_bad_ones_are_written_with_every_reason(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "log.csv", BAD)
    log = read_log(path, drop_bad_rows=True)
    assert log.notes.rows_dropped == 3
    assert log.notes.dropped_file == str(tmp_path / "log.dropped.csv")
    assert log.names.tolist() == ["a", "b"]
    assert log.sales.tolist() == log_of().sales.tolist()
    dropped = pd.read_csv(tmp_path / "log.dropped.csv", dtype=str, keep_default_na=False)
    assert dropped["dropped_row"].tolist() == ["row 5", "row 6", "row 7"]
    assert dropped["reason"].tolist() == [
        "stock must be a number",
        "a series must have one row per period",
        "series must be present",
    ]
    assert dropped["stock"].tolist() == ["x", "4", "1"]
    assert dropped["series"].tolist() == ["c", "b", ""]


def test_the_same_rows_are_dropped_from_a_frame_and_written_only_where_told(tmp_path: Path) -> None:
    log = read_log(pd.DataFrame(BAD), drop_bad_rows=True)
    assert (log.notes.rows_dropped, log.notes.dropped_file) == (3, "")
    assert list(tmp_path.iterdir()) == []
    again = read_log(pd.DataFrame(BAD), drop_bad_rows=tmp_path / "bad.csv")
    assert (tmp_path / "bad.csv").read_text().splitlines()[1] == "row 5,stock must be a number,c,1,x,4,1,9"
    assert again.sales.tolist() == log.sales.tolist()


def test_a_table_without_bad_rows_is_read_as_ever_and_nothing_is_written(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "log.csv", columns())
    assert_equal_logs(read_log(path, drop_bad_rows=True), read_log(path))
    assert [each.name for each in tmp_path.iterdir()] == ["log.csv"]


def test_an_attribute_is_compared_with_the_first_row_that_remains() -> None:
    """The first row is bad by itself, so that the others, which agree, stay."""
    source = frame(store=["wrong", "x", "x", "y", "y"], sales=[-1.0, 2.0, 2.0, 3.0, 1.0])
    log = read_log(source, Problem(attributes=("store",)), drop_bad_rows=True)
    assert log.notes.rows_dropped == 1
    assert log.attributes["store"].tolist() == ["x", "y"]


def test_levels_of_dropped_rows_are_no_levels() -> None:
    source = frame(color=["odd", "red", "red", "blue", "red"], sales=[-1.0, 2.0, 2.0, 3.0, 1.0])
    log = read_log(source, Problem(features=(Feature(name="color", kind="categorical"),)), drop_bad_rows=True)
    assert log.problem.features[0].levels == ("blue", "red")


def test_a_row_that_is_left_out_leaves_a_hole() -> None:
    log = read_log(frame(sales=[1.0, -1.0, 2.0, 3.0, 1.0]), drop_bad_rows=True)
    assert (log.notes.rows_dropped, log.notes.holes) == (1, 1)
    assert log.names.tolist() == ["a", "a", "b"]


def test_one_bad_period_among_whole_numbers_or_dates_costs_one_row() -> None:
    assert read_log(frame(period=["1", "2", "x", "1", "2"]), drop_bad_rows=True).period.tolist() == [1, 2, 1, 2]
    days = ["2026-03-01", "2026-03-02", "7", "2026-03-01", "2026-03-02"]
    log = read_log(frame(period=days), drop_bad_rows=True)
    assert log.period[:2].tolist() == np.array(days[:2], dtype="datetime64[us]").tolist()


def test_what_is_wrong_with_the_whole_table_stays_an_error() -> None:
    with pytest.raises(LogError, match="missing column 'sales'"):
        read_log(frame(sales=None, price=[-1.0] * 5), drop_bad_rows=True)
    with pytest.raises(LogError, match="sales must not be negative"):
        read_log(frame(sales=[-1.0] * 5), drop_bad_rows=True)


def test_a_refusal_says_how_many_rows_are_bad_and_how_to_leave_them_out() -> None:
    with pytest.raises(LogError) as caught:
        read_log(frame(sales=[-1.0, 2.0, 9.0, 3.0, 1.0], price=[-1.0, 2.0, 2.0, 2.0, 2.0]))
    assert str(caught.value).splitlines()[-1] == (
        "2 of 5 rows: repair them, or leave them out with --drop-bad-rows (drop_bad_rows=True)"
    )
    for source in (frame(sales=None), frame(sales=[-1.0] * 5)):
        with pytest.raises(LogError) as caught:
            read_log(source)
        assert "drop" not in str(caught.value)


def test_dropped_rows_never_overwrite_what_is_read(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "log.csv", BAD)
    (tmp_path / "log.toml").write_text("")
    (tmp_path / "other.toml").write_text("")
    before = path.read_bytes()
    for target in (path, tmp_path / "log.toml"):
        with pytest.raises(LostSalesError, match="would overwrite the input"):
            read_log(path, drop_bad_rows=target)
    with pytest.raises(LostSalesError, match="would overwrite the input"):
        read_log(path, tmp_path / "other.toml", drop_bad_rows=str(tmp_path / "other.toml"))
    (tmp_path / "link.csv").symlink_to(path)
    with pytest.raises(LostSalesError, match="link"):
        read_log(path, drop_bad_rows=tmp_path / "link.csv")
    for target, reason in ((tmp_path, "is a folder"), (tmp_path / "no" / "bad.csv", "there is no folder")):
        with pytest.raises(LostSalesError, match=reason):
            read_log(path, drop_bad_rows=target)
    assert path.read_bytes() == before


def test_columns_named_as_ours_are_kept_apart(tmp_path: Path) -> None:
    source = write_csv(tmp_path / "log.csv", columns(reason=list("vwxyz"), sales=[-1.0, 2.0, 2.0, 3.0, 1.0]))
    read_log(source, drop_bad_rows=True)
    dropped = pd.read_csv(tmp_path / "log.dropped.csv")
    assert dropped["reason"].tolist() == ["v"]
    assert dropped["reason_"].tolist() == ["sales must not be negative"]


def ledger(rows: int = 200, **columns: Any) -> pd.DataFrame:
    """A shop that fills up to 8 every evening and sells out on about a third of the days."""
    rng = np.random.default_rng(2)
    demand = rng.poisson(7, rows)
    sales = np.minimum(demand, 8)
    days = pd.date_range("2025-01-01", periods=rows)
    table = {"series": "milk", "period": days, "stock": 8, "price": rng.choice([2.0, 3.0], rows), "order": sales}
    return pd.DataFrame(table | {"sales": sales, "demand": demand} | columns)


def warnings_of(table: pd.DataFrame, problem: Problem | None = None) -> list[str]:
    return [text for name, text in describe(read_log(table, problem)).as_lines() if name == "WARNING"]


@pytest.mark.parametrize(
    ("columns", "keys"),
    [
        ({"stockout": False}, {}),
        ({"days_out": 0}, {"columns": {"out_of_stock": "days_out"}}),
        ({"in_stock": 1}, {"columns": {"in_stock": "in_stock"}}),
    ],
)
def test_a_record_that_is_never_set_does_not_switch_censoring_off(columns: Any, keys: Any, tmp_path: Path) -> None:
    table, problem = ledger(**columns), Problem(arrival="after", **keys)
    log = read_log(table, problem)
    sold_out = table["sales"] == 8
    assert sold_out.mean() > 0.3
    assert log.censored.tolist() == sold_out.tolist()
    assert f"{sold_out.sum()} rows sold out" in warnings_of(table, problem)[0]
    assert audit(log).as_json()["notes"]["warnings"] == log.notes.warnings != ()
    few = read_log(table.tail(3).assign(sales=8, order=8), log.problem)  # recent rows are read as the log was
    assert few.censored.all()
    write_log(log, tmp_path / "log.csv")
    assert np.array_equal(read_log(tmp_path / "log.csv").censored, log.censored)


def test_a_record_is_believed_where_it_is_set_or_the_problem_says_so() -> None:
    table = ledger()
    table["stockout"] = table["demand"] > table["sales"]
    log = read_log(table, Problem(arrival="after"))
    assert log.censored.tolist() == table["stockout"].tolist()
    lines = dict(describe(log).as_lines())
    assert lines["sold out, not recorded"].startswith(str((table["demand"] == 8).sum()))
    never = table.assign(stockout=False)
    believed = read_log(never, Problem(arrival="after", stockouts_by="record"))
    assert not believed.censored.any()
    assert not believed.notes.warnings


def test_init_names_a_flag_that_is_never_set() -> None:
    for flag in (False, "no", 0):
        found = propose(ledger(stockout=flag).drop(columns=["demand"]))
        assert found.columns["stockout"] == "stockout"
        assert "no stockout" not in found.text
        assert found.is_readable


def vending(share: float, days: int = 300, machines: int = 8) -> pd.DataFrame:
    demand = np.random.default_rng(3).poisson(share, (machines, days))
    names = np.repeat([f"m{each}" for each in range(machines)], days)
    dates = np.tile(pd.date_range("2025-01-01", periods=days), machines)
    return pd.DataFrame({"unique_id": names, "ds": dates, "y": demand.reshape(-1)})


@pytest.mark.parametrize("share", [0.2, 0.7, 1.5])
def test_a_table_of_transactions_is_told_that_its_zeros_are_missing(share: float) -> None:
    table = vending(share)
    sold = table[table["y"] > 0]
    log = read_log(sold, sales_only=True)
    assert log.notes.missing_share == pytest.approx(1 - len(sold) / len(table), abs=0.1)
    (warning,) = forecast(log, horizon=1).how.warnings
    assert "rows of zero sales seem to be missing" in warning
    assert warning in [text for name, text in describe(log).as_lines() if name == "WARNING"]


@pytest.mark.parametrize(
    "table",
    [
        vending(0.7),  # with its zeros
        vending(9)[lambda each: each["ds"].dt.day_of_week != 6],  # closed on Sundays
        vending(9)[lambda each: (each["ds"].dt.month != 3) | (each["unique_id"] != "m1")],  # a pause
    ],
)
def test_zeros_that_are_there_closed_days_and_pauses_raise_no_warning(table: pd.DataFrame) -> None:
    assert not read_log(table, sales_only=True).notes.record_warnings
    assert not forecast(read_log(table, sales_only=True), horizon=1).how.warnings
