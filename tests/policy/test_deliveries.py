"""Deliveries and episodes with a pipeline, worked out by hand."""

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pytest

from lostsales.data.economics import UnitCosts
from lostsales.data.problem import Problem
from lostsales.data.shop import Shop
from lostsales.errors import LostSalesError
from lostsales.policy.base import PolicyBase
from lostsales.policy.deliveries import Pipeline, deliver
from lostsales.policy.policy import Observes
from lostsales.policy.rollout import Opening, Step, play
from lostsales.policy.view import Action, Features, View
from lostsales.types import Floats

COSTS = UnitCosts(lost=2, order=3, holding=1)
LAW = {"1": 0.5, "2": 0.25, "3": 0.25}  # hazards 0.5, 0.5, 1


class ScriptedDraws:
    """Stands in for a random generator: hands out the numbers of a script, whatever shape is asked for."""

    def __init__(self, *numbers: float) -> None:
        self.numbers = list(numbers)

    def random(self, shape: Any) -> Floats:
        """The next numbers."""
        count = int(np.prod(shape))
        taken, self.numbers = self.numbers[:count], self.numbers[count:]
        return np.array(taken).reshape(shape)

    def spawn(self, count: int) -> list["ScriptedDraws"]:
        """Itself."""
        return [self] * count


def draws(*numbers: float) -> np.random.Generator:
    return cast(np.random.Generator, ScriptedDraws(*numbers))


def shop(**supply: Any) -> Shop:
    return Shop.model_validate({"supply": supply})


def pipeline(*units: float) -> Pipeline:
    return Pipeline(np.array([units]), np.zeros((1, len(units)), dtype=bool))


def test_crossing_orders_have_draws_of_their_own() -> None:
    """Not lost (0.9), then one draw an order, oldest first: 4 must come (hazard 1), 5 does not, 6 does."""
    arrived, later = deliver(pipeline(4, 5), np.array([6.0]), shop(lead_time=LAW), draws(0.9, 0.99, 0.7, 0.2))
    assert arrived.tolist() == [10]
    assert later.units.tolist() == [[5, 0]]


def test_orders_that_do_not_cross_share_a_draw() -> None:
    """Hazards of the oldest to the newest 1, 0.5, 0.5: a draw of 0.6 lets 4 come alone, one of 0.4 all of them."""
    supply = shop(lead_time=LAW, crossing=False)
    for draw, units, left in ((0.6, 4, [5, 6]), (0.4, 15, [0, 0])):
        arrived, later = deliver(pipeline(4, 5), np.array([6.0]), supply, draws(0.9, draw))
        assert (arrived.tolist(), later.units.tolist()) == ([units], [left])


def test_a_lost_order_stays_on_the_way_until_the_longest_lead_time() -> None:
    supply, nothing = shop(lead_time={"1": 0.4, "2": 0.4, "lost": 0.2}), np.zeros(1)
    arrived, later = deliver(pipeline(0), np.array([6.0]), supply, draws(0.1, 0.0, 0.0))  # 0.1 < 0.2: lost
    assert (arrived.tolist(), later.units.tolist()) == ([0], [[6]])
    arrived, later = deliver(later, nothing, supply, draws(0.9, 0.0, 0.0))
    assert (arrived.tolist(), later.units.tolist()) == ([0], [[0]])


def test_a_share_of_an_order_arrives_rounded_at_random() -> None:
    supply = shop(lead_time=1, share=0.75)
    empty = Pipeline(np.zeros((2, 0)))
    arrived, _ = deliver(empty, np.array([6.0, 6.0]), supply, draws(0.4, 0.6))
    assert arrived.tolist() == [4, 5]  # of 4.5


def test_whether_an_order_of_the_opening_is_lost_is_drawn() -> None:
    """Not arrived after one period, it is lost with 0.2 / (0.2 + 0.4); after two it cannot be in the pipeline."""
    supply = shop(lead_time={"1": 0.4, "2": 0.4, "lost": 0.2})
    opened = Pipeline.of(supply, np.array([[5.0], [5.0]]), 2, draws(0.33, 0.34))
    assert opened.is_lost is not None
    assert opened.is_lost.tolist() == [[True], [False]]


@dataclass
class Scripted(PolicyBase):
    """Orders by a script, at a price of 4, and remembers what it saw."""

    problem: Problem
    orders: tuple[float, ...]
    observes: Observes = "sales"

    def decide(self, view: View, rng: np.random.Generator) -> Action:  # noqa: ARG002, the protocol passes it
        """The order of the period."""
        return Action(np.array([4.0]), np.array([self.orders[view.period]]))


@dataclass
class ConstantMarket:
    """One series that opens with stock 4, with 2 on the way where there is a pipeline, and sells 3 a period."""

    on_order: tuple[float, ...] = ()

    def open(self, series: int, rng: np.random.Generator) -> Opening:  # noqa: ARG002
        """Stock 4 and the pipeline."""
        pipeline = np.array([self.on_order]) if self.on_order else None
        return Opening((), np.full(series, 4.0), np.full(series, 3.0), pipeline=pipeline)

    def demand(self, period: int, features: Features, price: Floats, last_demand: Floats, rng: Any) -> Floats:  # noqa: ARG002
        """Always 3."""
        return np.full(len(price), 3.0)

    def next_features(self, features: Features, price: Floats, rng: np.random.Generator) -> Features:  # noqa: ARG002
        """There are none."""
        return features


def episode(orders: tuple[float, ...], on_order: tuple[float, ...] = (), **supply: Any) -> list[Step]:
    problem = Problem.model_validate({"supply": supply})
    rng = np.random.default_rng(0)
    policy, market = Scripted(problem, orders), ConstantMarket(on_order)
    return list(play(policy, market, problem, COSTS, len(orders), 1, rng, rng))


def test_an_episode_with_lead_time_3() -> None:
    """Stock 4 and 2 units on the way that arrive in one period; orders 5, 1, 0, 0 arrive after 3 periods."""
    steps = episode((5, 1, 0, 0, 0), (2, 0), lead_time=3)
    assert [each.view.stock.tolist() for each in steps] == [[4], [3], [0], [5], [3]]
    assert [each.view.pipeline.tolist() for each in steps if each.view.pipeline is not None] == [
        [[2, 0]],
        [[0, 5]],
        [[5, 1]],
        [[1, 0]],
        [[0, 0]],
    ]
    assert [each.outcome.arrived.tolist() for each in steps] == [[2], [0], [5], [1], [0]]
    assert [each.outcome.sales.tolist() for each in steps] == [[3], [3], [0], [3], [3]]
    # 4 a unit sold, 3 an ordered, 1 a unit left, 2 a unit lost
    assert [each.outcome.profit.tolist() for each in steps] == [[12 - 15 - 1], [12 - 3], [-6], [12 - 2], [12]]


def test_an_episode_with_order_days() -> None:
    steps = episode((5, 0, 5, 0), lead_time=1, order_days=2)
    assert [int(each.view.order_phase[0]) for each in steps if each.view.order_phase is not None] == [0, 1, 0, 1]
    with pytest.raises(LostSalesError, match=r"at most 0 by order days and what is on the way.* orders 5 in period 1"):
        episode((5, 5), lead_time=1, order_days=2)


def test_the_capacity_of_the_pipeline_is_obeyed() -> None:
    assert len(episode((4, 3), lead_time=2, capacity=7)) == 2
    with pytest.raises(LostSalesError, match="at most 3 by order days and what is on the way"):
        episode((4, 4), lead_time=2, capacity=7)
