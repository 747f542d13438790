"""Gains of a policy in a shop: identities, a case by hand, and a simulated shop whose customers are known."""

import warnings
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import pytest

import lostsales
from benchmarks.corner_shops import CornerShop, Decide
from lostsales.data.log import DecisionLog
from lostsales.demand.censoring.observed import observe
from lostsales.demand.shop import ShopDemand
from lostsales.policy.base import PolicyBase
from lostsales.policy.shop_replay import WARM_UP, replay_shop
from lostsales.policy.view import Action, View
from lostsales.types import Floats


class Logged(PolicyBase):
    """Decisions of the log, prices times a factor."""

    observes: Literal["sales"] = "sales"

    def __init__(self, log: DecisionLog, price: float = 1.0) -> None:
        self.log, self.price_factor = log, price
        self.at = {
            (str(log.names[s]), day): row for row, (s, day) in enumerate(zip(log.series, log.period, strict=True))
        }

    @property
    def problem(self) -> lostsales.Problem:
        """Problem of the log."""
        return self.log.problem

    def decide(self, view: View, rng: np.random.Generator) -> Action:  # noqa: ARG002, the protocol passes it
        """Look up the rows of the day."""
        assert view.names is not None
        assert view.dates is not None
        rows = np.array([self.at[str(name), day] for name, day in zip(view.names, view.dates, strict=True)])
        return Action(self.log.price[rows] * self.price_factor, self.log.order[rows])


def shop_log(seed: int = 3, products: int = 4, days: int = 120) -> tuple[CornerShop, DecisionLog]:
    shop = CornerShop.draw(seed, products, days, 2)
    record = shop.run(shop.manager, 0, days).record
    return shop, lostsales.read_log(shop.table(record, 0, days), shop.problem).decisions("evaluate")


def test_the_logged_decisions_gain_nothing_in_any_row() -> None:
    _, log = shop_log()
    realised = ShopDemand.of(log, observe(log)).realised(2, seed=1)
    found = replay_shop(Logged(log), realised, seed=0, horizon=1_000)
    assert found.is_counted.sum() == len(log.products) * (120 - WARM_UP - 1)
    np.testing.assert_allclose(found.gain, 0.0, atol=1e-9)
    np.testing.assert_allclose(found.cash_gain, 0.0, atol=1e-9)


def test_observed_demands_are_kept_and_hidden_ones_are_above_what_was_sold() -> None:
    _, log = shop_log()
    observed = observe(log)
    realised = ShopDemand.of(log, observed).realised(3, seed=1)
    kept = observed.is_observed
    np.testing.assert_array_equal(realised.demand[:, kept], np.tile(log.sales[kept], (3, 1)))
    assert np.all(realised.demand[:, ~kept] >= observed.least[~kept])
    rows = np.arange(len(log))
    np.testing.assert_array_equal(realised.at(np.zeros(len(log), int), rows, log.price), realised.demand[0])
    dearer, ratio = (
        realised.at(np.zeros(len(log), int), rows, 1.1 * log.price),
        realised.shop.ratio(rows, 1.1 * log.price),
    )
    assert np.all((dearer - realised.demand[0]) * np.sign(ratio - 1.0) >= 0)  # moved with the expectation, row by row
    assert abs(dearer.sum() / realised.demand[0].sum() - ratio @ realised.shop.mean / realised.shop.mean.sum()) < 0.02


def test_a_price_that_moves_no_demand_gains_its_margin(tmp_path: Path) -> None:
    """By hand: stock is ample, 3 units are sold each day at any price; 10 % more for each is the whole gain."""
    days = pd.date_range("2026-01-05", periods=60)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        [
            {"product": name, "date": day, "stock": 500.0 - 3 * at, "price": price, "order": 0.0, "sales": 3.0}
            for name in ("tea", "jam")
            for at, (day, price) in enumerate(zip(days, rng.choice([2.0, 2.2], len(days)), strict=True))
        ]
    )
    problem = lostsales.Problem.model_validate(
        {
            "columns": {"series": "product", "period": "date"},
            "costs": {"order": 1.0, "lost": 0.5, "holding": 0.01},
            "arrival": "after",
        }
    )
    path = tmp_path / "sales.csv"
    frame.to_csv(path, index=False)
    log = lostsales.read_log(path, problem).decisions("evaluate")
    realised = ShopDemand.of(log, observe(log)).realised(1, seed=0)
    flat = np.zeros_like(realised.shop.market.response.coefficients)
    realised.shop.market.response.coefficients[:] = flat
    found = replay_shop(Logged(log, price=1.1), realised, seed=0, horizon=1_000)
    counted = found.is_counted
    np.testing.assert_allclose(found.gain[counted], 0.1 * log.price[counted] * 3.0)
    np.testing.assert_allclose(found.slope[counted], 3.0 * (1.1 * log.price[counted] - 1.0) * np.log(1.1))


def of_policy(shop: CornerShop, policy: lostsales.SavedPolicy) -> Decide:
    """The policy day by day."""
    n = len(shop.size)

    def decide(day: int, stock: Floats, coming: Floats, record: dict[str, Floats]) -> tuple[Floats, Floats]:  # noqa: ARG001
        today = shop._keys(np.arange(n), np.full(n, day)).assign(stock=stock)
        found = policy.recommend(shop.table(record, max(day - 70, 0), day), today)
        return found["price"].to_numpy(float), found["order"].to_numpy(float)

    return decide


@pytest.mark.parametrize("method", ["planner", "base-stock"])
def test_the_estimated_gain_is_that_of_the_same_customers(method: str) -> None:
    """Held out: fitted to the first 120 days, evaluated on the next 120; the truth has the same random customers."""
    error, inside = [], 0
    for seed in range(4):
        shop = CornerShop.draw(seed + 40, 6, 240, 2)
        first = shop.run(shop.manager, 0, 120)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            policy = lostsales.fit(lostsales.read_log(shop.table(first.record, 0, 120), shop.problem), method)
        managed = shop.run(shop.manager, 120, 240, first)
        log = lostsales.read_log(shop.table(managed.record, 120, 240), shop.problem)
        best = lostsales.evaluate(policy, log, estimators=["model"]).best
        assert best is not None
        assert best.gain is not None
        gain = best.gain
        start = 120 + WARM_UP
        after = shop.run(of_policy(shop, policy), start, 240, shop.run(shop.manager, 120, start, first))
        earned = [each.record["profit"][:, start:].sum() + each.value(shop).sum() for each in (after, managed)]
        truth = (earned[0] - earned[1]) / 6 / (240 - start)
        error.append((gain.value - truth) / managed.record["profit"][:, start:].mean())
        inside += gain.low <= truth <= gain.high
    assert inside == 4
    assert abs(np.mean(error)) < 0.05  # of the manager's profit; 0.01 to 0.03 in 40 other shops
