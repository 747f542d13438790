"""A period and a roll-out, worked out by hand with a market that follows a script."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from lostsales.data.economics import UnitCosts
from lostsales.data.problem import Problem
from lostsales.data.shop import Shop
from lostsales.errors import LostSalesError
from lostsales.policy.base import PolicyBase
from lostsales.policy.period import transition
from lostsales.policy.policy import Observes
from lostsales.policy.rollout import Opening, Step, play
from lostsales.policy.view import Action, Features, View
from lostsales.types import Floats

COSTS = UnitCosts(lost=2, order=3, holding=1)


@dataclass
class ScriptedMarket:
    """One series that opens with stock 4 and last demand 5, and then has the demands of the script."""

    demands: tuple[float, ...]
    asked: list[float] = field(default_factory=list)  # the last demands it was given

    def open(self, series: int, rng: np.random.Generator) -> Opening:  # noqa: ARG002, the protocol passes it
        """The feature counts periods from 0."""
        return Opening((np.zeros(series),), np.full(series, 4.0), np.full(series, 5.0))

    def demand(
        self,
        period: int,
        features: Features,
        price: Floats,
        last_demand: Floats,
        rng: np.random.Generator,  # noqa: ARG002
    ) -> Floats:
        """The script's, once the feature has been checked."""
        assert features[0].tolist() == [period] * len(price)
        self.asked.append(float(last_demand[0]))
        return np.full(len(price), self.demands[period])

    def next_features(self, features: Features, price: Floats, rng: np.random.Generator) -> Features:  # noqa: ARG002
        """One more period."""
        return (features[0] + 1,)


@dataclass
class ScriptedPolicy(PolicyBase):
    """Price 4, and the orders of the script."""

    orders: tuple[float, ...]
    observes: Observes = "sales"
    problem: Problem = field(default_factory=Problem)
    views: list[View] = field(default_factory=list)

    def decide(self, view: View, rng: np.random.Generator) -> Action:  # noqa: ARG002, the protocol passes it
        """Remember the view and follow the script."""
        self.views.append(view)
        series = len(view.stock)
        return Action(np.full(series, 4.0), np.full(series, self.orders[view.period]))


def episode(
    shop: Shop, demands: tuple[float, ...] = (6, 3), orders: tuple[float, ...] = (5, 2), **policy: Any
) -> tuple[list[Step], ScriptedMarket, ScriptedPolicy]:
    market, decides = ScriptedMarket(demands), ScriptedPolicy(orders, **policy)
    rng = np.random.default_rng(0)
    return list(play(decides, market, shop, COSTS, len(demands), 1, rng, rng)), market, decides


@pytest.mark.parametrize(
    ("shop", "sales", "stockout", "profit", "stock"),
    [
        # after: period 0 sells 4 of 4, loses 2, orders 5: 16 - 4 - 15 = -3, and 0 + 5 remain;
        #        period 1 sells 3 of 5, orders 2, holds 2: 12 - 6 - 2 = 4, and 2 + 2 remain
        (Shop(arrival="after"), [4, 3], [True, False], [-3, 4], [5, 4]),
        # netted: the same period 0, but 4 + 5 - 6 = 3 remain; period 1 sells 3 of 3: 12 - 6 = 6, and 2 remain
        (Shop(arrival="after", balance="netted"), [4, 3], [True, False], [-3, 6], [3, 2]),
        # room for 4: period 0 as above, but only 4 of the 5 fit; period 1 sells 3 of 4: 12 - 6 - 1 = 5, and 3 remain
        (Shop(arrival="after", capacity=4), [4, 3], [True, False], [-3, 5], [4, 3]),
        # before: period 0 sells 6 of 9: 24 - 15 - 3 = 6, and 3 remain; period 1 sells 3 of 5: 12 - 6 - 2 = 4, 2 remain
        (Shop(arrival="before"), [6, 3], [False, False], [6, 4], [3, 2]),
        (Shop(arrival="before", balance="netted"), [6, 3], [False, False], [6, 4], [3, 2]),
        # before, room for 6: sells 6 of 6, pays for 5: 24 - 15 = 9, 0 remain; sells 2 of 2, loses 1: 8 - 2 - 6 = 0
        (Shop(arrival="before", capacity=6), [6, 2], [False, True], [9, 0], [0, 0]),
    ],
)
def test_two_periods_by_hand(
    shop: Shop, sales: list[float], stockout: list[bool], profit: list[float], stock: list[float]
) -> None:
    outcomes = [step.outcome for step in episode(shop)[0]]
    assert [float(each.sales[0]) for each in outcomes] == sales
    assert [bool(each.stockout[0]) for each in outcomes] == stockout
    assert [float(each.profit[0]) for each in outcomes] == profit
    assert [float(each.stock_tp1[0]) for each in outcomes] == stock
    assert [float(each.lost[0]) for each in outcomes] == [6 - sales[0], 3 - sales[1]]


def test_a_view_shows_the_past_of_a_retailer_and_no_demand() -> None:
    _, market, policy = episode(Shop(arrival="after"))
    first, second = policy.views
    assert (first.period, first.stock[0], first.last_sales[0], first.last_stockout[0], first.depth[0]) == (
        0,
        4,
        5,
        0,
        0,
    )
    assert (second.period, second.stock[0], second.last_sales[0], second.depth[0]) == (1, 5, 4, 1)
    assert second.last_stockout[0]
    assert first.last_demand is None
    assert second.last_demand is None
    assert market.asked == [5, 6]  # the hidden demand drives the next


def test_an_oracle_sees_the_demand() -> None:
    _, _, policy = episode(Shop(arrival="after"), observes="demand")
    assert [None if view.last_demand is None else view.last_demand[0] for view in policy.views] == [5, 6]


def test_the_netted_balance_leaks_hidden_demand_through_the_next_stock() -> None:
    """Only the stocks and orders of the views are used: what a retailer has in the books."""
    for hidden in (6.0, 7.0):
        first, second = episode(Shop(balance="netted"), (hidden, 3))[2].views
        assert first.stock[0] + 5 - second.stock[0] == hidden
    stocks = {episode(Shop(), (hidden, 3))[2].views[1].stock[0] for hidden in (6.0, 7.0, 99.0)}
    assert stocks == {5}


def test_depth_counts_stock_outs_in_a_row() -> None:
    _, _, policy = episode(Shop(), demands=(9, 9, 9, 0, 9), orders=(1, 1, 1, 1, 1))
    assert [int(view.depth[0]) for view in policy.views] == [0, 1, 2, 3, 0]


def test_after_the_longest_run_demand_is_cut_and_drives_the_next_period() -> None:
    """Arrival before, no orders, stock 4: hidden, hidden, then cut to the 0 that are there."""
    steps, market, _ = episode(Shop(arrival="before", longest_run=2), demands=(9, 8, 7, 6), orders=(0, 0, 0, 0))
    assert [float(step.outcome.demand[0]) for step in steps] == [9, 8, 0, 6]
    assert [bool(step.outcome.stockout[0]) for step in steps] == [True, True, False, True]
    assert [step.outcome.truncated is not None and bool(step.outcome.truncated[0]) for step in steps] == [0, 0, 1, 0]
    assert market.asked == [5, 9, 8, 0]


def test_a_demand_that_is_met_is_not_cut() -> None:
    outcome = transition(
        np.array([4.0]),
        np.array([2]),
        Action(np.array([4.0]), np.array([0.0])),
        np.array([4.0]),
        Shop(longest_run=2).flow,
        COSTS,
    )
    assert outcome.truncated is not None
    assert (outcome.truncated[0], outcome.stockout[0], outcome.depth_tp1[0]) == (False, False, 0)


def test_an_order_that_does_not_fit_is_refused_where_that_is_forbidden() -> None:
    shop = Shop(capacity=8, capacity_rule="forbid")
    with pytest.raises(LostSalesError, match="fit the capacity 8, but the policy orders 5 on top of 4"):
        episode(shop)
    assert len(episode(shop, orders=(4, 4))[0]) == 2
