"""`lostsales evaluate`, `compare` and `calibrate`."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lostsales.apps.gains import money_text
from lostsales.data.writing import write_log
from lostsales.evaluation.assortment import ProductFigures
from lostsales.evaluation.interval import Interval
from lostsales.evaluation.prepared_log import PreparedLog
from lostsales.policy.file_format import load
from tests.apps.running import run
from tests.evaluation.shop import Assortment
from tests.learn.small import small_log


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log and a policy learned from it."""
    place = tmp_path_factory.mktemp("shop")
    write_log(small_log("nonlinear", 6), place / "log.parquet")
    run("fit", place / "log.parquet", "--method", "base-stock", "--out", place / "policy")
    return place


def test_evaluate_says_all_as_json(folder: Path) -> None:
    found = json.loads(run("evaluate", folder / "policy", folder / "log.parquet", "--diagnose", "--json"))
    assert found["best"] == "model"
    assert found["estimand"]["horizon"] == 50
    assert [each["estimator"] for each in found["estimates"]] == ["model", "fqe", "dr"]
    gain = found["estimates"][0]["gain"]
    assert gain["low"] < gain["value"] < gain["high"]
    assert {each["key"] for each in found["diagnostics"]} >= {"rho", "omega", "e_cov", "k"}


def test_evaluate_shows_a_table_and_one_line(folder: Path) -> None:
    shown = run("evaluate", folder / "policy", folder / "log.parquet", "--estimator", "model", "--horizon", 20)
    assert "mean profit per period over 20 periods" in shown
    assert "By model: a proven gain" in shown


def test_compare_names_one_and_saves_it(folder: Path, tmp_path: Path) -> None:
    given = ["compare", folder / "log.parquet", "--methods", "newsvendor,base-stock", "--out", tmp_path / "best"]
    shown = run(*given)
    assert "current decisions" in shown
    assert "Deploy" in shown
    assert (tmp_path / "best").is_file()


def test_calibrate_shows_how_often_intervals_cover(tmp_path: Path) -> None:
    given = ["calibrate", "nonlinear", "--series", "5", "--estimator", "fqe", "--out", tmp_path / "study.jsonl"]
    found = json.loads(run(*given, "--replications", 1, "--json"))
    (row,) = found["coverage"]
    assert (row["series"], row["estimator"], row["replications"]) == (5, "fqe", 1)
    assert found["truth"] > found["behaviour"]
    shown = run(*given, "--replications", 1)
    assert "covers gain" in shown
    assert ("No coverage is too low" in shown) == bool(row["enough"])
    assert ("errs" in shown) == (not row["enough"])


@pytest.fixture(scope="module")
def assortment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of several products, and a policy learned from it."""
    place = tmp_path_factory.mktemp("assortment")
    shop = Assortment(np.full(4, 5.0), np.array([8.0, 10.0, 12.0, 14.0]), np.full(4, -2.0), np.full(4, 1.5))
    write_log(shop.log(120, 5), place / "log.parquet")
    run("fit", place / "log.parquet", "--method", "behaviour", "--out", place / "policy")
    return place


@pytest.mark.slow
def test_evaluate_shows_gains_by_product_and_their_total(assortment: Path) -> None:
    given = "evaluate", assortment / "policy", assortment / "log.parquet", "--estimator", "model", "--quick"
    found = json.loads(run(*given, "--json"))["assortment"]
    shown = run(*given)
    for each in found["products"]:
        assert each["product"] in shown
        assert money_text(Interval(**each["gain"]["week"])).split()[0] in shown
    assert money_text(Interval(**found["total"]["year"])) in " ".join(shown.split())
    assert "per week over all 4 products" in " ".join(shown.split())


@pytest.mark.slow
def test_compare_saves_a_policy_for_the_products_that_it_chose(
    assortment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gains of one product are turned into a loss, so that the others are chosen."""
    given = ["compare", assortment / "log.parquet", "--methods", "behaviour", "--quick"]
    found = json.loads(run(*given, "--json"))
    assert found["choice"] is None
    assert found["products"] is None
    assert len(found["candidates"][0]["assortment"]["products"]) == 4
    assert "for all products" in found["sentence"]

    def better(self: PreparedLog) -> ProductFigures:
        figures: ProductFigures = earned(self)
        less = np.array([20.0, 20.0, 20.0, -20.0])
        return replace(figures, value=figures.value - less, without=figures.without - less)

    earned = vars(PreparedLog)["earned_by_product"].func
    monkeypatch.setattr(PreparedLog, "earned_by_product", property(better))
    found = json.loads(run(*given, "--out", tmp_path / "best", "--json"))
    assert found["choice"] == "behaviour"
    assert sorted(found["products"]["products"]) == ["product 0", "product 1", "product 2"]
    assert found["products"]["kept"] == ["product 3"]
    assert load(tmp_path / "best").summary()["products"] == found["products"]["products"]
    assert "keep the current practice for the other 1" in found["sentence"]
