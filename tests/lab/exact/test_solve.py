"""References of the presets: known values, limits in which they coincide, agreement with simulation."""

import numpy as np
import pytest

from lostsales.lab.exact.finite_model import Resolution
from lostsales.lab.exact.solve import Target, criterion_of, solve, solve_reference
from lostsales.lab.exact.value_iteration import Criterion
from lostsales.policy.rollout import play
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import evaluate_policy
from tests.lab.exact.tiny import tiny

RELEASED = Scenario.load("released")


@pytest.mark.parametrize(("criterion", "figure"), [(Criterion(1.0, 50), 33.31), (Criterion(0.9), 33.11)])
def test_oracle_of_released(criterion: Criterion, figure: float) -> None:
    earned = evaluate_policy(RELEASED, solve_reference(RELEASED, "oracle", criterion).policy, 20_000)
    assert earned.mean_profit == pytest.approx(figure, abs=0.05)


@pytest.mark.slow
@pytest.mark.parametrize(("criterion", "least"), [(Criterion(1.0, 50), 33.15), (Criterion(0.9), 33.03)])
def test_pi_star_of_released(criterion: Criterion, least: float) -> None:
    earned = evaluate_policy(RELEASED, solve_reference(RELEASED, "pi-star", criterion).policy, 20_000)
    assert earned.mean_profit > least


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "target", "least"),
    [("paper", "oracle", 5.05), ("steady", "oracle", 5.11), ("paper", "pi-star", 4.93), ("steady", "pi-star", 4.85)],
)
def test_references_of_paper_and_steady(name: str, target: Target, least: float) -> None:
    scenario = Scenario.load(name)
    earned = evaluate_policy(scenario, solve_reference(scenario, target, Criterion(0.9)).policy, 40_000)
    assert earned.mean_profit > least


def test_planning_for_a_first_row_off_the_law() -> None:
    """The first period of `released` has a lag term of 5, not 6: planned for, it adds 0.12 a period over fifty."""
    criterion = Criterion(1.0, 50)
    lawful, planned = (solve_reference(RELEASED, "oracle", criterion, first_row=each) for each in (False, True))
    assert planned.a_period - lawful.a_period == pytest.approx(0.117, abs=0.005)
    earned = evaluate_policy(RELEASED, planned.policy, 20_000)
    assert earned.mean_profit == pytest.approx(planned.a_period, abs=4 * earned.std_error)


def discounted(scenario: Scenario, target: Target, criterion: Criterion, series: int) -> tuple[float, float, float]:
    """Value of the solver, and the simulated value with its standard error."""
    solved = solve_reference(scenario, target, criterion)
    market, decides = (np.random.default_rng(seed) for seed in (1, 2))
    total = np.zeros(series)
    steps = play(
        solved.policy, scenario, scenario, scenario.unit_costs, criterion.horizon or 120, series, market, decides
    )
    for step in steps:
        total += criterion.discount**step.view.period * step.outcome.profit
    return solved.value, float(total.mean()), float(total.std() / np.sqrt(series))


@pytest.mark.parametrize("target", ["oracle", "pi-star"])
@pytest.mark.parametrize("arrival", ["before", "after"])
@pytest.mark.parametrize("criterion", [Criterion(0.9), Criterion(1.0, 6), Criterion(0.8, 6)])
def test_simulation_agrees_on_a_tiny_scenario(target: Target, arrival: str, criterion: Criterion) -> None:
    value, mean, error = discounted(tiny(arrival=arrival), target, criterion, 20_000)
    assert mean == pytest.approx(value, abs=4 * error)


@pytest.mark.parametrize("target", ["oracle", "pi-star"])
@pytest.mark.parametrize(("name", "allowed"), [("released", 0.001), ("markov-demand", 0.001), ("steady", 0.005)])
def test_simulation_agrees_on_presets(target: Target, name: str, allowed: float) -> None:
    """Within four standard errors and the stated share of discretisation error."""
    value, mean, error = discounted(Scenario.load(name), target, Criterion(1.0, 12), 10_000)
    assert mean == pytest.approx(value, abs=4 * error + allowed * abs(value))


@pytest.mark.parametrize("settings", [("demand.rho=0",), ("demand.rho=0", "longest_run=3")])
def test_without_memory_pi_star_is_the_oracle(settings: tuple[str, ...]) -> None:
    scenario, criterion = Scenario.load("steady", settings), Criterion(1.0, 8)
    oracle, pi_star = (solve_reference(scenario, target, criterion).value for target in ("oracle", "pi-star"))
    assert pi_star == pytest.approx(oracle, abs=1e-8)


def test_without_stock_outs_pi_star_is_the_oracle() -> None:
    scenario, criterion = tiny(longest_run=None, orders=[3, 4], capacity=6), Criterion(0.9)
    oracle, pi_star = (solve_reference(scenario, target, criterion).value for target in ("oracle", "pi-star"))
    assert pi_star == pytest.approx(oracle, abs=1e-8)


@pytest.mark.parametrize("target", ["oracle", pytest.param("pi-star", marks=pytest.mark.slow)])
def test_refinement_changes_the_value_by_less_than_the_grid_error(target: Target) -> None:
    for name, criterion in (("released", Criterion(1.0, 12)), ("steady", Criterion(1.0, 3))):
        scenario = Scenario.load(name)
        stated = solve_reference(scenario, target, criterion)
        finer = solve_reference(
            scenario, target, criterion, grid=Resolution(nodes=13, orders_deep=3.0, widths=9, means=8)
        )
        assert abs(finer.value - stated.value) <= stated.grid_error + 1e-9
        assert stated.grid_error < 0.005 * abs(stated.value)


def test_larger_max_depth_never_lowers_the_value() -> None:
    scenario, criterion = Scenario.load("steady"), Criterion(1.0, 5)
    values = [
        solve_reference(scenario, "pi-star", criterion, depth, grid=Resolution(5)).value for depth in (1, 2, 3, None)
    ]
    assert np.all(np.diff(values) >= -1e-3 * abs(values[-1]))


def test_the_default_criterion() -> None:
    assert criterion_of(RELEASED, None, None) == Criterion(0.9)
    assert criterion_of(RELEASED, None, 50) == Criterion(1.0, 50)


def test_solve_takes_names_and_numbers() -> None:
    solved, inner = solve("released", "oracle", horizon=3), solve_reference(RELEASED, "oracle", Criterion(1.0, 3))
    assert (solved.value, solved.criterion) == (inner.value, inner.criterion)
    assert solve(RELEASED, discount=0.5).criterion == Criterion(0.5)
