"""Every solver against brute force, which enumerates all decisions and outcomes of a tiny scenario."""

from typing import Any

import numpy as np
import pytest

from lostsales.errors import SettingError
from lostsales.lab.exact.finite_model import FiniteModel, Resolution
from lostsales.lab.exact.history_tree import ExactExpansion, history_tree, solve_histories
from lostsales.lab.exact.solve import Method, opening_of_tree, solve_reference
from lostsales.lab.exact.value_iteration import Criterion
from tests.lab.exact.brute_force import best_value
from tests.lab.exact.monte_carlo import SampledExpansion
from tests.lab.exact.tiny import tiny

SHOPS: list[dict[str, Any]] = [
    {},
    {"arrival": "after"},
    {"arrival": "after", "balance": "netted"},
    {"arrival": "after", "longest_run": None},
    {"longest_run": None},
]


@pytest.mark.parametrize("shop", SHOPS)
def test_finite_horizon_equals_brute_force(shop: dict[str, Any]) -> None:
    scenario, criterion = tiny(**shop), Criterion(1.0, 4)
    oracle = solve_reference(scenario, "oracle", criterion).value
    pi_star = solve_reference(scenario, "pi-star", criterion, method="histories").value
    assert oracle == pytest.approx(best_value(scenario, 4, 1.0, sees_demand=True), abs=1e-8)
    assert pi_star == pytest.approx(best_value(scenario, 4, 1.0, sees_demand=False), abs=1e-8)


@pytest.mark.parametrize("shop", SHOPS[:3])
def test_stationary_equals_brute_force(shop: dict[str, Any]) -> None:
    """The tail after forty periods at discount 0.5 is below 1e-10."""
    scenario, criterion = tiny(**shop), Criterion(0.5)
    oracle = solve_reference(scenario, "oracle", criterion).value
    pi_star = solve_reference(scenario, "pi-star", criterion, method="histories").value
    assert oracle == pytest.approx(best_value(scenario, 40, 0.5, sees_demand=True), abs=1e-8)
    assert pi_star == pytest.approx(best_value(scenario, 40, 0.5, sees_demand=False), abs=1e-8)


@pytest.mark.parametrize("shop", SHOPS)
@pytest.mark.parametrize("method", ["beliefs", "histories"])
def test_more_information_never_lowers_the_value(shop: dict[str, Any], method: Method) -> None:
    """pi* on sales is never above the oracle on demand, for both balances."""
    scenario, criterion = tiny(**shop), Criterion(1.0, 4)
    oracle = solve_reference(scenario, "oracle", criterion).value
    assert solve_reference(scenario, "pi-star", criterion, method=method).value <= oracle + 1e-9


def test_cost_of_censoring() -> None:
    for arrival, cost in (("before", 0.2241), ("after", 0.3482)):
        scenario, criterion = tiny(arrival=arrival), Criterion(1.0, 4)
        oracle, pi_star = (solve_reference(scenario, target, criterion).value for target in ("oracle", "pi-star"))
        assert oracle - pi_star == pytest.approx(cost, abs=1e-4)


@pytest.mark.parametrize(
    ("shop", "criterion"),
    [*((shop, Criterion(1.0, 4)) for shop in SHOPS), *((shop, Criterion(0.9)) for shop in SHOPS[:3])],
)
def test_beliefs_agree_with_histories(shop: dict[str, Any], criterion: Criterion) -> None:
    """Within 0.01 a period, even where demand is so coarse that two moments determine little of a belief."""
    scenario = tiny(**shop)
    histories = solve_reference(scenario, "pi-star", criterion, method="histories").value
    beliefs = solve_reference(scenario, "pi-star", criterion, method="beliefs").value
    assert beliefs == pytest.approx(histories, abs=0.01 * criterion.worth)


@pytest.mark.parametrize("max_depth", [1, 2])
def test_largest_depth_binds_beliefs_and_histories_alike(max_depth: int) -> None:
    """The largest order ends every run here, so that UP^(n) of Section 3.2 is never empty."""
    scenario, criterion = tiny(longest_run=None), Criterion(0.9)
    histories = solve_reference(scenario, "pi-star", criterion, max_depth, "histories").value
    beliefs = solve_reference(scenario, "pi-star", criterion, max_depth, "beliefs").value
    free = solve_reference(scenario, "pi-star", criterion, method="beliefs").value
    assert beliefs == pytest.approx(histories, abs=0.01 * criterion.worth)
    assert histories <= free + 0.01 * criterion.worth


def test_class_without_a_policy_is_refused() -> None:
    scenario = tiny(longest_run=None, orders=[0, 1, 2])
    with pytest.raises(SettingError, match="no policy is sure to keep runs"):
        solve_reference(scenario, "pi-star", Criterion(0.9), 1, "histories")


def test_many_histories_are_refused() -> None:
    with pytest.raises(SettingError, match="more than 20,000 histories"):
        solve_reference(tiny(longest_run=6, demand={"maximum": 9}), "pi-star", Criterion(0.9), method="histories")


@pytest.mark.parametrize(("arrival", "longest_run"), [("before", 2), ("after", 1)])
def test_monte_carlo_averages_agree(arrival: str, longest_run: int) -> None:
    """The paper's solution (Section 5); the maximum of noisy averages is biased upwards, by less than 0.03 a period."""
    scenario, criterion = tiny(arrival=arrival, longest_run=longest_run), Criterion(1.0, 3)
    model = FiniteModel.of(scenario, Resolution())
    exact = solve_histories(history_tree(model, ExactExpansion(model), None, 3), criterion)
    expansion = SampledExpansion(model, 3_000, np.random.default_rng(0))
    sampled = solve_histories(history_tree(model, expansion, None, 3), criterion)
    ours, theirs = (opening_of_tree(model, found.value[0]) for found in (exact, sampled))
    assert theirs == pytest.approx(ours, abs=0.03 * criterion.worth)
