"""The special cases of the paper (Appendix G.1), whose optimal policies have a known structure."""

import numpy as np
import pytest
from scipy.stats import norm

from lostsales.lab.exact.solve import solve_reference
from lostsales.lab.exact.solved_policies import OraclePolicy
from lostsales.lab.exact.value_iteration import Criterion
from lostsales.simulation.scenario import Scenario
from lostsales.types import Floats


def decisions(name: str, criterion: Criterion, *settings: str) -> tuple[Floats, Floats]:
    """Price and order of the oracle in the first market, (last demand, stock)."""
    policy = solve_reference(Scenario.load(name, settings), "oracle", criterion).policy
    assert isinstance(policy, OraclePolicy)
    return policy.model.decode(policy.actions[0][0, 0])


def newsvendor_order(price: float, salvage: float) -> float:
    """The least Q with P(D <= Q) >= (p + lost - c) / (p + lost + h - salvage), D = rint(22 - 2 p + N(0, 3))."""
    fractile = (price + 2 - 3) / (price + 2 + 1 - salvage)
    units = np.arange(41)
    return float(units[norm.cdf((units + 0.5 - (22 - 2 * price)) / 3) >= fractile][0])


def test_critical_fractile_of_case_1() -> None:
    """One period: the order of the critical fractile, at the price of the largest profit."""
    price, order = (each[0] for each in decisions("newsvendor", Criterion(1.0, 1)))
    level = newsvendor_order(price[0], salvage=0.0)
    np.testing.assert_array_equal(order[: int(level) + 1], level - np.arange(int(level) + 1))
    np.testing.assert_array_equal(order[int(level) :], 0)
    earned = {}
    rng = np.random.default_rng(0)
    shocks = 3 * rng.standard_normal(200_000)
    for each in (4.0, 5.0, 6.0, 7.0, 8.0):
        demand, units = np.clip(np.rint(22 - 2 * each + shocks), 0, 40), newsvendor_order(each, salvage=0.0)
        sold = np.minimum(demand, units)
        earned[each] = np.mean(each * sold - 2 * (demand - sold) - 3 * units - (units - sold))
    assert price[0] == max(earned, key=earned.__getitem__)


def test_base_stock_of_case_1() -> None:
    """Many periods at a fixed price: order up to one level (Porteus); a leftover unit saves its order cost."""
    _, order = decisions("newsvendor", Criterion(0.9), "prices=[6]")
    level = newsvendor_order(6.0, salvage=0.9 * 3)
    stock = np.arange(order.shape[1])
    np.testing.assert_array_equal(order, np.broadcast_to(np.maximum(level - stock, 0), order.shape))


def test_s_S_p_policy_of_case_2() -> None:  # noqa: N802, the name of the policy
    """Fixed ordering cost, independent demand (Chen and Simchi-Levi): up to S at or below s, a price by the stock."""
    price, order = (each[0] for each in decisions("fixed-cost", Criterion(0.9)))
    stock = np.arange(len(order))
    small = int(np.flatnonzero(order == 0)[0]) - 1
    level = stock[small] + order[small]
    assert 0 < small < level - 5
    np.testing.assert_array_equal(order[: small + 1], level - stock[: small + 1])
    np.testing.assert_array_equal(order[small + 1 :], 0)
    assert len(set(price[: small + 1])) == 1
    assert np.all(np.diff(price[small + 1 :]) <= 0)


def test_s_S_p_policy_with_autocorrelated_demand() -> None:  # noqa: N802, as above
    """Section 2.1: with additive autocorrelated demand s, S and the price of an order depend on yesterday's demand."""
    prices, orders = decisions("fixed-cost-autocorrelated", Criterion(0.9))
    stock, thresholds, paid = np.arange(orders.shape[1]), [], []
    for price, order in zip(prices, orders, strict=True):
        small = int(np.flatnonzero(order > 0)[-1])
        level = stock[small] + order[small]
        assert small < level - 5
        np.testing.assert_array_equal(order[: small + 1], level - stock[: small + 1])
        np.testing.assert_array_equal(order[small + 1 :], 0)
        assert len(set(price[: small + 1])) == 1
        thresholds.append(small)
        paid.append(price[0])
    assert np.all(np.diff(thresholds) >= 0)
    assert np.all(np.diff(paid) >= 0)
    assert thresholds[-1] > thresholds[0] + 3
    assert paid[-1] > paid[0] + 1


def test_state_dependent_thresholds_of_case_3() -> None:
    """Markovian demand (Sethi and Cheng): (s(D), S(D)), both rising with yesterday's demand."""
    _, order = decisions("markov-demand", Criterion(0.9))
    stock = np.arange(order.shape[1])
    thresholds, levels = [], []
    for row in order:
        small = int(np.flatnonzero(row > 0)[-1])
        level = stock[small] + row[small]
        np.testing.assert_array_equal(row[: small + 1], np.minimum(level - stock[: small + 1], 30))
        np.testing.assert_array_equal(row[small + 1 :], 0)
        thresholds.append(small)
        levels.append(level)
    assert np.all(np.diff(thresholds) >= 0)
    assert np.all(np.diff(levels) >= 0)
    assert levels[-1] > levels[0] + 20


@pytest.mark.parametrize("name", ["newsvendor", "fixed-cost"])
def test_censoring_of_independent_demand_costs_nothing(name: str) -> None:
    scenario, criterion = Scenario.load(name), Criterion(0.9)
    oracle, pi_star = (solve_reference(scenario, target, criterion).value for target in ("oracle", "pi-star"))
    assert pi_star == pytest.approx(oracle, abs=1e-7)


def test_reference_price_solves() -> None:
    """The grid error is small, and without memory of demand pi* equals the oracle."""
    scenario, criterion = Scenario.load("reference-price"), Criterion(1.0, 10)
    oracle, pi_star = (solve_reference(scenario, target, criterion) for target in ("oracle", "pi-star"))
    assert oracle.grid_error < 0.001 * oracle.value
    assert pi_star.value == pytest.approx(oracle.value, abs=1e-7)
