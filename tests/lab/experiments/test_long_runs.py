"""The preset `long-runs`, where one Q per depth pays: its optimum with and without the history of a run, exactly."""

import numpy as np
import pytest
from scipy.stats import norm

import lostsales
from lostsales.demand.censoring.runs import find_runs
from lostsales.lab.exact.solve import criterion_of, solve_reference
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import evaluate_policy, simulate
from lostsales.types import Floats

SHOP = Scenario.load("long-runs")
PRICES, SUPPLY, MOST = (3.0, 9.0), 5, 40
DEMAND = np.arange(MOST + 1)


def transitions(price: float) -> Floats:
    """P(D_t = d | D_{t-1}), (last demand, demand): rint(12.4 + 0.95 D - 2 P + N(0, 2)), kept within 0 and 40."""
    mean = 12.4 + 0.95 * DEMAND - 2 * price
    below = norm.cdf((DEMAND[:-1] + 0.5 - mean[:, None]) / 2)
    return np.diff(np.column_stack([np.zeros(len(mean)), below, np.ones(len(mean))]), axis=1)


def best_value(after_stockout: int | None) -> float:
    """Value of the opening state at discount 0.9, a period.

    After a stock-out the last observation is always the same: stock 0 and sales of 5, of a demand above 5. Without the
    history there is thus one price to choose after it, an index of `PRICES`; with it given, what remains is a Markov
    decision process. None: true demand is always observed (the oracle).
    """
    sold, left = np.minimum(DEMAND, SUPPLY), np.maximum(SUPPLY - DEMAND, 0)
    profit = [price * sold - 0.1 * np.maximum(DEMAND - SUPPLY, 0) - 5.0 - 0.5 * left for price in PRICES]
    moves, value = [transitions(price) for price in PRICES], np.zeros(len(DEMAND))
    for _ in range(400):
        q = np.array([move @ (now + 0.9 * value) for move, now in zip(moves, profit, strict=True)])
        value = q.max(axis=0)
        if after_stockout is not None:
            value = np.where(DEMAND > SUPPLY, q[after_stockout], value)
    return float(value[5]) / 10


def test_the_history_of_a_run_is_worth_more_than_a_tenth_of_the_optimum() -> None:
    oracle, pi_star = (
        solve_reference(SHOP, target, criterion_of(SHOP, None, None)) for target in ("oracle", "pi-star")
    )
    assert oracle.a_period == pytest.approx(best_value(None), abs=1e-6)
    without = max(best_value(0), best_value(1))
    assert without == pytest.approx(14.47, abs=0.01)
    with_history = (pi_star.value - pi_star.grid_error) / 10
    assert with_history == pytest.approx(20.7, abs=0.3)
    assert without < 0.75 * with_history


def test_runs_are_long() -> None:
    log, _ = simulate(SHOP, episodes=100, seed=1)
    assert log.censored.mean() > 0.6
    assert find_runs(log).longest > 30


def test_the_planner_earns_what_the_optimum_with_the_history_earns() -> None:
    """Undiscounted, pi* earns 22.5 (0.1); demands of up to 40 are hidden above sales of at most 5."""
    log, _ = simulate(SHOP, episodes=10, seed=102)
    policy = lostsales.fit(log, pricing="free", draws=1)
    assert evaluate_policy(SHOP, policy, 100, 3).mean_profit > 22


def test_c_fqi_earns_more_than_any_policy_on_the_last_observation() -> None:
    log, _ = simulate(SHOP, episodes=20, seed=2)
    with pytest.warns(UserWarning, match="the order never varied"):
        policy = lostsales.fit(log, "c-fqi", iterations=20, pricing="free")
    one_q = lostsales.fit(log, "fqi-imputed", iterations=20, pricing="free")
    assert evaluate_policy(SHOP, one_q, 100, 3).mean_profit < 14.5
    assert evaluate_policy(SHOP, policy, 100, 3).mean_profit > 19
