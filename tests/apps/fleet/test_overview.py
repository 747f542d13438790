"""Audit, comparison and page of a fleet."""

from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtri

import lostsales
from benchmarks.assortments import AssortmentManager
from lostsales.apps.fleet.engine import Processes
from lostsales.apps.fleet.fit import fit_fleet
from lostsales.apps.fleet.fleet import Fleet
from lostsales.apps.fleet.overview import FleetComparison, audit_fleet, known_comparison
from lostsales.apps.fleet.report import write_report
from lostsales.data.journal import JournalFolder
from lostsales.evaluation.fleet_gain import ShardGain, fleet_gain
from lostsales.evaluation.interval import Interval
from tests.apps.fleet.shops import shop_columns, taken, write_source
from tests.apps.running import run_json


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("fleet")
    shop, columns = shop_columns(12)
    columns = taken(columns, (columns["series"] != "product 2") | (columns["period"] > 35))
    fit_fleet(write_source(found / "source", columns, shop), found / "store", "newsvendor", shard_size=6)
    return found


def test_the_audit_adds_up_to_that_of_all_rows(folder: Path) -> None:
    found = run_json("fleet", "audit", folder / "store", "--workers", 1)
    log = lostsales.read_log(folder / "source")
    products = log.products
    learned = products.names != "product 2"
    rows = learned[products.of_row]
    assert (found["products"], found["products_learned"], found["rows"]) == (12, 11, int(rows.sum()))
    assert found["failures"] == {"4 rows, and 10 are needed": 1}
    assert found["stockout_share"] == pytest.approx(log.censored[rows].mean())
    assert found["cash"] == pytest.approx(products.means(log.cash)[learned].sum())


def test_shards_that_were_judged_are_not_judged_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = JournalFolder(Fleet.open(folder / "store").version.folder / "compare-quick-seed0")
    gain = {"value": 1.0, "low": 0.5, "high": 1.5}
    for shard in range(2):
        shown = {"products": 6, "judged": 6, "proven": 3, "gain": gain, "cash_gain": gain, "earned": gain}
        ledger.add(shard, {"reason": "", "gain": shown, "products": [], "notes": []})
    monkeypatch.setattr("lostsales.apps.fleet.overview.compare_shard", pytest.fail)
    found = run_json("fleet", "compare", folder / "store", "--quick", "--all")
    assert found["total"]["gain"]["value"] == 2.0
    assert found["total"]["proven_share"] == 0.5


@pytest.mark.slow
def test_the_comparison_finds_what_a_better_policy_gains(tmp_path: Path) -> None:
    shop, columns = shop_columns(40, periods=104)
    source = write_source(tmp_path / "source", columns, shop)
    fit_fleet(source, tmp_path / "store", lostsales.Planner(draws=1), shard_size=20)
    found = run_json("fleet", "compare", tmp_path / "store", "--all", "--workers", 1)
    total = found["total"]
    fleet = Fleet.open(tmp_path / "store")
    earned = shop.profits(AssortmentManager(shop)).mean(axis=0).sum()
    assert total["gain"]["low"] > 0
    assert 0 < total["proven_share"] <= 1
    assert total["gain"]["value"] < 0.3 * earned
    assert fleet.version.manifest.products == 40


def test_the_total_of_shards_by_hand() -> None:
    def shard(value: float, reach: float) -> ShardGain:
        money = Interval(value, value - reach, value + reach)
        return ShardGain(products=10, judged=8, proven=2, gain=money, cash_gain=money, earned=money)

    both = fleet_gain([shard(3.0, 3.0), shard(5.0, 4.0)], products=20, shards=2)
    assert (both.gain.value, both.gain.low, both.gain.high) == (8.0, 3.0, 13.0)
    assert both.proven_share == 4 / 16
    drawn = fleet_gain([shard(3.0, 3.0), shard(5.0, 4.0)], products=40, shards=4)
    # Twice the total; a product gains 0.3 and 0.5 in the two shards, of four.
    error = np.hypot(2 * 5.0, float(ndtri(0.975)) * 40 * np.std([0.3, 0.5], ddof=1) * np.sqrt(0.5 / 2))
    assert drawn.gain.value == 16.0
    assert drawn.gain.high == pytest.approx(16 + error)


def test_the_interval_of_drawn_shards_covers_the_total() -> None:
    rng, covered, repeats = np.random.default_rng(1), 0, 400
    for _ in range(repeats):
        truth = rng.normal(10.0, 4.0, 40)
        chosen = rng.choice(40, 12, replace=False)
        seen = truth[chosen] + rng.normal(0.0, 2.0, 12)
        money = [Interval(value, value - 1.96 * 2, value + 1.96 * 2) for value in seen]
        total = fleet_gain([ShardGain(10, 10, 0, each, each, each) for each in money], 400, 40).gain
        covered += total.low <= truth.sum() <= total.high
    assert 0.92 <= covered / repeats <= 1.0


def test_the_page_does_not_grow_with_the_products(folder: Path, tmp_path: Path) -> None:
    fleet = Fleet.open(folder / "store")
    audit = audit_fleet(fleet, Processes(1))
    interval = Interval(1.0, 0.5, 1.5)
    total = fleet_gain([ShardGain(6, 6, 3, interval, interval, interval)] * 2, 12, 2)
    products = [
        {"series": f"<b>{at}</b>", "rows": 104, "earned": 3.0, "gain": {"value": float(-at), "low": -1.0, "high": 1.0}}
        | {"verdict": "not proven", "group": "all products"}
        for at in range(100_000)
    ]
    found = FleetComparison("newsvendor", total, {"all products": total}, tuple(products), {}, {})
    write_report(fleet, audit, found, tmp_path / "fleet.html", "lostsales fleet report")
    page = (tmp_path / "fleet.html").read_text()
    assert len(page) < 1e5  # far below the 6 MB that a page may have
    assert "A proven gain: +2 per period" in page
    assert "&lt;b&gt;99999&lt;/b&gt;" in page
    assert "<b>9" not in page
    assert "4 rows, and 10 are needed" in page
    assert known_comparison(fleet, seed=7) is None
