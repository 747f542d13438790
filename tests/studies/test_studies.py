"""The case studies: made-up tables in the published layouts, missing data, and pages that say what was measured."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

from docs.studies import freshretail, orange_juice, vn2
from docs.studies.telling import run, table
from lostsales.errors import LostSalesError
from lostsales.lab.benchmarks.freshretail import read_days
from lostsales.lab.benchmarks.vn2_data import read_sales
from tests.studies.layouts import write_freshretail, write_orange_juice, write_vn2

PAGES = Path(__file__).parents[2] / "docs" / "studies"
STUDIES = {vn2: write_vn2, freshretail: write_freshretail, orange_juice: write_orange_juice}
MEASURED = sorted(PAGES.glob("*/results.json"))


def name_of(value: object) -> str | None:
    return value.__name__.rpartition(".")[2] if isinstance(value, ModuleType) else None


@pytest.mark.parametrize("study", STUDIES, ids=name_of)
def test_missing_data_end_in_one_message_that_says_where_they_are(
    study: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["study", str(tmp_path / "nowhere"), str(tmp_path / "out")])
    with pytest.raises(SystemExit) as ended:
        run(study.study, "a study")
    told = capsys.readouterr().err
    assert ended.value.code == 2
    assert told.startswith("Error: ")
    assert "nowhere" in told
    assert told.count("\n") == 1
    assert any(word in told for word in ("https://", "Rscript"))


def test_weeks_of_vn2_are_demand_where_they_were_in_stock(tmp_path: Path) -> None:
    found = read_sales(write_vn2(tmp_path))
    shop = vn2.shop_of(found)
    np.testing.assert_array_equal(shop.demand, found.sales)
    assert 0.85 < shop.is_known.mean() < 0.95
    assert shop.fractile == pytest.approx(np.full(8, 1 / 1.2))
    told = vn2.raw_table(found)
    assert "missing column 'price'" in str(told["refused_to_read"])
    assert "fit needs stock and orders" in str(told["refused_to_fit"])


def test_days_of_fresh_food_are_scaled_by_the_share_of_their_hours(tmp_path: Path) -> None:
    days = read_days(write_freshretail(tmp_path))
    found = freshretail.table_of(days)
    clean = days.clean
    assert (found["in_stock_share"][clean] == 1).all()
    assert (found["in_stock_share"][~clean] < 1).all()
    shop = freshretail.shop_of(found)
    share = found["in_stock_share"].to_numpy().reshape(shop.demand.shape)
    sales = days.sales.reshape(shop.demand.shape)
    np.testing.assert_allclose(shop.demand[share == 1], sales[share == 1], atol=0.051)
    part = (share < 1) & shop.is_known
    np.testing.assert_allclose(shop.demand[part], sales[part] / share[part], atol=0.051)


def test_orange_juice_is_counted_in_cartons_and_dollars(tmp_path: Path) -> None:
    found = orange_juice.read_table(write_orange_juice(tmp_path))
    raw = pd.read_csv(tmp_path / "orangeJuice.csv")
    half_gallons = raw["brand"] == 1
    expected = np.exp(raw["logmove"][half_gallons]) / 64
    np.testing.assert_allclose(found["sales"][half_gallons], expected, rtol=1e-9)
    np.testing.assert_allclose(found["price"][half_gallons], (raw["price1"] * 64)[half_gallons].round(2))
    np.testing.assert_allclose(found["cost"], 0.7 * found["price"])
    shop = orange_juice.shop_of(found)
    assert len(shop.periods) == orange_juice.LEAST_WEEKS + orange_juice.WEEKS * orange_juice.WINDOWS
    assert not shop.is_known.all()
    assert (shop.demand[shop.is_known] >= 1).all()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda raw: raw.drop(columns="price7"), "has no column price7"),
        (lambda raw: raw.assign(brand=raw["brand"].replace(4, 12)), "brand must be 1 to 11, but row"),
    ],
)
def test_another_layout_of_orange_juice_is_refused(
    change: Callable[[pd.DataFrame], pd.DataFrame], said: str, tmp_path: Path
) -> None:
    path = write_orange_juice(tmp_path, stores=1, weeks=10)
    change(pd.read_csv(path)).to_csv(path, index=False)
    with pytest.raises(LostSalesError, match=said):
        orange_juice.read_table(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("study", STUDIES, ids=name_of)
def test_a_study_runs_from_the_published_layout_to_the_report(
    study: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("statsforecast")
    monkeypatch.setattr(study, "METHODS", ("base-stock",))
    STUDIES[study](tmp_path)
    monkeypatch.setattr(sys, "argv", ["study", str(tmp_path), str(tmp_path / "out")])
    run(study.study, "a study")
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    assert capsys.readouterr().out.strip() == table(results).strip()
    assert len(results["ways"]) in (7, 9)
    assert (tmp_path / "out" / "ways.png").read_bytes().startswith(b"\x89PNG")
    assert "</html>" in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.parametrize("results", MEASURED, ids=lambda path: path.parent.name)
def test_a_page_shows_what_was_measured(results: Path) -> None:
    measured = json.loads(results.read_text(encoding="utf-8"))
    page = (PAGES / f"{results.parent.name.removesuffix('-results')}.md").read_text(encoding="utf-8")
    assert table(measured) in page
    assert f"at commit {measured['commit']}" in page
