"""Tables whose columns contradict each other, or that leave rows out."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from lostsales.data.describe import describe
from lostsales.data.problem import Problem
from lostsales.data.proposal.propose import propose
from lostsales.data.reading.gate import read_log
from lostsales.data.writing import write_log
from lostsales.demand.audit.audit import audit
from lostsales.demand.forecast import forecast


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
    assert not read_log(table, sales_only=True).notes.zeros_warning
    assert not forecast(read_log(table, sales_only=True), horizon=1).how.warnings
