"""`lostsales forecast`: what it prints and writes, and how it ends."""

from pathlib import Path

import duckdb
import pandas as pd
import pytest

from lostsales.demand.forecast import forecast
from tests.apps.running import run, run_json


@pytest.fixture
def log_path(tmp_path: Path) -> Path:
    path = tmp_path / "weeks.csv"
    weeks = pd.date_range("2025-01-06", periods=20, freq="7D").strftime("%Y-%m-%d")
    pd.DataFrame({"unique_id": ["a"] * 20 + ["b"] * 20, "ds": [*weeks, *weeks], "y": [3, 5] * 20}).to_csv(
        path, index=False
    )
    return path


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_forecast_writes_a_long_table(log_path: Path, tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"forecast.{ending}"
    told = run_json("forecast", log_path, "--horizon", 2, "--levels", "10,83.3", "--out", out)
    table = duckdb.execute(f"FROM '{out}'").df()
    assert list(table) == ["unique_id", "ds", "mean", "q10", "q83.3"]
    assert table["unique_id"].tolist() == ["a", "a", "b", "b"]
    assert table["ds"].astype(str).tolist() == ["2025-05-26", "2025-06-02"] * 2
    expected = forecast(log_path, horizon=2, levels=(10, 83.3))
    assert table["mean"].tolist() == pytest.approx(expected.mean.tolist())
    assert table["q83.3"].tolist() == expected.quantiles[83.3].tolist()
    assert told["how"]["series"] == 2
    assert told["forecast"][0]["ds"] == "2025-05-26"
    assert [row["q10"] for row in told["forecast"]] == table["q10"].tolist()


def test_forecast_tells_a_person(log_path: Path, tmp_path: Path) -> None:
    told = run("forecast", log_path, "--horizon", 3, "--out", tmp_path / "out.csv")
    for said in ("2 series over 20 periods", "season", "q90", "2025-06-09", "written to"):
        assert said in told


def test_known_prices_and_changes_move_the_forecast(tmp_path: Path) -> None:
    days = pd.date_range("2025-01-06", periods=64).strftime("%Y-%m-%d")
    price = ([4.0] * 5 + [3.0] * 3) * 8
    sales = [10 if each == 4 else 18 for each in price]
    log, future, out = tmp_path / "days.csv", tmp_path / "future.csv", tmp_path / "out.csv"
    pd.DataFrame({"series": "a", "period": days[:62], "price": price[:62], "sales": sales[:62]}).to_csv(
        log, index=False
    )
    pd.DataFrame({"series": "a", "period": days[62:], "price": [3.0, 3.0]}).to_csv(future, index=False)
    asked = ("forecast", log, "--horizon", 2, "--out", out)
    usual, known = run_json(*asked), run_json(*asked, "--future", future)
    assert usual["how"]["coming"].startswith("usual prices")
    assert known["how"]["coming"].startswith("price as given")
    assert known["forecast"][0]["mean"] > 1.4 * usual["forecast"][0]["mean"]
    assert run_json(*asked, "--set", "price=-25%")["forecast"] == known["forecast"]
    assert "coming periods" in run(*asked)
