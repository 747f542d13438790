"""Fill rate, share of periods without a stock-out, cover, turns and stock value."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import lostsales
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
    flow = Flow(np.array([4.0, 8.0, 4.0, 4.0]), np.full(4, 4.0), np.array([0.0, 1.0, 0.0, 0.0]), left)
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
