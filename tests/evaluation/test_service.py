"""Fill rate, share of periods without a stock-out, cover, turns and stock value."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import lostsales
from lostsales.data.problem import Problem
from lostsales.evaluation.prepared_log import PreparedLog
from lostsales.evaluation.service import service_figures
from lostsales.policy.period import Flow
from lostsales.policy.shop_replay import replay_shop
from tests.evaluation.shop import Assortment


def test_figures_of_two_products_by_hand() -> None:
    # 20 demanded units, 16 served; one stock-out in four periods; 6 left at 2.0 and 10 at 0.5: 17 over 2 periods.
    table = pd.DataFrame(
        {
            "series": np.array(["a", "a", "b", "b"], dtype=object),
            "period": np.array(["2026-01-05", "2026-01-06"] * 2, dtype="datetime64[us]"),
            "stock": np.array([8.0, 4.0, 7.0, 9.0]),
            "price": np.full(4, 4.0),
            "order": np.zeros(4),
            "sales": np.array([4.0, 4.0, 4.0, 4.0]),
            "order_cost": np.array([2.0, 2.0, 0.5, 0.5]),
            "lost_cost": np.zeros(4),
            "holding_cost": np.zeros(4),
        }
    )
    log = lostsales.read_log(table).decisions("a test")
    left = np.array([6.0, 0.0, 4.0, 6.0])
    flow = Flow(np.array([4.0, 8.0, 4.0, 4.0]), np.full(4, 4.0), np.array([0.0, 1.0, 0.0, 0.0]), left, np.zeros(4))
    found = service_figures(log, flow, np.ones(4), products=2)
    assert found.fill_rate == pytest.approx(0.8)
    assert found.in_stock == pytest.approx(0.75)
    assert found.stock_value == pytest.approx(17 / 2)
    assert found.cover == found.days_of_cover == pytest.approx(17 / 20)
    assert found.turns == pytest.approx(365.25 * 20 / 17)


def test_logged_decisions_have_the_service_of_the_log() -> None:
    log = Assortment.drawn(4, seed=1).log(90, seed=2)
    prepared = PreparedLog.of(log)
    assert prepared.realised is not None
    assert prepared.lost is not None
    policy = lostsales.fit(log, "newsvendor")
    found = replay_shop(policy, prepared.realised, 0, len(log))
    assert np.allclose(found.logged.sales, prepared.log.sales)
    assert np.allclose(found.logged.left, prepared.log.available - prepared.log.sales)
    assert np.allclose(found.logged.demand - found.logged.sales, prepared.lost)
    counted = found.is_counted
    assert all((each[~counted] == 0).all() for each in found.flow)
    assert (found.flow.sales <= found.flow.demand + 1e-9).all()


def test_waste_in_units_in_money_and_as_a_share_of_purchases() -> None:
    """An assortment whose units live two days, simulated under a generous rule: the planner wastes less."""
    rng, life = np.random.default_rng(0), 2
    rows: list[dict[str, Any]] = []
    for name, rate in (("milk", 8.0), ("bread", 15.0)):
        fresh, old = 2 * rate, 0.0
        for day in range(90):
            demand, order = float(rng.poisson(rate)), float(rng.integers(int(0.7 * rate), int(2 * rate)))
            sales = min(demand, fresh + old)
            wasted = max(old - sales, 0.0)
            row = {"sku": name, "day": np.datetime64("2026-01-05") + day, "stock": fresh + old, "price": 4.0}
            rows.append(row | {"order": order, "sales": sales, "stockout": demand > sales, "wasted": wasted})
            fresh, old = order, fresh + old - sales - wasted
    keys: dict[str, Any] = {"product": {"shelf_life": life, "waste_cost": 0.5}, "discount": 0.99}
    costs = {"costs": {"lost": 1, "order": 2, "holding": 0.05}, "columns": {"series": "sku", "period": "day"}}
    log = lostsales.read_log(pd.DataFrame(rows), Problem.model_validate(keys | costs))
    assert log.wasted is not None
    found = lostsales.evaluate(lostsales.fit(log), log, estimators=["model"]).best
    assert found is not None
    assert found.service is not None
    was, would = found.service.log, found.service.policy
    assert was.waste is not None
    assert was.waste_cost == pytest.approx(2.5 * was.waste)
    assert was.waste == pytest.approx(2 * log.wasted.mean(), rel=0.1)
    assert was.waste_share == pytest.approx(log.wasted.sum() / (log.wasted + log.sales).sum(), rel=0.1)
    assert would.waste is not None
    assert 0 < would.waste < 0.7 * was.waste
    assert any(name == "thrown away of purchases" for name, *_ in found.service.lines)


def test_dearer_lost_sales_are_served_better() -> None:
    log = Assortment.drawn(4, seed=1).log(90, seed=2)
    dear = replace(log, costs=log.costs._replace(lost=50.0))
    figures = []
    for each in (log, dear):
        best = lostsales.evaluate(lostsales.fit(each, "planner", paths=32), each, estimators=["model"]).best
        assert best is not None
        assert best.service is not None
        figures.append(best.service.policy)
    assert figures[1].fill_rate > figures[0].fill_rate
    assert figures[1].stock_value > figures[0].stock_value
