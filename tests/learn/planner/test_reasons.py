"""What drove a price: every case by hand, and as plans tell it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lostsales.demand.law.demand_law import Family
from lostsales.learn.planner.planner import Planner
from lostsales.learn.planner.policy import PlanPolicy
from lostsales.learn.planner.reasons import PriceFacts
from lostsales.policy.rules import Rules
from lostsales.policy.view import Action, ClosedPeriod, View
from tests.learn.planner.true_law import LINEAR, true_model, view_of
from tests.learn.small import small_log

PRICES = np.array([[4.0, 5.0, 6.0]])
STEEP, FLAT = np.array([[20.0, 12.0, 4.0]]), np.array([[11.0, 10.5, 10.0]])


def reason(price: float, demand: Any = STEEP, **other: Any) -> str:
    """The reason of one row, where nothing but today's demand matters unless said."""
    one = np.array([price])
    given: dict[str, Any] = {
        "price": one,
        "without_rule": {},
        "unpenalised": one,
        "usual_stock": one,
        "usual_stock_chance": np.array([0.62]),
        "cover": np.array([5.04]),
        "candidates": PRICES,
        "demand": demand,
        "unit_cost": np.array([3.0]),
        "is_safe": np.array([False]),
    }
    (text,) = PriceFacts(**given | other).reasons()
    return str(text)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (reason(5.0), "best profit at today's demand (elasticity -4.0)"),  # log(4 / 20) / log(6 / 4)
        (reason(6.0, FLAT), "highest of the grid: demand falls little with the price (elasticity -0.3)"),
        (
            reason(4.0, np.array([[90.0, 12.0, 4.0]])),
            "lowest of the grid: demand falls much with the price (elasticity -9.0)",
        ),
        (reason(6.0), "above 5, the best for today alone: later periods and stock costs count"),
        (reason(4.0), "below 5, the best for today alone: later periods and stock costs count"),
        (reason(4.0, usual_stock=np.array([5.0])), "lowered from 5: 5.0 periods of cover on hand"),
        (reason(6.0, usual_stock=np.array([5.0])), "raised from 5: a stock-out at that price has a chance of 62%"),
        (
            reason(4.0, unpenalised=np.array([5.0]), usual_stock=np.array([5.0])),
            "cautious: 5 if its effect on demand were certain",
        ),
        (
            reason(4.0, without_rule={"least_margin": np.array([4.0]), "greatest_price_change": np.array([5.49])}),
            "limited by rules.greatest_price_change: 5.49 without it",
        ),
        (reason(4.0, candidates=np.array([[4.0, np.nan, np.nan]])), "the only price that may be charged"),
        (reason(6.0, is_safe=np.array([True])), "the safe action after a long run of stock-outs"),
        (reason(5.0, np.array([[0.0, 1.0, 0.0]])), "best profit at today's demand"),
    ],
)
def test_every_case_in_words(found: str, expected: str) -> None:
    assert found == expected


def test_a_price_that_may_not_be_charged_is_not_compared_with() -> None:
    assert reason(4.0, candidates=np.array([[4.0, np.nan, 6.0]])).startswith("lowest of the grid: ")


@pytest.fixture(scope="module")
def policy() -> PlanPolicy:
    """A plan that knows the law of `steady`."""
    log = small_log("steady")
    return Planner(draws=1).plan(log, model=true_model(log, "paper"))


def view(stock: float, last_price: float = 4.0) -> View:
    then = view_of([1.0, 3.0], 20.0, 9.0, 0)
    return view_of([1.0, 3.0], stock, 9.0, 0, (ClosedPeriod(then, Action(np.array([last_price]), np.array([5.0]))),))


def told(policy: PlanPolicy, view: View) -> tuple[float, str]:
    decision = policy.explain(view)
    return float(decision.price[0]), str(decision.reasons()["price_reason"][0])


def test_a_scarce_stock_raises_the_price_and_says_so(policy: PlanPolicy) -> None:
    usual, _ = told(policy, view(18.0))
    scarce, why = told(policy, view(6.0))
    assert scarce > usual
    assert why.startswith(f"raised from {usual:g}: a stock-out at that price has a chance of")


def test_a_stock_that_lasts_lowers_the_price_and_says_so() -> None:
    log = small_log("nonlinear", 20, seed=2)
    learned = Planner(draws=1, families=(Family("linear", True),)).plan(log)
    usual, plenty = (view_of([1.0, 0.0], stock, 12.0, 0) for stock in (0.0, 60.0))
    (price, _), (lowered, why) = told(learned, usual), told(learned, plenty)
    assert lowered < price
    cover = 60 / learned.explain(plenty).more["expected_demand"][0]
    assert why == f"lowered from {price:g}: {cover:.1f} periods of cover on hand"


def test_the_price_of_no_stock_is_not_put_down_to_plenty(policy: PlanPolicy) -> None:
    assert "lowered from" not in told(policy, view(0.0))[1]


def test_a_rule_that_binds_is_named_with_the_price_without_it(policy: PlanPolicy) -> None:
    scarce = view(6.0)
    free, _ = told(policy, scarce)
    bound = replace(policy, rules=Rules(greatest_price_change=0.1))
    assert free > 4.0
    assert told(bound, scarce) == (4.0, f"limited by rules.greatest_price_change: {free:g} without it")
    assert told(bound, view(6.0, last_price=free))[0] == free
    assert "limited" not in told(bound, view(6.0, last_price=free))[1]


def test_pessimism_that_moves_the_price_is_named() -> None:
    cautious = Planner(draws=3, families=LINEAR, pessimism=0.9).plan(small_log("steady"))
    named = []
    for stock in np.arange(0.0, 25.0):
        decision = cautious.explain(view(stock))
        neutral = replace(cautious, pessimism=0.0).explain(view(stock))
        named.append(str(decision.reasons()["price_reason"][0]).startswith("cautious: "))
        assert named[-1] == bool(decision.price[0] != neutral.price[0])
    assert any(named)
