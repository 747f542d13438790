"""Exact references over stock and pipeline: textbook figures, brute force, and what must hold of any of them."""

from typing import Any

import numpy as np
import pytest

from lostsales.lab.exact.finite_model import Resolution
from lostsales.lab.exact.pipeline_model import PipelineModel
from lostsales.lab.exact.pipeline_solve import average_profit, solve_pipeline
from lostsales.lab.exact.solve import Target, solve, solve_reference
from lostsales.lab.exact.value_iteration import Criterion
from lostsales.policy.file_format import load
from lostsales.policy.view import View
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import evaluate_policy
from tests.lab.exact.brute_force import best_value
from tests.lab.exact.tiny import tiny

# Optimal average costs by demand and lost-sale cost, lead times 1, 2, ...: Zipkin (2008), Old and new methods for
# lost-sales inventory systems; holding cost 1, mean demand 5.
OPTIMAL = {
    ("poisson", 4): (4.04, 4.40, 4.60, 4.73),
    ("poisson", 9): (5.44, 6.09, 6.53, 6.84),
    ("poisson", 19): (6.68, 7.66, 8.36, 8.89),
    ("poisson", 39): (7.84, 9.11, 10.04, 10.79),
    ("geometric", 4): (9.82, 10.24, 10.47),
    ("geometric", 9): (14.51, 15.50, 16.14),
    ("geometric", 19): (19.22, 20.89, 22.06),
    ("geometric", 39): (23.87, 26.21, 27.96),
}
# Of the best base-stock and capped base-stock with Poisson demand and lead time 2, by lost-sale cost.
BASE_STOCK = {9: (6.31, 6.12), 39: (9.19, 9.13)}


def textbook(demand: str, lost: float, lead_time: int) -> Scenario:
    settings = f"demand.law={demand}", f"supply.lead_time={lead_time}", f"costs.lost={lost}"
    return Scenario.load("lost-sales", settings)


def average(scenario: Scenario) -> float:
    return solve_pipeline(PipelineModel.of(scenario, Resolution()), Criterion(1.0)).value


@pytest.mark.parametrize(("demand", "lost"), OPTIMAL)
def test_textbook_costs(demand: str, lost: float) -> None:
    for lead_time, cost in enumerate(OPTIMAL[demand, int(lost)][:2], start=1):
        assert -average(textbook(demand, lost, lead_time)) == pytest.approx(cost, abs=0.0051)


@pytest.mark.slow
@pytest.mark.parametrize(("demand", "lost"), OPTIMAL)
def test_textbook_costs_of_long_lead_times(demand: str, lost: float) -> None:
    for lead_time, cost in enumerate(OPTIMAL[demand, int(lost)][2:], start=3):
        assert -average(textbook(demand, lost, lead_time)) == pytest.approx(cost, abs=0.0051)


@pytest.mark.parametrize("lost", BASE_STOCK)
def test_textbook_costs_of_base_stock(lost: int) -> None:
    """The average of a table of actions, exactly: of every base-stock policy and cap of an order."""
    free = textbook("poisson", lost, 2).model_copy(update={"capacity": 35.0})  # so that no bound cuts an order
    model = PipelineModel.of(free, Resolution())
    stock, on_order = np.arange(model.shape[2])[:, None], np.arange(model.shape[3])
    position = stock + on_order

    def cost(level: int, cap: int) -> float:
        order = np.clip(level - position, 0, np.minimum(cap, model.order[-1]))
        return -average_profit(model, order[None, None, None].astype(np.uint16))

    levels = range(17, 25)
    best = min(cost(level, 30) for level in levels)
    best_capped = min(cost(level, cap) for level in levels for cap in range(6, 9))
    assert (best, best_capped) == pytest.approx(BASE_STOCK[lost], abs=0.01)


def test_bounds_on_orders_lose_nothing() -> None:
    """A capacity that never binds takes the bounds of the textbook problem away."""
    bounded = textbook("poisson", 9, 2)
    free = bounded.model_copy(update={"capacity": 40.0})
    assert average(bounded) == pytest.approx(average(free), abs=1e-5)


def test_a_longer_lead_time_never_earns_more() -> None:
    values = [average(textbook("poisson", 9, lead_time)) for lead_time in range(1, 4)]
    assert values == sorted(values, reverse=True)
    assert len(set(np.round(values, 3))) == 3
    several = tiny(longest_run=None)
    values = [solve(_with_lead(several, lead_time), horizon=6).value for lead_time in range(4)]
    assert values == sorted(values, reverse=True)


def _with_lead(scenario: Scenario, lead_time: Any, **supply: Any) -> Scenario:
    keys = scenario.model_dump(by_alias=True) | {"supply": {"lead_time": lead_time} | supply}
    return Scenario.model_validate(keys)


SUPPLIES: list[tuple[Any, dict[int, float], int]] = [
    (2, {2: 1.0}, 1),
    ({"1": 0.5, "2": 0.3, "lost": 0.2}, {1: 0.5, 2: 0.3}, 1),
    (2, {2: 1.0}, 2),
    ({"1": 0.9, "lost": 0.1}, {1: 0.9}, 1),
]


@pytest.mark.parametrize(("lead_time", "chances", "every"), SUPPLIES)
@pytest.mark.parametrize("longest_run", [None, 1])
def test_equals_brute_force(lead_time: Any, chances: dict[int, float], every: int, longest_run: int | None) -> None:
    """Fixed, random and lost deliveries, and order days, in worlds where all histories can be enumerated."""
    supply = {"order_days": every} if every > 1 else {}
    scenario, criterion = _with_lead(tiny(longest_run=longest_run), lead_time, **supply), Criterion(0.9, 4)
    oracle = solve_reference(scenario, "oracle", criterion).value
    assert oracle == pytest.approx(best_value(scenario, 4, 0.9, True, chances, every), abs=1e-8)


def test_pi_star_is_near_brute_force_and_below_the_oracle() -> None:
    """Beliefs are interpolated on a grid by two moments: in a world of demands 0 to 3 that leaves an error of 1 %."""
    scenario, criterion = _with_lead(tiny(longest_run=None), 2), Criterion(1.0, 4)
    oracle, pi_star = (solve_reference(scenario, target, criterion).value for target in ("oracle", "pi-star"))
    exact = best_value(scenario, 4, 1.0, sees_demand=False, chances={2: 1.0})
    assert pi_star == pytest.approx(exact, rel=0.01)
    assert exact < oracle
    assert pi_star < oracle


@pytest.mark.parametrize("criterion", [Criterion(0.9), Criterion(1.0, 4)])
@pytest.mark.parametrize("target", ["oracle", "pi-star"])
def test_lead_time_1_has_the_value_of_the_plain_model(criterion: Criterion, target: Target) -> None:
    """Order days on every period lead to the model with a pipeline, whose values must be those of the other."""
    plain = tiny(arrival="after", longest_run=None)
    every = _with_lead(plain, 1, order_days=1)
    values = [solve_reference(each, target, criterion, method="beliefs").value for each in (plain, every)]
    assert values[0] == pytest.approx(values[1], abs=1e-6)


def test_the_policy_earns_its_value(tmp_path: Any) -> None:
    scenario = Scenario.load(
        "lost-sales", ("supply.lead_time={1=0.4, 2=0.4, lost=0.2}", "orders={most=10}", "horizon=400")
    )
    solved = solve(scenario, "pi-star", average=True)
    solved.policy.save(tmp_path / "policy")
    policy = load(tmp_path / "policy")
    earned = evaluate_policy(scenario, policy, 400)
    assert policy.observes == "sales"
    assert earned.mean_profit == pytest.approx(solved.value, abs=4 * earned.std_error + 0.1)  # it opens empty


def test_orders_that_do_not_cross() -> None:
    """One draw decides about all orders: an outcome differs from independent draws, by simulation too."""
    settings = (
        "supply.lead_time={1=0.2, 2=0.3, 3=0.5}",
        "orders={most=8}",
        "start={stock = 10, on_order = [5, 5]}",
        "horizon=400",
    )
    crossing, not_crossing = (
        Scenario.load("lost-sales", (*settings, *more)) for more in ((), ("supply.crossing=false",))
    )
    solved = solve(not_crossing, average=True)
    earned = evaluate_policy(not_crossing, solved.policy, 300)
    assert earned.mean_profit == pytest.approx(solved.value, abs=4 * earned.std_error + 0.1)
    assert solved.value != pytest.approx(solve(crossing, average=True).value, abs=0.01)


def test_a_view_is_found_in_the_table() -> None:
    """The table of lead time 2 is asked at the stock and the order on the way."""
    scenario = textbook("poisson", 9, 2)
    policy = solve(scenario, average=True).policy
    stock, on_order = np.array([0.0, 8.0, 20.0, 500.0]), np.array([[0.0], [6.0], [8.0], [8.0]])
    nothing = np.zeros(4)
    view = View(0, (), stock, nothing, nothing > 0, nothing.astype(np.int16), None, pipeline=on_order)
    order = policy.decide(view, np.random.default_rng(0)).order
    assert order[0] > order[1] > order[2] == order[3] == 0
