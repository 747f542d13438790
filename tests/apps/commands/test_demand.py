"""`lostsales demand`: what it prints, on logs with and without stock, and how it warns."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lostsales.apps.console import screen
from lostsales.data.reading.gate import read_log
from lostsales.data.writing import write_log
from lostsales.demand.law.price_response import price_response
from lostsales.demand.law.selection import fit_law
from tests.apps.running import run, run_json
from tests.learn.small import small_log


@pytest.fixture(scope="module")
def log_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("log") / "log.parquet"
    write_log(small_log("paper", 12), path)
    return path


def test_demand_prints_json(log_path: Path) -> None:
    found = run_json("demand", log_path, "--replicates", 4, "--seed", 1)
    log = read_log(log_path)
    model = fit_law(log, seed=1)
    told = price_response(log, model, draws=4, seed=1)
    assert found["family"] == model.family.name == "linear mean, additive noise"
    assert [each["demand"] for each in found["price_response"]] == pytest.approx(told.demand.tolist())
    assert [each["price"] for each in found["price_response"]] == [4, 4.25, 4.5]
    assert sum(each["rows"] for each in found["price_response"]) == 600
    assert all(each["low"] < each["demand"] < each["high"] for each in found["price_response"])
    assert all(each["sales"] < each["demand"] for each in found["price_response"])
    assert [each["name"] for each in found["slopes"]] == ["economy", "interest", "price", "last demand"]
    assert min(each["behind"] for each in found["candidates"]) == 0
    assert sum(found["calibration"]["shares"]) == pytest.approx(1)
    assert found["calibration"]["fits"]
    assert found["elasticity"] < 0 < found["elasticity_std_error"]
    assert found["held_out"] == "series"
    assert found["warnings"] == []


@pytest.mark.parametrize("width", [80, 120])
def test_demand_tells_a_person(log_path: Path, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screen, "width", width)
    lines = run("demand", log_path, "--replicates", 2).splitlines()
    assert max(map(len, lines[1:])) <= width  # the verdict is one line in a pipe
    assert not any("…" in line for line in lines)
    text = "\n".join(lines)
    for said in ("of them censored", "linear mean, additive noise", "chosen", "Effects on demand", "last demand",
                 "Price response", "mean sales", "95 % band", "4.25", "Calibration on held-out rows", "90% to 100%",
                 "No test rejects this model."):  # fmt: skip
        assert said in text


def test_a_log_of_demand_only_whose_price_never_varied(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    demand, most = rng.gamma(4.0, 2.0, 240), rng.gamma(4.0, 3.0, 240)
    frame = pd.DataFrame(
        {
            "series": np.repeat(["a", "b", "c"], 80),
            "period": np.tile(np.arange(80), 3),
            "price": 2.5,
            "sales": np.minimum(demand, most).round(2),
            "stockout": demand > most,
        }
    )
    frame.to_csv(tmp_path / "log.csv", index=False)
    found = run_json("demand", tmp_path / "log.csv", "--replicates", 2)
    assert found["warnings"] == ["the price was always 2.5: nothing can be said about any other"]
    assert [each["price"] for each in found["price_response"]] == [2.5]
    assert found["price_response"][0]["demand"] == pytest.approx(8.0, rel=0.1)  # sales alone: 6.4
    assert found["elasticity"] is None
    assert found["held_out"] == "blocks in time"
    told = run("demand", tmp_path / "log.csv", "--replicates", 2)
    assert "Warning: the price was always 2.5: nothing can be said about any other" in told
    assert "never varied" in told


@pytest.fixture(scope="module")
def shop_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("shop") / "sales.csv"
    run("example", "corner-shop", "--out", path)
    return path


def test_demand_of_a_shop_says_what_drives_it(shop_path: Path) -> None:
    found = run_json("demand", shop_path)
    assert sum(found["drivers"].values()) == pytest.approx(1)
    assert {"price", "season", "level", "promotion", "own past", "noise"} == set(found["drivers"])
    assert len(found["products"]) == 12
    assert all(each["low"] < each["elasticity"] < each["high"] for each in found["products"])
    assert [each["by"] for each in found["price_slopes"]] == ["least squares", "orthogonalised"]
    assert {each["by"] for each in found["tests"]} == {"weekday", "month", "product"}
    assert found["stockout_loss"]["margin"] > 0
    assert found["hidden_rows"] == 283


@pytest.mark.parametrize("width", [80, 120])
def test_demand_of_a_shop_tells_a_person(shop_path: Path, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screen, "width", width)
    lines = run("demand", shop_path).splitlines()
    assert max(map(len, lines[1:])) <= width  # the verdict is one line in a pipe
    text = "\n".join(lines)
    for said in ("You lost about", "of margin per week", "What drives demand", "Elasticity by group",
                 "Elasticity by product", "Cola 1.5 l", "predictive: all price changes", "causal: changes",
                 "Do residuals differ?", "No test rejects this model."):  # fmt: skip
        assert said in text
