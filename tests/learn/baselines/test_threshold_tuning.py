"""Rules tuned on a log, where the best rule is known."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from lostsales.data.business_rules import OwnRules
from lostsales.data.economics import UnitCosts, critical_fractile
from lostsales.data.log import SalesLog
from lostsales.lab.exact.solve import solve_reference
from lostsales.lab.exact.value_iteration import Criterion
from lostsales.learn.baselines.thresholds import ThresholdPolicy, Thresholds
from lostsales.learn.fit import fit
from lostsales.policy.action_grid import ActionGrid
from lostsales.policy.rules import Rules
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import evaluate_policy, simulate

COSTS = UnitCosts(lost=2, order=3, holding=1)


def log_of(name: str, *settings: str, episodes: int = 60) -> SalesLog:
    return simulate(Scenario.load(name, settings), episodes=episodes, seed=3)[0]


def tuned(log: SalesLog, method: str) -> ThresholdPolicy:
    policy = fit(log, method)
    assert isinstance(policy, ThresholdPolicy)
    return policy


@pytest.mark.parametrize("method", ["base-stock", "newsvendor"])
def test_base_stock_of_case_1(method: str) -> None:
    """Porteus: up to the least S with P(D <= S) >= (p + lost - c) / (p + lost + h - discount c)."""
    log = log_of("newsvendor", "prices=[6]", "discount=0.99")
    units = np.arange(41)
    level = float(units[norm.cdf((units + 0.5 - 10) / 3) >= (6 + 2 - 3) / (6 + 2 + 1 - 0.99 * 3)][0])
    rule = tuned(log, method).thresholds
    assert rule.order_at == rule.order_up_to
    assert abs(float(rule.order_up_to) - level) <= 1


def test_the_newsvendor_earns_what_it_promises_where_its_belief_is_true() -> None:
    world = Scenario.load("newsvendor")
    oracle = evaluate_policy(world, solve_reference(world, "oracle", Criterion(0.9)).policy, 2_000, seed=5)
    for method in ("newsvendor", "base-stock"):
        policy = tuned(log_of("newsvendor", episodes=200), method)
        earned = evaluate_policy(world, policy, 2_000, seed=5)
        assert policy.value == pytest.approx(earned.mean_profit, rel=0.03)
        assert earned.mean_profit > 0.98 * oracle.mean_profit


def test_a_late_order_serves_two_periods() -> None:
    """The discount shrinks what a late unit earns: (0.9 x 8 - 3) / (0.9 x (8 + 1 - 0.9 x 3))."""
    assert critical_fractile(6.0, COSTS, 0.9, lead_time=1) == pytest.approx(4.2 / 5.67)
    assert critical_fractile(0.5, COSTS, 0.9, lead_time=0) == 0.0
    early, late = (tuned(log_of("newsvendor", f"arrival={each}"), "newsvendor") for each in ("before", "after"))
    assert early.thresholds.price == late.thresholds.price
    assert float(late.thresholds.order_up_to) > 1.5 * float(early.thresholds.order_up_to)


def test_s_S_p_of_case_2() -> None:  # noqa: N802, the name of the policy
    """With a fixed cost of every order (s, S, p) is the best there is, and base-stock orders far too often."""
    world = Scenario.load("fixed-cost")
    log = log_of("fixed-cost")
    policy = tuned(log, "s-S-p")
    assert float(policy.thresholds.order_at) < float(policy.thresholds.order_up_to) - 5
    best, s_s_p, base_stock = (
        evaluate_policy(world, each, 1_000, seed=5).mean_profit
        for each in (solve_reference(world, "oracle", Criterion(0.99)).policy, policy, tuned(log, "base-stock"))
    )
    assert s_s_p > 0.97 * best
    assert base_stock < 0.7 * s_s_p


def test_the_shortcut_without_rules_agrees_with_the_search_over_all_actions() -> None:
    rng = np.random.default_rng(0)
    grid = ActionGrid(np.array([4.0, 5.0]), np.array([0.0, 4.0, 10.0, 11.0]), room=20.0)
    rule, stock = Thresholds(7, 12, price=4.0, waiting_price=5.0), rng.integers(0, 21, 200).astype(np.float64)
    unknown = np.full(200, np.nan)
    harmless = Rules(forbidden=((4.0, 99.0),))
    quick, searched = (rule.act(grid, rules, stock, unknown) for rules in (Rules(), harmless))
    np.testing.assert_array_equal(quick.price, searched.price)
    np.testing.assert_array_equal(quick.order, searched.order)
    assert set(quick.order) == {0.0, 4.0, 10.0, 11.0}


def test_a_stock_beyond_the_log_is_flagged() -> None:
    log = log_of("newsvendor", episodes=4)
    policy = tuned(log, "base-stock")
    import pandas as pd

    today = pd.DataFrame({"series": ["a", "b"], "period": [0, 0], "stock": [1.0, 1e4], "last_sales": [3.0, 3.0]})
    answer = policy.recommend(None, today)
    assert answer["flag"].tolist() == ["", "outside the data"]
    assert answer["order"].tolist() == [float(policy.thresholds.order_up_to) - 1, 0]
    assert answer["runner_up_price"].isna().all()


def test_rules_of_some_products_are_obeyed() -> None:
    log = log_of("newsvendor", episodes=10)
    policy = fit(log, "newsvendor", rules=Rules(own=(OwnRules(where={"series": ("1",)}, multiple=8),)))
    today = pd.DataFrame({"series": ["1", "2"], "period": 99, "stock": 0.0})
    orders = policy.recommend(None, today)["order"]
    assert orders[0] % 8 == 0
    assert orders[1] % 8 > 0
