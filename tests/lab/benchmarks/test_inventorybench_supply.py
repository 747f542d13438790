"""What units that arrive tell of the orders that they belong to."""

from itertools import product

import numpy as np
import pytest

from lostsales.lab.benchmarks.inventorybench_data import Batch
from lostsales.lab.benchmarks.inventorybench_supply import Deliveries, KnownSupply, SupplyBelief
from lostsales.types import Floats

NEVER = 4


def batch_of(lead_times: list[int]) -> Batch:
    shape = (1, len(lead_times))
    return Batch("real", "stochastic", np.ones(1), np.ones(1), np.ones((1, 5)), np.ones(shape), np.array([lead_times]))


def test_where_sums_name_their_orders_counts_are_those_of_the_orders() -> None:
    deliveries, belief = Deliveries.of(batch_of([1, -1, 2, 1, 3, 1])), SupplyBelief.start(1)
    arrived = []
    for t in range(6):
        order = np.array([10.0 + t])
        arrived.append(deliveries.arrived(t, order)[0])
        belief = belief.after(order, np.array([arrived[-1]]))
    assert arrived == [0, 10, 0, 0, 12 + 13, 0]
    # One each before the start; then two of 1, one of 2, and the second order never came.
    assert belief.counts[0].tolist() == pytest.approx([3, 2, 1, 2])
    assert belief.waiting[0].tolist() == pytest.approx([0.0, 14.0, 15.0])
    chances, lost = belief.law
    assert chances[0].tolist() == pytest.approx([0, 3 / 8, 2 / 8, 1 / 8])
    assert lost[0] == pytest.approx(2 / 8)


def test_equal_orders_share_an_arrival_by_their_chances() -> None:
    """Two orders of 5, then 5 arrive in the third period: by enumeration of both lead times."""
    belief = SupplyBelief.start(1)
    for order, arrived in ((5.0, 0.0), (5.0, 0.0), (0.0, 5.0)):
        belief = belief.after(np.array([order]), np.array([arrived]))
    # Before, the first order had not come with lead time 1: its hazards are 1/4 of 4 and then 1/3 of the rest.
    weight = {
        (first, second): 1.0
        for first, second in product((2, 3, NEVER), (1, 2, 3, NEVER))
        if (first == 2) + (second == 1) == 1
    }
    total = sum(weight.values())
    first_came = sum(each for (first, _), each in weight.items() if first == 2) / total
    assert belief.waiting[0, 0] == pytest.approx(5 * (1 - first_came))
    assert belief.waiting[0, 1] == pytest.approx(5 * first_came)
    assert belief.counts[0, 1] == pytest.approx(1 + first_came)


def test_an_order_of_nothing_tells_nothing_and_neither_do_units_that_none_explains() -> None:
    belief = SupplyBelief.start(1)
    for _ in range(6):
        belief = belief.after(np.zeros(1), np.zeros(1))
    assert belief.counts[0].tolist() == [1, 1, 1, 1]
    belief = belief.after(np.array([4.0]), np.array([9.0]))
    assert belief.counts[0].tolist() == [1, 1, 1, 1]
    assert belief.waiting[0].tolist() == [0, 0, 4]


def test_chances_are_learned_from_quantities_as_from_the_orders_themselves() -> None:
    rng = np.random.default_rng(0)
    chances, periods, n = np.array([0.5, 0.2, 0.1, 0.2]), 400, 20
    times = rng.choice([1, 2, 3, -1], (n, periods), p=chances)
    batch = Batch("real", "stochastic", np.ones(n), np.ones(n), np.ones((n, 5)), np.ones((n, periods)), times)
    deliveries, belief = Deliveries.of(batch), SupplyBelief.start(n)
    for t in range(periods):
        order: Floats = rng.poisson(4.0, n).astype(np.float64)  # small, so that many sums are ambiguous
        belief = belief.after(order, deliveries.arrived(t, order))
    np.testing.assert_allclose(belief.sets.sum(axis=1), 1.0)
    found, lost = belief.law
    assert found[:, 1:].mean(axis=0) == pytest.approx(chances[:3], abs=0.015)
    assert lost.mean() == pytest.approx(0.2, abs=0.015)


def test_one_lead_time_for_all_is_a_line() -> None:
    supply = KnownSupply.start(1, 2)
    for order in (3.0, 4.0, 5.0):
        supply = supply.after(np.array([order]), np.zeros(1))
    assert supply.waiting.tolist() == [[4.0, 5.0]]
    assert KnownSupply.start(1, 0).after(np.ones(1), np.ones(1)).waiting.shape == (1, 0)
