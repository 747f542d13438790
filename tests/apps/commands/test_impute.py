"""`lostsales impute`: what it prints and writes, and how it ends."""

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

from lostsales.data.reading.gate import read_log
from lostsales.data.writing import write_log
from lostsales.demand import filled_log as filled_module
from lostsales.demand.survival.imputation import impute_by_curves
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import simulate
from tests.apps.running import run, run_json

COLUMNS = ["expected_demand", "expected_lost", "profit_filled", "profit_filled_se", "identified", "tail"]


@pytest.fixture(scope="module")
def log_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("log") / "log.parquet"
    write_log(simulate(Scenario.load("paper"), episodes=24, seed=1)[0], path)
    return path


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_impute_writes_the_log_with_what_was_filled_in(log_path: Path, tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"filled.{ending}"
    facts = run_json("impute", log_path, "--out", out, "--replicates", 10)
    log = read_log(log_path)
    expected = impute_by_curves(log, replicates=10)
    assert expected.profit_filled is not None
    assert expected.profit_filled_se is not None
    table: dict[str, Any] = duckdb.execute(f"FROM '{out}'").fetchnumpy()
    assert list(table)[-6:] == COLUMNS
    assert list(table)[:2] == ["series", "period"]
    np.testing.assert_allclose(table["expected_demand"], expected.expected_demand)
    np.testing.assert_allclose(table["expected_lost"], expected.expected_lost)
    np.testing.assert_allclose(table["profit_filled"], expected.profit_filled)
    np.testing.assert_allclose(table["profit_filled_se"], expected.profit_filled_se)
    np.testing.assert_array_equal(table["identified"], expected.identified)
    tails = duckdb.execute(f"SELECT DISTINCT coalesce(tail, ''), identified FROM '{out}'").fetchall()
    assert sorted(tails) == [("", True), ("to_max", False)]
    hidden = log.censored
    assert facts["censored_rows"] == hidden.sum()
    assert facts["identified_rows"] == (hidden & expected.identified).sum()
    assert facts["mean_expected_lost"] == pytest.approx(expected.expected_lost[hidden].mean())
    assert facts["mean_profit_column"] == pytest.approx(facts["mean_cash"] - 2 * expected.expected_lost.mean())
    assert facts["resampled"] == "series"
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"filled.{ending}"]


def test_impute_tells_a_person(log_path: Path, tmp_path: Path) -> None:
    told = run("impute", log_path, "--out", tmp_path / "filled.parquet", "--replicates", 2, "--tail", "exponential")
    for said in (
        "censored demand",
        "identified by the data",
        "mean lost sales",
        "mean profit per period",
        "exponential",
    ):
        assert said in told


def test_a_log_without_stock_has_no_profit(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"series": 1, "period": range(60), "price": 1.0, "sales": [3, 2, 4] * 20, "stockout": [0, 1, 0] * 20}
    )
    path, out = tmp_path / "log.csv", tmp_path / "filled.csv"
    frame.to_csv(path, index=False)
    facts = run_json("impute", path, "--out", out)
    assert facts["mean_profit_filled"] is None
    assert facts["resampled"] == "blocks in time"
    written = pd.read_csv(out)
    assert written["profit_filled"].isna().all()
    assert (written["expected_demand"] >= written["sales"]).all()


def test_a_failed_write_leaves_what_was_there(log_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "filled.parquet"
    out.write_text("what was there before")
    log = read_log(log_path)
    monkeypatch.setattr(filled_module, "filled_columns", lambda *_: {"no table holds this": np.zeros(2, complex)})
    with pytest.raises(duckdb.Error):
        filled_module.write_filled(log, impute_by_curves(log, replicates=0), out)
    assert out.read_text() == "what was there before"
    assert [path.name for path in tmp_path.iterdir()] == ["filled.parquet"]
