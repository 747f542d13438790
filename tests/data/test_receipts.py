"""Receipts: derived, matched to orders, and the law of lead times learned from them."""

from dataclasses import replace

import numpy as np
import pytest

from lostsales.data.ledger import Ledger
from lostsales.data.log import SalesLog
from lostsales.data.problem import Problem
from lostsales.data.receipts import learn_lead_times, receipts_by_stock, with_receipts
from lostsales.errors import LostSalesError
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import simulate

LAW = "supply.lead_time={1=0.5, 2=0.3, 3=0.1, lost=0.1}"


def log_of(*settings: str, episodes: int = 20, seed: int = 0) -> SalesLog:
    return simulate(Scenario.load("steady", settings), episodes=episodes, seed=seed)[0]


def ledger_of(log: SalesLog) -> Ledger:
    assert log.ledger is not None
    return log.ledger


def learning(log: SalesLog) -> SalesLog:
    supply = log.problem.supply.model_copy(update={"lead_time": "learn"})
    return replace(log, problem=log.problem.model_copy(update={"supply": supply}))


def test_the_product_limit_where_no_two_sets_of_orders_add_up() -> None:
    """Orders are different powers of 2, so that every receipt names its orders: hazards are counts."""
    log = log_of(LAW, "capacity=1e9", episodes=1)
    order = np.where(np.arange(len(log)) % 8 < 5, 2.0 ** (np.arange(len(log)) % 9), 0.0)
    rng = np.random.default_rng(1)
    lead = rng.choice([1, 2, 3, 99], size=len(log), p=[0.5, 0.3, 0.1, 0.1])
    received, waited = np.zeros(len(log)), np.zeros((2, 9))
    for row in np.flatnonzero(order).tolist():
        came = row + int(lead[row]) - 1
        if came < len(log):
            received[came] += order[row]
        seen = min(int(lead[row]), len(log) - row, 8)
        waited[0, 1 : seen + 1] += 1
        if lead[row] <= min(len(log) - row, 8):
            waited[1, lead[row]] += 1
    found = learn_lead_times(ledger_of(replace(log, order=order, received=received)), 1.0)
    hazards = waited[1, 1:4] / waited[0, 1:4]
    survive = np.cumprod(1 - hazards)
    np.testing.assert_allclose(found.law.chances[1:], hazards * np.r_[1, survive[:2]], atol=1e-4)
    assert found.law.lost == pytest.approx(survive[-1], abs=1e-4)
    # Greenwood's formula for the chance that an order is lost
    greenwood = survive[-1] * np.sqrt(np.sum(hazards / (1 - hazards) / waited[0, 1:4]))
    assert found.errors[-1] == pytest.approx(greenwood, rel=1e-3)


@pytest.mark.parametrize("crossing", ["true", "false"])
def test_a_law_is_learned_from_simulated_receipts(crossing: str) -> None:
    log = learning(log_of(LAW, f"supply.crossing={crossing}", episodes=40))
    found = learn_lead_times(ledger_of(log), 1.0)
    truth = np.array([0.5, 0.3, 0.1, 0.1])
    learned = np.r_[found.law.chances[1:], found.law.lost]
    assert len(learned) == 4
    assert (np.abs(learned - truth) < 3.5 * found.errors[1:]).all()
    assert (found.errors[1:] < 0.02).all()
    supply = with_receipts(log).problem.supply
    assert supply.lead_time_errors is not None
    assert isinstance(supply.lead_time, dict)
    assert set(supply.lead_time) == set(supply.lead_time_errors) == {"1", "2", "3", "lost"}


def test_one_lead_time_is_found_from_the_stock_alone() -> None:
    log = learning(replace(log_of("supply.lead_time=4", "capacity=1e9", episodes=4), received=None, pipeline=None))
    assert with_receipts(log).problem.supply.lead_time == 4


def test_receipts_follow_from_stock() -> None:
    log = log_of("supply.lead_time=3", "capacity=1e9", episodes=3)
    assert log.received is not None
    np.testing.assert_array_equal(receipts_by_stock(ledger_of(log))[log.has_next], log.received[log.has_next])


def test_too_few_orders_are_refused() -> None:
    with pytest.raises(LostSalesError, match="from 20 or more orders, but there are"):
        learn_lead_times(ledger_of(log_of(LAW, "horizon=10", episodes=1)), 1.0)


def test_a_log_without_orders_is_left_alone() -> None:
    log = replace(log_of("supply.lead_time=1", episodes=1), order=None, problem=Problem())
    assert with_receipts(log) is log
