"""Markets with a hidden state, and the manager who sees it."""

import numpy as np
import pytest

from lostsales.errors import SettingError
from lostsales.lab.exact.solve import solve
from lostsales.simulation.environment import BatchedShop
from lostsales.simulation.manager_policy import ManagerPolicy
from lostsales.simulation.presets import HIDDEN_STATE, preset_names
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import evaluate_policy, simulate


def test_a_log_does_not_show_what_is_hidden() -> None:
    log, _ = simulate("confounded", "manager", 3, 1)
    assert log.features.shape == (150, 0)
    assert log.problem.features == ()


def test_strength_zero_is_without_hidden_causes() -> None:
    scenario = Scenario.load("confounded", ("strength=0",))
    log, truth = simulate(scenario, "manager", 40, 1)
    residual = truth.demand - np.r_[np.nan, truth.demand[:-1]] * 0.4 + 1.5 * log.price - 14
    first = np.r_[True, log.series[1:] != log.series[:-1]]
    later = residual[~first]
    assert later.std() == pytest.approx(1.53, rel=0.05)  # the noise and its rounding alone
    assert abs(np.corrcoef(log.price[~first], later)[0, 1]) < 0.06


def test_the_manager_raises_prices_when_the_market_is_strong() -> None:
    log, truth = simulate("confounded", "manager", 40, 1)
    assert np.corrcoef(log.price, truth.demand)[0, 1] > 0.3


def test_other_policies_do_not_see_the_market() -> None:
    scenario = Scenario.load("confounded")
    uniform, _ = simulate(scenario, "uniform", 30, 1)
    assert abs(np.corrcoef(uniform.price, simulate(scenario, "uniform", 30, 1)[1].demand)[0, 1] + 0.4) < 0.2


def test_demand_with_a_second_lag_follows_it() -> None:
    log, truth = simulate(Scenario.load("two-lag", ("demand.noise.scale=0",)), "manager", 2, 1)
    demand = truth.demand.reshape(2, -1)
    price = log.price.reshape(2, -1)
    expected = np.rint(12 + 0.3 * demand[:, 1:-1] + 0.35 * demand[:, :-2] - 1.5 * price[:, 2:])
    np.testing.assert_array_equal(demand[:, 2:], expected)


def test_a_drift_rises_by_its_step() -> None:
    settings = ("demand.noise.scale=0", "features.market.shock=0", "features.market.step=1", "demand.rho=0")
    log, truth = simulate(Scenario.load("drift", settings), "manager", 1, 1)
    np.testing.assert_array_equal(truth.demand, np.rint(14 - 1.5 * log.price + 2 * (np.arange(50) - 1.5)))


def test_markets_are_the_same_for_every_policy_under_a_seed() -> None:
    scenario = Scenario.load("confounded", ("demand.price=0",))
    one, other = (simulate(scenario, name, 5, 3)[1] for name in ("manager", "uniform"))
    np.testing.assert_array_equal(one.demand, other.demand)


def test_the_presets_with_a_hidden_state_are_listed() -> None:
    assert {name for name in preset_names() if Scenario.load(name).has_hidden_state} == HIDDEN_STATE


def test_what_needs_the_whole_state_is_refused() -> None:
    scenario = Scenario.load("confounded")
    with pytest.raises(SettingError, match="hidden state"):
        solve(scenario)
    with pytest.raises(SettingError, match="hidden state"):
        BatchedShop(scenario, 1, observe_demand=False)
    with pytest.raises(SettingError, match="has no manager"):
        ManagerPolicy.of(Scenario.load("steady"))
    with pytest.raises(SettingError, match="hidden names moon"):
        Scenario.load("confounded", ('hidden=["moon"]',))
    with pytest.raises(SettingError, match="an instrument must not move demand"):
        Scenario.load("confounded", ('instruments=["market"]',))


def test_knowing_the_market_is_worth_money() -> None:
    scenario = Scenario.load("confounded")
    blind = scenario.model_copy(update={"manager": Scenario.load("confounded", ("manager.level.on.market=0",)).manager})
    seeing, not_seeing = (
        evaluate_policy(each, ManagerPolicy.of(each), 300, 1).mean_profit for each in (scenario, blind)
    )
    assert seeing > not_seeing
