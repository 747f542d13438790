"""How prices and orders were set: verdicts against managers whose rules are known."""

import numpy as np
import pytest

from lostsales.data.log import SalesLog
from lostsales.demand.audit.behaviour import audit_behaviour
from lostsales.demand.audit.decision_panel import DecisionPanel
from lostsales.demand.audit.decision_tests import DecisionTest, decision_tests, holm
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import simulate

REACTS_TO_SALES = ("strength=0", "manager.price.on.last_sales=0.2", "manager.level.on.last_sales=0.8")
REACTS_TO_STOCK = ("strength=0", "manager.price.on.stock=-0.1")
DOES_NOT_SEE_IT = ("manager.price.on.market=0", "manager.level.on.market=0")


def by_manager(*settings: str, seed: int = 1, scenario: str = "confounded") -> SalesLog:
    return simulate(Scenario.load(scenario, settings), "manager", 14, seed)[0]


def test_a_hidden_cause_is_found() -> None:
    found = audit_behaviour(by_manager())
    assert found.verdict == "hidden"
    assert found.sentence.startswith("prices or orders varied with something that the log does not show: ")
    assert [each.rejected for each in found.tests][:2] == [True, True]


def test_a_hidden_regime_and_a_hidden_trend_are_found() -> None:
    for name in ("regime", "drift"):
        assert audit_behaviour(by_manager(scenario=name)).verdict == "hidden"


def test_free_prices_are_called_free() -> None:
    found = audit_behaviour(by_manager("strength=0"))
    assert found.verdict == "freely"
    assert found.explained[-1].price < 0.02
    assert all(each.free > 0.9 for each in found.free_prices)


@pytest.mark.parametrize("settings", [REACTS_TO_SALES, REACTS_TO_STOCK], ids=["sales", "stock"])
def test_a_manager_who_reacts_to_what_the_log_shows_is_no_hidden_cause(settings: tuple[str, ...]) -> None:
    found = audit_behaviour(by_manager(*settings))
    assert found.verdict == "shown"
    by = {each.by: each.price for each in found.explained}
    assert by["all together"] > 0.02


def test_a_shock_that_the_manager_does_not_see_is_no_hidden_cause_of_prices() -> None:
    assert audit_behaviour(by_manager(*DOES_NOT_SEE_IT)).verdict == "freely"


def test_a_long_series_is_tested_in_blocks() -> None:
    log, _ = simulate(Scenario.load("confounded", ("horizon=700",)), "manager", 1, 3)
    assert audit_behaviour(log).verdict == "hidden"


@pytest.mark.slow
def test_false_alarms_are_held_at_the_level_and_strong_causes_are_found() -> None:
    """About two minutes: 100 logs of each kind."""
    for settings in (("strength=0",), REACTS_TO_SALES, REACTS_TO_STOCK, DOES_NOT_SEE_IT):
        alarms = sum(audit_behaviour(by_manager(*settings, seed=seed)).is_hidden for seed in range(100))
        assert alarms <= 5, settings
    missed = sum(audit_behaviour(by_manager(seed=seed)).verdict == "freely" for seed in range(100))
    assert missed <= 5


def test_a_single_price_or_too_few_rows_are_said() -> None:
    log, _ = simulate("confounded", "base-stock:12@6", 4, 1)
    assert audit_behaviour(log).sentence == "it cannot be determined how prices were set: the price never varied"
    few, _ = simulate(Scenario.load("confounded", ("horizon=4",)), "manager", 2, 1)
    assert "are needed" in audit_behaviour(few).sentence


def test_residuals_have_mean_zero_whatever_was_available() -> None:
    panel = DecisionPanel.of(by_manager("strength=0", seed=5))
    censored = panel.evidence.is_censored
    assert abs(np.nanmean(panel.residual)) < 0.15  # of a standard deviation of 1.5
    assert np.nanmean(panel.residual[censored]) > 1  # demand above what was there
    assert panel.price_at(-1)[1] == pytest.approx(panel.price[0])


def test_the_procedure_of_holm_on_hand_computed_values() -> None:
    tests = [DecisionTest(name, "", 0.0, p) for name, p in (("a", 0.026), ("b", 0.015), ("c", np.nan), ("d", 0.2))]
    assert [each.rejected for each in holm(tests)] == [
        False,
        True,
        False,
        False,
    ]  # 0.05 / 3 = 0.0167, then 0.05 / 2 = 0.025


def test_the_link_of_prices_is_about_the_bias_of_the_response() -> None:
    _, link = decision_tests(DecisionPanel.of(by_manager("strength=0.4", seed=2)))
    assert link is not None
    assert 0.2 < link.value < 0.7  # the slope is bent by about 0.6
