"""Exact solutions for goods that perish: published figures, another solver, simulation."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import gamma

from lostsales.errors import SettingError
from lostsales.lab.exact.solve import criterion_of, solve, solve_reference
from lostsales.lab.exact.value_iteration import Criterion
from lostsales.policy.file_format import load
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import evaluate_policy
from lostsales.types import Floats

# Poisson demand of mean 5, price 1, cost 0.5, the oldest first, on the shelf the next period. Best average profit by
# shelf life: Hendrix, Ortega, Haijema, Buisman, Garcia (2019), On computing optimal policies in perishable inventory
# control using value iteration; and the best base-stock level.
HENDRIX = {2: (2.22, 13), 3: (2.40, 15), 4: (2.47, 17)}


def fresh(life: int, *settings: str) -> Scenario:
    costs = "costs={lost=0, order=0.5, holding=0}", "prices=[1]", "demand={law='poisson', mean=5}"
    most = "orders={multiple=1, most=12}", "product.waste_cost=0", f"product.shelf_life={life}"
    return Scenario.load("perishable", (*costs, *most, *settings))


@pytest.mark.parametrize("life", [2, 3, pytest.param(4, marks=pytest.mark.slow)])
def test_published_average_profit(life: int) -> None:
    assert solve_reference(fresh(life), "oracle", Criterion(1.0)).value == pytest.approx(HENDRIX[life][0], abs=0.0051)


@pytest.mark.parametrize("life", [2, 3])
def test_published_base_stock_level_is_best_in_simulation(life: int) -> None:
    """By common random numbers, against the levels next to it."""
    scenario, level = fresh(life, "horizon=2000"), HENDRIX[life][1]
    earned = {
        each: evaluate_policy(scenario, _rule(scenario, each), 300).mean_profit for each in range(level - 1, level + 2)
    }
    assert max(earned, key=lambda each: earned[each]) == level
    assert max(earned.values()) < HENDRIX[life][0]


def _rule(scenario: Scenario, level: int) -> Any:
    from lostsales.policy.simple import BaseStockRule

    return BaseStockRule(scenario.problem, float(level), 1.0)


def other_value(life: int, lead_time: int, *, oldest_first: bool, waste: float) -> float:
    """Discounted value of an empty shop by another value iteration, after the description of De Moor et al. (2022).

    An order is placed; demand is served; what is left of the oldest is thrown away, the rest is held; an order arrives.
    """
    ends = gamma.cdf(np.arange(41) + 0.5, 4.0)  # shape 1 / cv^2 = 4, scale mean / shape = 1
    pmf = np.diff(np.r_[0.0, ends])
    entries = life - 1 + lead_time
    states = np.array(list(product(range(11), repeat=entries)))
    weight = 11 ** np.arange(entries - 1, -1, -1)
    value = np.zeros(len(states))
    moves, profit = np.empty((11, len(pmf), len(states)), dtype=np.int64), np.empty((11, len(pmf), len(states)))
    for order, demand in product(range(11), range(len(pmf))):
        shelf, left = states[:, :life].copy(), np.full(len(states), demand)
        for age in range(life) if oldest_first else reversed(range(life)):
            sold = np.minimum(shelf[:, age], left)
            shelf[:, age] -= sold
            left = left - sold
        profit[order, demand] = -3 * order - 5 * left - waste * shelf[:, 0] - shelf[:, 1:].sum(axis=1)
        later = np.column_stack([shelf[:, 1:], states[:, life:], np.full(len(states), order)])
        moves[order, demand] = later @ weight
    while True:
        new = np.tensordot(profit + 0.99 * value[moves], pmf, axes=(1, 0)).max(axis=0)
        change = new - value
        value = new
        if np.ptp(change) < 1e-7:
            return float(value[0] + 99 * change.mean())


@pytest.mark.parametrize("lead_time", [1, 2])
@pytest.mark.parametrize(("issuing", "waste"), [("fifo", 7), ("lifo", 10)])
def test_another_value_iteration_agrees(lead_time: int, issuing: str, waste: float) -> None:
    settings = f"supply.lead_time={lead_time}", f"product.issuing={issuing}", f"product.waste_cost={waste}"
    found = solve_reference(Scenario.load("perishable", settings), "oracle", Criterion(0.99)).value
    assert found == pytest.approx(other_value(2, lead_time, oldest_first=issuing == "fifo", waste=waste), abs=1e-3)


@pytest.mark.parametrize("settings", [("supply.lead_time=2",), ("supply.lead_time=0", "product.issuing=lifo")])
def test_its_policy_earns_its_value_in_simulation(settings: tuple[str, ...], tmp_path: Path) -> None:
    scenario = Scenario.load("perishable", (*settings, "horizon=1000", "product.shelf_life=3"))
    solved = solve_reference(scenario, "oracle", Criterion(1.0))
    solved.policy.save(tmp_path / "policy")
    earned = evaluate_policy(scenario, load(tmp_path / "policy"), 300, seed=2)
    assert abs(earned.mean_profit - solved.value) < 4 * earned.std_error + 0.02  # that is what opening empty costs


def test_a_share_of_oldest_first_lies_between() -> None:
    value: dict[Any, float] = {}
    for issuing in ("fifo", 0.5, "lifo"):
        scenario = Scenario.load("perishable", (f"product.issuing={issuing}", "horizon=1000"))
        solved = solve_reference(scenario, "oracle", Criterion(1.0))
        value[issuing] = solved.value
        if issuing == 0.5:
            earned = evaluate_policy(scenario, solved.policy, 300, seed=2)
            assert abs(earned.mean_profit - solved.value) < 4 * earned.std_error + 0.02
    assert value["lifo"] < value[0.5] < value["fifo"]


def test_a_life_that_outlasts_the_horizon_has_the_value_of_none() -> None:
    settings = "orders={multiple=1, most=4}", "demand.mean=1.5", "costs={lost=5, order=0, holding=1}"
    ends = criterion_of(Scenario.load("perishable"), 0.9, 3)
    values = [
        solve_reference(Scenario.load("perishable", (*settings, f"product.shelf_life={life}")), "oracle", ends).value
        for life in (3, 4)
    ]
    without = Scenario.load("lost-sales", (*settings, "supply.lead_time=1", "demand={law='gamma', mean=1.5}"))
    assert values[0] == pytest.approx(values[1], abs=1e-9)
    assert values[0] == pytest.approx(solve_reference(without, "oracle", ends).value, abs=1e-9)


def test_what_cannot_be_solved_is_refused() -> None:
    with pytest.raises(SettingError, match="independent demand"):
        solve(Scenario.load("released", ("product.shelf_life=3",)), "oracle")
    with pytest.raises(SettingError, match="too large"):
        solve(Scenario.load("perishable", ("product.shelf_life=9",)), "oracle")
    with pytest.raises(SettingError, match="shelf_life"):
        Scenario.load("perishable", ("product.shelf_life=0",))


def test_gamma_demand_is_drawn_as_it_is_planned() -> None:
    law = Scenario.load("perishable").demand_law
    drawn: Floats = np.rint(law.draw(200_000, np.random.default_rng(0)))  # type: ignore[union-attr]  # a Gamma
    for demand in range(12):
        assert np.mean(drawn <= demand) == pytest.approx(law.at_most(np.array([float(demand)]))[0], abs=0.005)  # type: ignore[union-attr]
