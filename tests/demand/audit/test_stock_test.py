"""The test that demand does not depend on stock: its size without dependence, its power with it."""

import numpy as np

from lostsales.demand.audit.stock_test import StockTest, stock_independence
from lostsales.demand.censoring.runs import find_runs
from tests.demand.logs import log_of_draws, log_of_flags

LOGS = 40


def result(seed: int, effect: float) -> StockTest:
    """A log in which a unit more in stock makes demand rise by `effect`, given price and the last demand."""
    rng = np.random.default_rng(seed)
    price = rng.choice([2.0, 4.0, 6.0], (20, 25))
    # Stock follows price, as it does where both are planned: given price it is independent of demand.
    available = np.rint(16 - price + rng.normal(0, 3, price.shape)).clip(1)
    demand, last = np.empty(price.shape), np.full(20, 8.0)
    for period in range(25):
        mean = 9 + 0.4 * last - price[:, period] + effect * (available[:, period] - 12)
        last = demand[:, period] = np.rint(mean + rng.normal(0, 2.5, 20)).clip(0)
    log = log_of_draws(demand, available, price=price)
    return stock_independence(log, find_runs(log))


def test_without_dependence_few_logs_are_rejected() -> None:
    """At 5 %, more than 6 of 40 logs have a chance of 1 %; the statistic is neither shifted nor spread out."""
    found = [result(seed, effect=0.0) for seed in range(LOGS)]
    z = np.array([each.z for each in found])
    assert np.count_nonzero([each.p_value < 0.05 for each in found]) <= 6
    assert abs(z.mean()) < 0.5
    assert 0.6 < z.std() < 1.4


def test_dependence_is_found_with_its_sign() -> None:
    more, less = [result(seed, 0.5) for seed in range(8)], [result(seed, -0.5) for seed in range(8)]
    assert np.count_nonzero([each.p_value < 0.05 and each.z > 0 for each in more]) >= 7
    assert np.count_nonzero([each.p_value < 0.05 and each.z < 0 for each in less]) >= 7


def test_what_cannot_be_tested_gives_a_reason() -> None:
    few = log_of_flags("5x6x7")
    assert stock_independence(few, find_runs(few)).why_not == "too few rows follow a known demand"
    rng = np.random.default_rng(0)
    demand = rng.poisson(5, (20, 20)).astype(float)
    same = log_of_draws(demand, np.full((20, 20), 7.0))
    assert stock_independence(same, find_runs(same)).why_not == "what was available never varied"
    constant = log_of_draws(np.full((20, 20), 3.0), rng.integers(3, 9, (20, 20)).astype(float))
    assert stock_independence(constant, find_runs(constant)).why_not == "demand never varied"
