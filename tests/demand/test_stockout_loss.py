"""What stock-outs cost, held against the true demand of simulated shops."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import lostsales
from lostsales.data.log import SalesLog
from lostsales.data.writing import write_log
from lostsales.demand import stockout_loss as module
from lostsales.demand.stockout_loss import stockout_loss
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import simulate
from lostsales.types import Floats
from tests.apps.running import run
from tests.learn.small import small_log


def lost_units(log: SalesLog, demand: np.ndarray) -> np.ndarray:
    return np.asarray(np.maximum(demand.reshape(-1) - log.available, 0.0))


def coverage(scenario: Scenario, episodes: int, logs: int) -> tuple[float, float]:
    """Share of logs whose interval holds the units really lost, and half its width relative to them, on average."""
    held, width = [], []
    for seed in range(logs):
        log, truth = simulate(scenario, episodes=episodes, seed=100 + seed)
        lost = lost_units(log, truth.demand)
        found = stockout_loss(log)
        assert found.units_interval is not None
        assert found.margin_interval is not None
        assert log.costs is not None
        margin = float(lost @ (log.price - log.costs.order))
        held.append(found.units_interval[0] <= lost.sum() <= found.units_interval[1])
        held.append(found.margin_interval[0] <= margin <= found.margin_interval[1])
        width.append((found.units_interval[1] - found.units_interval[0]) / 2 / lost.sum())
    return float(np.mean(held)), float(np.mean(width))


def test_the_interval_holds_what_was_really_lost() -> None:
    """In 24 small logs: fewer than 20 of 24 would be a matter of chance once in 170 times at 95 %."""
    held, width = coverage(Scenario.load("newsvendor", ("horizon=20",)), 10, 24)
    assert held >= 20 / 24
    assert width < 0.4  # and says something


@pytest.mark.slow
@pytest.mark.parametrize(("name", "episodes"), [("released", 20), ("steady", 10)])
def test_the_interval_holds_what_was_really_lost_where_demand_depends_on_the_last(name: str, episodes: int) -> None:
    """The error of the memory moves all rows of a run of stock-outs together."""
    held, width = coverage(Scenario.load(name), episodes, 40)
    assert held >= 34 / 40
    assert width < 0.3


def test_share_and_margin_follow_from_units() -> None:
    log = small_log("released", 6)
    found = stockout_loss(log)
    assert found.units is not None
    assert found.share is not None
    assert found.share == pytest.approx(found.units / (found.units + log.sales.sum()))
    assert found.share_interval is not None
    assert found.share_interval[0] < found.share < found.share_interval[1]
    assert found.rows == np.count_nonzero(log.censored)


def test_without_costs_the_margin_is_left_out_with_a_reason() -> None:
    log: SalesLog = small_log("released", 6)
    found = stockout_loss(replace(log, costs=None))
    assert found.units
    assert found.margin is None
    assert "the margin lost is not known, as the log has no order cost: give [costs] in the problem." in found.sentence


def test_a_log_without_stockouts_lost_nothing() -> None:
    log = small_log("released", 4)
    ample = replace(log, stock=np.asarray(log.stock) + 1_000.0, stockout=np.zeros(len(log), dtype=bool))
    found = stockout_loss(ample)
    assert found.sentence == "No stock-outs: nothing was lost."
    assert found.units == 0


def test_a_log_of_nothing_but_stockouts_cannot_tell() -> None:
    log = small_log("released", 2)
    empty = replace(log, stock=np.zeros(len(log)), order=np.zeros(len(log)), sales=np.zeros(len(log)))
    found = stockout_loss(replace(empty, stockout=np.ones(len(log), dtype=bool)))
    assert found.units is None
    assert "cannot be estimated: every row is a stock-out" in found.sentence


def test_a_large_log_is_estimated_from_some_of_its_series(monkeypatch: pytest.MonkeyPatch) -> None:
    log = small_log("released", 60)
    whole = stockout_loss(log)
    monkeypatch.setattr(module, "MOST_ROWS", 1_500)
    part = stockout_loss(log)
    assert whole.units is not None
    assert whole.units_interval is not None
    assert part.units_interval is not None
    assert part.units_interval[0] < whole.units < part.units_interval[1]
    assert part.units_interval[1] - part.units_interval[0] > whole.units_interval[1] - whole.units_interval[0]


def test_audit_and_impute_begin_with_it(tmp_path: Path) -> None:
    log = small_log("released", 10)
    write_log(log, tmp_path / "log.parquet")
    commands = {
        "audit": ("audit", tmp_path / "log.parquet"),
        "impute": ("impute", tmp_path / "log.parquet", "--out", tmp_path / "filled.csv"),
    }
    found = stockout_loss(log)
    for name, command in commands.items():
        first = " ".join(run(*command).split("\n\n")[0].split())
        assert first.endswith(found.sentence), name
        facts = json.loads(run(*command, "--json"))["stockout_loss"]
        assert facts["units"] == pytest.approx(found.units)
        assert facts["margin_interval"] == pytest.approx(found.margin_interval)
    assert lostsales.audit(log).stockout_loss == found


def test_the_example_says_units_margin_per_week_and_products() -> None:
    log = lostsales.load_example("corner-shop")
    found = stockout_loss(log)
    assert found.weeks == 26
    assert found.margin is not None
    assert f"about {found.margin / 26:,.0f} € of margin per week" in found.sentence
    lost = dict(found.products)
    assert list(lost.values()) == sorted(lost.values(), reverse=True)
    assert found.units is not None
    assert max(lost.values()) < found.units
    names, true = np.asarray(log.names), _lost_in_truth(log)
    worst = names[np.argsort(-true)[:5]]
    assert {*lost} <= {*worst}


def _lost_in_truth(log: SalesLog) -> Floats:
    """Units that each product of the example really lost, by its true demand."""
    truth = pd.read_csv(Path(lostsales.__file__).parent / "data" / "examples" / "corner-shop-truth.csv")
    demand = truth.groupby("product")["demand"].sum()
    sold = np.bincount(log.series, log.sales)
    return np.array([demand[name] for name in log.names]) - sold


def test_without_stock_the_loss_is_not_known() -> None:
    table = pd.DataFrame({"series": ["a"] * 3, "period": [1, 2, 3], "price": 2.0, "sales": [1.0, 2.0, 3.0]})
    found = stockout_loss(lostsales.read_log(table))
    assert found.units is None
    assert found.sentence.startswith("What stock-outs cost is not known")
