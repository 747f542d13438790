"""Exceptions of today's list: products that someone should look at, and no others."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.assortments import Assortment
from lostsales.apps.service.answers import explain_answer, sold_at
from lostsales.apps.service.desk import Desk
from lostsales.apps.service.morning import LOSES, NOT_KNOWN, MorningList, Query
from lostsales.apps.service.product_page import offered
from lostsales.apps.service.shop_data import ShopData
from lostsales.apps.service.versions import PolicyVersion
from lostsales.data.problem import Problem
from lostsales.data.reading.frames import ColumnTable
from lostsales.data.reading.gate import read_log
from lostsales.evaluation.report.open_period import open_rows
from lostsales.learn.baselines.threshold_tuning import BaseStock
from lostsales.learn.fit import fit
from lostsales.learn.learner import Learner
from lostsales.learn.planner.lookahead import Lookahead
from lostsales.learn.planner.planner import Planner
from tests.apps.service.calm_shop import calm_shop, calm_table


def desk_of(table: pd.DataFrame, learner: Learner, problem: Problem) -> Desk:
    """The desk of the day after a table."""
    log = read_log(table, problem)
    policy = fit(log, learner)
    version = PolicyVersion("v", "v", Path("v"), "", 0, pd.Timestamp(0).to_pydatetime())
    return Desk.of(version, policy, ShopData(log, ColumnTable(open_rows(log), "the day after"), True))


def morning(table: pd.DataFrame, learner: Learner, problem: Problem) -> MorningList:
    """The list of the day after a table."""
    return desk_of(table, learner, problem).morning


def losing(found: MorningList) -> list[str]:
    return [name for name, flag in zip(found.name, found.flag, strict=True) if LOSES in flag]


def at_a_loss(table: pd.DataFrame, name: str) -> pd.DataFrame:
    """The table with a product that is sold below its cost."""
    return table.assign(unit_cost=table.unit_cost.where(table.series != name, 1.5 * table.price.max()))


@pytest.mark.parametrize("learner", [Lookahead(), Planner()])
def test_on_an_order_day_of_a_calm_shop_few_products_are_exceptions(learner: Learner) -> None:
    found = morning(at_a_loss(calm_table(), "product 7"), learner, calm_shop().problem)
    assert (found.order * calm_shop().unit_cost > found.demand * found.price).mean() > 0.5  # more than a day earns
    assert np.isfinite(found.profit).all()
    assert found.is_flagged[found.name != "product 7"].mean() <= 0.1
    assert losing(found) == ["product 7"]


def test_the_planner_expects_a_product_that_is_sold_below_its_cost_to_lose_money_and_no_other() -> None:
    shop = Assortment.draw(4, 21)
    table = pd.DataFrame({name: each for name, each in shop.columns(21).items() if name != "demand"})
    found = morning(at_a_loss(table, "product 2"), Planner(), shop.problem)
    assert losing(found) == ["product 2"]


def test_without_a_demand_model_every_product_is_an_exception() -> None:
    found = morning(calm_table(), BaseStock(), calm_shop().problem)
    assert np.isnan(found.profit).all()
    assert all(NOT_KNOWN in flag for flag in found.flag)
    assert not len(found.acceptable(Query()))


def test_the_page_explains_the_planner_and_its_price_slider_reaches_over_the_prices_of_the_product() -> None:
    desk = desk_of(calm_table(), Planner(), calm_shop().problem)
    situation = desk.situation("product 3")
    why = explain_answer(desk, situation)
    assert why.reason
    assert why.order_reason.startswith(("with it", "none"))
    assert why.outlook.next_delivery == 2  # the lead time
    assert why.outlook.stockout_before_delivery is not None
    assert why.outlook.season_factor == 1  # weekdays are a feature there
    low, high = sold_at(desk, "product 3")
    action = why.recommended
    choice = offered(desk, situation, action.price, action.order)
    assert (choice.prices[0], choice.prices[-1]) == (low, high)
    assert len(choice.prices) > 2
    atoms = desk.policy.demand_atoms(situation.view.take(np.zeros(len(choice.prices), dtype=np.int64)), choice.prices)
    assert atoms is not None
    assert (np.diff(atoms.mean(axis=1)) <= 0).all()  # dearer: not more
